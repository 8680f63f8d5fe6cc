package seamtest

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Sleeper is polled, and sleeps while there is nothing to do: stack.Sleeper and dgram.Sleeper.
type Sleeper interface {
	Arm() bool
	Sleep(timeout time.Duration)
	Disarm()
	Wake()
}

// A Bed is a Sleeper under test.
type Bed struct {
	T       T
	Sleeper Sleeper
	Timeout time.Duration
	// Poll polls once.
	Poll func()
	// Quiet polls until nothing arrives any more.
	Quiet func()
}

// Soon repeats without sleeping.
func Soon(t T, timeout time.Duration, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !done(); runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "took too long")
	}
}

// Arm arms, and handles late arrivals.
func (b *Bed) Arm() {
	b.T.Helper()
	Soon(b.T, b.Timeout, func() bool {
		if b.Sleeper.Arm() {
			return true
		}
		b.Sleeper.Disarm()
		b.Poll()
		return false
	})
}

// Sleep sleeps in its own goroutine and reports how long it took.
func Sleep(s Sleeper, timeout time.Duration) <-chan time.Duration {
	took, started := make(chan time.Duration, 1), make(chan struct{})
	go func() {
		start := time.Now()
		close(started)
		s.Sleep(timeout)
		took <- time.Since(start)
	}()
	<-started
	return took
}

// WakeEndsSleep wakes a sleeper many times.
func (b *Bed) WakeEndsSleep(times int) {
	for range times {
		b.Quiet()
		b.Arm()
		woken := Sleep(b.Sleeper, b.Timeout)
		b.Sleeper.Wake()
		require.Less(b.T, <-woken, b.Timeout, "slept through Wake")
		b.Sleeper.Disarm()
	}
}

// WakeOnce wakes early and twice, or between Arm and Sleep. Either way this ends one Sleep, and the next
// one lasts, in one of several tries.
func (b *Bed) WakeOnce(tries int) {
	const nap = 50 * time.Millisecond
	for _, early := range []bool{true, false} {
		b.Quiet()
		if early {
			b.Sleeper.Wake()
			b.Sleeper.Wake()
		}
		b.Arm()
		if !early {
			b.Sleeper.Wake()
		}
		require.Less(b.T, <-Sleep(b.Sleeper, b.Timeout), b.Timeout, "a Wake was lost")
		b.Sleeper.Disarm()
		lasted := false
		for n := 0; n < tries && !lasted; n++ {
			b.Quiet()
			b.Arm()
			lasted = <-Sleep(b.Sleeper, nap) >= nap
			b.Sleeper.Disarm()
		}
		assert.True(b.T, lasted, "one Wake ended two Sleeps")
	}
}

// ManyWakers makes several goroutines wake one sleeper without a timeout: each Wake after the sleeper has
// read the counter ends a Sleep.
func (b *Bed) ManyWakers() {
	const wakers, each = 4, 500
	news := make(chan struct{}, wakers*each)
	for range wakers {
		go func() {
			for range each {
				news <- struct{}{}
				b.Sleeper.Wake()
			}
		}()
	}
	deadline := time.Now().Add(b.Timeout)
	for seen := 0; seen < wakers*each; {
		select {
		case <-news:
			seen++
			continue
		default:
		}
		armed := b.Sleeper.Arm()
		if armed && len(news) == 0 {
			start := time.Now()
			b.Sleeper.Sleep(b.Timeout)
			require.Less(b.T, time.Since(start), b.Timeout, "a Wake was lost")
		}
		b.Sleeper.Disarm()
		if !armed {
			b.Poll()
		}
		require.True(b.T, time.Now().Before(deadline))
	}
}

// SleepAllocatesNothing sleeps until a Wake, and until a timeout.
func (b *Bed) SleepAllocatesNothing() {
	b.Quiet()
	s := b.Sleeper
	assert.Zero(b.T, testing.AllocsPerRun(200, func() {
		s.Arm()
		s.Wake()
		s.Sleep(time.Second)
		s.Disarm()
		s.Arm()
		s.Sleep(time.Microsecond)
		s.Disarm()
	}))
}
