package spin

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSpinBudgetLearns(t *testing.T) {
	var s Spinner
	s.SetLimit(50 * time.Microsecond)
	assert.Equal(t, s.Limit(), s.Budget())
	for range 100 {
		s.Slept(time.Second)
	}
	assert.Zero(t, s.Budget(), "waits are long: spinning is in vain")
	for range 100 {
		s.Slept(10 * time.Microsecond)
	}
	assert.Equal(t, s.Limit(), s.Budget(), "waits are short again, though they slept")
	never := Spinner{}
	assert.Zero(t, never.Budget())
}

// Two processes bound to one core: every spin is in vain although the waits
// are short.
func TestNoSpinningInVain(t *testing.T) {
	var s Spinner
	s.SetLimit(50 * time.Microsecond)
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

func TestNoSpinningOnACoreThatOthersWant(t *testing.T) {
	thread, switches, taken := 1, int64(0), false
	var s Spinner
	s.SetLimit(50 * time.Microsecond)
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
	s.tight = true
	assert.Equal(t, tightMax, s.Budget(), "but nobody waits long for one")
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
