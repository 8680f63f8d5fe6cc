package bmi

import (
	"context"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpID(t *testing.T) {
	l := &lane{in: &instance{index: 200}}
	op := &Op{lane: l, slot: slotsMax - 1, gen: genMax}
	assert.Equal(t, 200, op.id().method())
	assert.EqualValues(t, slotsMax-1, op.id().slot())
	assert.EqualValues(t, genMax, op.id().gen())
	assert.EqualValues(t, 256, methodsMax)
}

// An id comes back only after all generations of its slot were used.
func TestGenerations(t *testing.T) {
	in := &instance{ep: &Endpoint{cfg: Config{}.withDefaults()}}
	l := &lane{in: in, ctx: new(Context)}
	op, err := l.acquireLocked()
	require.NoError(t, err)
	first := op.id()
	op.state = opCompleted
	l.recycleLocked(op)
	again, err := l.acquireLocked()
	require.NoError(t, err)
	require.Same(t, op, again)
	assert.NotEqual(t, first, op.id())
	assert.Nil(t, l.findLocked(first))

	op.state = opDone // its id was never shown
	second := op.id()
	l.recycleLocked(op)
	assert.Equal(t, second, op.id())

	op.gen, op.state = genMax, opCompleted
	l.recycleLocked(op)
	assert.NotZero(t, op.id(), "0 is no id")
}

func TestParseRunning(t *testing.T) {
	for text, want := range map[string]int{
		"0.44 0.15 0.05 2/98 10132\n": 2,
		"9.00 9.00 9.00 123/456 7":    123,
		"":                            -1,
		"0.44 0.15 0.05":              -1,
		"0.44 0.15 0.05 /98":          -1,
		"0.44 0.15 0.05 x/98":         -1,
		"0.44 0.15 0.05 2":            -1,
	} {
		n, ok := parseRunning([]byte(text))
		assert.Equal(t, want >= 0, ok, text)
		if ok {
			assert.Equal(t, want, n, text)
		}
	}
	n, ok := parseRunning([]byte("0 0 0 99999999999999999999999/1"))
	assert.True(t, !ok || n < math.MaxInt32)

	real, err := os.ReadFile("/proc/loadavg")
	require.NoError(t, err)
	n, ok = parseRunning(real)
	assert.True(t, ok)
	assert.Positive(t, n)
}

func TestSpinBudgetLearns(t *testing.T) {
	s := spinner{limit: 50 * time.Microsecond}
	assert.Equal(t, s.limit, s.budget(0))
	for range 100 {
		s.slept(time.Second)
	}
	assert.Zero(t, s.budget(0), "waits are long: spinning is in vain")
	for range 100 {
		s.slept(10 * time.Microsecond)
	}
	assert.Equal(t, s.limit, s.budget(0), "waits are short again, though they slept")
	never := spinner{}
	assert.Zero(t, never.budget(0))
}

// Two processes bound to one core: every spin is in vain although the waits
// are short.
func TestNoSpinningInVain(t *testing.T) {
	s := spinner{limit: 50 * time.Microsecond}
	spins := 0
	wait := func(won bool) {
		if s.budget(0) == 0 {
			s.slept(time.Microsecond)
			return
		}
		spins++
		if won {
			s.won(time.Microsecond)
		} else {
			s.vain()
			s.slept(time.Microsecond)
		}
	}
	for range 1000 {
		wait(false)
	}
	assert.Less(t, spins, 30)
	for range skipMax {
		wait(true)
	}
	spins = 0
	for range 100 {
		wait(true)
	}
	assert.Equal(t, 100, spins, "it recovers")
}

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string]int{
		"0-1\n": 2, "0\n": 1, "0-3,5,8-9": 7, "": 0, "x": 0, "3-1": 0, "0-": 0, "-1": 0, "0,,1": 0, "0-99999999": 0,
	} {
		n, ok := parseCPUs([]byte(text))
		assert.Equal(t, want > 0, ok, text)
		assert.Equal(t, want, n*btoi(ok), text)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestNoSpinningInACrowd(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "loadavg")
	require.NoError(t, err)
	defer file.Close()
	write := func(text string) {
		_, err := file.WriteAt([]byte(text), 0)
		require.NoError(t, err)
	}
	s := spinner{limit: 50 * time.Microsecond, load: load{cores: 2, file: file}}
	now := time.Duration(0)
	sample := func() time.Duration { now += sampleAfter; return s.budget(now) }

	write("0.00 0.00 0.00 2/98 1")
	for range 50 {
		assert.Equal(t, s.limit, sample(), "a process for each core is no crowd")
	}
	write("0.00 0.00 0.00 8/98 1")
	for range 10 {
		sample()
	}
	assert.Zero(t, sample())
	write("0.00 0.00 0.00 1/98 1")
	assert.Zero(t, s.budget(now), "sampled too recently")
	for range 10 {
		sample()
	}
	assert.Equal(t, s.limit, sample())
}

// The last step of the monitor's protocol: the holder may have left just
// before the waiter registered, so the waiter looks again instead of blocking.
func TestParkLooksAtTheMonitorAgain(t *testing.T) {
	e, err := Open(context.Background(), Config{})
	require.NoError(t, err)
	defer e.Close()
	r := request{kind: waitUnexpected, class: -1, unexpected: make([]Unexpected, 1)}
	returned := make(chan bool)
	go func() { returned <- e.park(&r, newWaiter(), Forever) }()
	select {
	case served := <-returned:
		assert.False(t, served)
	case <-time.After(10 * time.Second):
		t.Fatal("parked although nobody holds the monitor")
	}
}

func TestWaiterSet(t *testing.T) {
	var s waiterSet
	ws := make([]*waiter, 5)
	for i := range ws {
		ws[i] = new(waiter)
		s.add(ws[i], 1)
	}
	for _, i := range []int{2, 4, 0} {
		s.remove(ws[i], 1)
	}
	assert.ElementsMatch(t, []*waiter{ws[1], ws[3]}, s)
	s.remove(ws[3], 1)
	s.remove(ws[1], 1)
	assert.Empty(t, s)
}
