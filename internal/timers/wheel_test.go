package timers

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

type waiter struct {
	timer Timer[waiter]
	at    time.Duration // 0: not set
	fired int
}

func (x *waiter) Timer() *Timer[waiter] { return &x.timer }

func newWaiters(n int) []*waiter {
	ws := make([]*waiter, n)
	for i := range ws {
		ws[i] = new(waiter)
	}
	return ws
}

// The wheel is compared with a list of deadlines that is walked through.
func TestWheelAgainstAList(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w, ws := &Wheel[waiter, *waiter]{}, newWaiters(200)
		now := time.Duration(rng.Uint64N(1 << 50))
		w.Advance(now, nil)
		set := func(x *waiter) {
			x.at = max(now+time.Duration(rng.Uint64N(1<<(10+rng.Uint64N(45))))-time.Duration(rng.Uint64N(1000)), 1)
			w.Set(x, x.at)
		}
		for range 3000 {
			x := ws[rng.IntN(len(ws))]
			switch rng.IntN(4) {
			case 0:
				w.Stop(x)
				x.at = 0
			case 1, 2:
				set(x)
			}
			checkWheel(t, w, ws, now)
			if rng.IntN(3) > 0 {
				continue
			}
			if at, ok := w.Next(); ok && rng.IntN(2) == 0 {
				now = max(now, at)
			} else {
				now += time.Duration(rng.Uint64N(1 << (4 + rng.Uint64N(42))))
			}
			meddle := rng.IntN(2) == 0
			w.Advance(now, func(x *waiter) {
				if x.at == 0 || x.at > now || x.timer.IsSet() {
					t.Fatalf("fired at %v, set for %v", now, x.at)
				}
				x.at = 0
				if !meddle {
					return
				}
				switch y := ws[rng.IntN(len(ws))]; rng.IntN(4) {
				case 0:
					set(y)
				case 1:
					w.Stop(y)
					y.at = 0
				}
			})
			for _, x := range ws {
				if !meddle && x.at != 0 && x.at <= now-wheelTick {
					t.Fatalf("at %v still waits for %v", now, x.at)
				}
			}
		}
	})
}

// checkWheel: Next is not later than the first deadline, and the count is
// correct.
func checkWheel(t *testing.T, w *Wheel[waiter, *waiter], ws []*waiter, now time.Duration) {
	t.Helper()
	first, n := time.Duration(math.MaxInt64), 0
	for _, x := range ws {
		if x.timer.IsSet() != (x.at != 0) {
			t.Fatalf("set %v, deadline %v", x.timer.IsSet(), x.at)
		}
		if x.at != 0 {
			first, n = min(first, x.at), n+1
		}
	}
	at, ok := w.Next()
	if ok != (n > 0) || w.len() != n || ok && at > max(first, now)+wheelTick {
		t.Fatalf("Next is %v %v, the first deadline %v of %d (%d)", at, ok, first, n, w.len())
	}
}

// A clock is read only if a timer is set.
func TestDue(t *testing.T) {
	w, x, reads := &Wheel[waiter, *waiter]{}, newWaiters(1)[0], 0
	at := func(now time.Duration) func() time.Duration {
		return func() time.Duration { reads++; return now }
	}
	_, due := w.Due(at(time.Hour))
	assert.False(t, due)
	assert.Zero(t, reads)
	w.Set(x, 10*wheelTick)
	_, due = w.Due(at(10*wheelTick - 1))
	assert.False(t, due)
	now, due := w.Due(at(10 * wheelTick))
	assert.True(t, due)
	assert.Equal(t, 10*wheelTick, now)
	assert.Equal(t, 2, reads)
}

// A deadline is met within a tick if the wheel is advanced whenever Next says.
func TestWheelIsOnTime(t *testing.T) {
	for _, at := range []time.Duration{1, wheelTick, 1023999, time.Second, 3*time.Hour + 7, 1000 * time.Hour, 1 << 62} {
		w, x := &Wheel[waiter, *waiter]{}, newWaiters(1)[0]
		w.Set(x, at)
		assert.GreaterOrEqual(t, x.timer.At(), at)
		assert.Less(t, x.timer.At(), at+wheelTick)
		steps := 0
		for ; x.fired == 0; steps++ {
			now, ok := w.Next()
			if !ok || steps > wheelLevels {
				t.Fatalf("%v: not fired after %d steps", at, steps)
			}
			w.Advance(now, func(x *waiter) { x.fired++ })
			if x.fired > 0 {
				assert.GreaterOrEqual(t, now, at)
				assert.Less(t, now, at+wheelTick)
			}
		}
	}
}

func TestWheelDoesNotAllocate(t *testing.T) {
	w, ws := &Wheel[waiter, *waiter]{}, newWaiters(1000)
	now := time.Duration(0)
	fired := func(x *waiter) { x.fired++ }
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for i, x := range ws {
			w.Set(x, now+time.Duration(i)*30*time.Microsecond)
		}
		w.Stop(ws[3])
		now += 29 * time.Millisecond
		w.Advance(now, fired)
	}))
	assert.Zero(t, ws[3].fired)
	assert.NotZero(t, ws[4].fired)
}

func BenchmarkWheelSet(b *testing.B) {
	w, ws := &Wheel[waiter, *waiter]{}, newWaiters(1024)
	now := time.Duration(0)
	for i := range b.N {
		now += 100
		w.Set(ws[i%1024], now+time.Duration(i%1000)*time.Microsecond)
		if i%64 == 0 {
			w.Advance(now, func(*waiter) {})
		}
	}
}

// len returns the number of timers that are set.
func (w *Wheel[T, P]) len() (n int) {
	for _, t := range w.slots {
		for ; t != nil; t = t.next {
			n++
		}
	}
	return n
}
