package spin

import (
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	s := Spinner{limit: 50 * time.Microsecond}
	assert.Equal(t, s.limit, s.Budget())
	for range 100 {
		s.Slept(time.Second)
	}
	assert.Zero(t, s.Budget(), "waits are long: spinning is in vain")
	for range 100 {
		s.Slept(10 * time.Microsecond)
	}
	assert.Equal(t, s.limit, s.Budget(), "waits are short again, though they slept")
	never := Spinner{}
	assert.Zero(t, never.Budget())
}

// Two processes bound to one core: every spin is in vain although the waits
// are short.
func TestNoSpinningInVain(t *testing.T) {
	s := Spinner{limit: 50 * time.Microsecond}
	spins := 0
	wait := func(won bool) {
		if s.Budget() == 0 {
			s.Slept(time.Microsecond)
			return
		}
		spins++
		if won {
			s.Won(0, time.Microsecond)
		} else {
			s.Vain(0)
			s.Slept(time.Microsecond)
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
	s := Spinner{limit: 50 * time.Microsecond, load: load{cores: 2, file: file}}
	now := time.Duration(0)
	spun := 0
	took := 2 * quick
	waits := func(n int) { // each spin is won
		spun = 0
		for range n {
			now += sampleAfter
			if s.Budget() > 0 {
				spun++
				s.Won(now, took)
			}
		}
	}

	write("0.00 0.00 0.00 2/98 1")
	waits(50)
	assert.Equal(t, 50, spun, "a process for each core is no crowd")
	write("0.00 0.00 0.00 3/98 1")
	waits(1)
	assert.Equal(t, 1, spun, "one more for a moment neither")
	write("0.00 0.00 0.00 2/98 1")
	waits(10)
	assert.Equal(t, 10, spun)
	write("0.00 0.00 0.00 4/98 1")
	waits(100)
	waits(1000)
	assert.Less(t, spun, 1000/skipMax+2, "in a crowd, a spin now and then to see whether it is over")
	write("0.00 0.00 0.00 1/98 1")
	waits(loadOver * skipMax)
	waits(100)
	assert.Equal(t, 100, spun, "it recovers")

	write("0.00 0.00 0.00 4/98 1")
	waits(200)
	took = quick
	waits(2 * skipMax)
	waits(100)
	assert.Equal(t, 100, spun, "quick answers come from a process that has a core")
	assert.Equal(t, tightMax, s.Budget(), "but nobody waits long for one")
	write("0.00 0.00 0.00 2/98 1")
	took = 2 * quick
	waits(loadOver * skipMax)
	assert.Equal(t, s.limit, s.Budget())
}

func TestNoSpinningOnACoreThatOthersWant(t *testing.T) {
	thread, switches, taken := 1, int64(0), false
	s := Spinner{limit: 50 * time.Microsecond}
	s.preempt.count = func() (int, int64) {
		if taken {
			switches++
		}
		return thread, switches
	}
	took := 2 * quick
	spins := func(waits int) (n int) { // each is won
		for range waits {
			if s.Budget() > 0 {
				n++
				s.Yield(0, 0)
				s.Won(0, took)
			}
		}
		return n
	}

	assert.Equal(t, 50, spins(50))
	taken = true
	assert.Equal(t, 1, spins(1))
	taken = false
	assert.GreaterOrEqual(t, spins(20), 15, "once now and then is no crowd")
	assert.Equal(t, 50, spins(50))

	taken = true
	spins(300)
	assert.Less(t, spins(1000), 1000/skipMax+2)
	taken = false
	spins(preemptOver * 4 * skipMax)
	assert.Equal(t, 100, spins(100), "it recovers")

	taken = true
	spins(300)
	s.preempt.count = func() (int, int64) { thread++; return thread, 0 }
	assert.Less(t, spins(1000), 1000/skipMax+2, "who changed threads learns nothing")

	took = quick
	spins(skipMax)
	assert.Equal(t, 100, spins(100), "quick answers come from a process that has a core")
}

func TestInvoluntarySwitches(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not say")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, before := involuntary()
	require.Positive(t, thread)
	again, after := involuntary()
	assert.Equal(t, thread, again)
	assert.GreaterOrEqual(t, after, before)
	assert.Zero(t, testing.AllocsPerRun(100, func() { involuntary() }))
}
