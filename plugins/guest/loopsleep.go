//go:build linux

package guest

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/spin"
)

// How long a Loop waits before it looks again when nobody will tell it that there is
// something to do. The pause doubles while there is nothing.
const (
	pauseMin = 50 * time.Microsecond
	// pauseBusy is the most for a method that cannot be slept on, with operations of
	// the program under way, and while the program's ring is full.
	pauseBusy = time.Millisecond
	// pauseIdle is the most without.
	pauseIdle = 10 * time.Millisecond

	// wakeTurns is how often a Loop looks after a wake-up, before it sleeps again.
	wakeTurns = 8
	// refusedMax is how often in a row a method may refuse to be slept on although
	// there is nothing to do, before the Loop pauses.
	refusedMax = 8
)

// wake makes the Loop take a turn soon. Any goroutine may call it.
func (l *Loop) wake() {
	l.soon.Store(true)
	if l.asleep.Load() {
		l.rouse()
	}
}

// rouse ends a sleep or a pause, or the next.
func (l *Loop) rouse() {
	l.rousing.Lock()
	defer l.rousing.Unlock()
	if l.closed {
		return
	}
	if l.sleeper != nil {
		l.sleeper.Wake()
	}
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// wait returns when there was something to do: it polls, then sleeps.
func (l *Loop) wait() {
	since := l.cfg.Clock()
	if l.spin(since) {
		return
	}
	l.counters.turns.Store(l.turns)
	for !l.rest() {
	}
	l.next, l.refused = pauseMin, 0
	l.spinner.Slept(l.cfg.Clock() - since)
}

// spin polls for as long as that is worthwhile, and reports whether there was anything.
func (l *Loop) spin(since time.Duration) bool {
	budget := l.spinner.Budget()
	if budget <= 0 {
		return false
	}
	polling.Add(1)
	defer polling.Add(-1)
	for now := since; ; {
		for range spin.Burst {
			if l.turn() {
				l.counters.spinsWon.Add(1)
				l.spinner.Won(now, now-since)
				return true
			}
			l.relax()
		}
		l.spinner.Yield()
		if now = l.cfg.Clock(); now-since >= budget {
			l.counters.spinsLost.Add(1)
			l.spinner.Vain(now)
			return false
		}
	}
}

// polling counts the Loops of the process that poll.
var polling atomic.Int32

// relax lets a core go on that polls in vain: with more Loops that poll than can run at
// once, the next Loop, which may be the one that has something to do.
func (l *Loop) relax() {
	if polling.Load() > l.procs {
		runtime.Gosched()
		return
	}
	spin.Relax()
}

// rest sleeps once, and reports whether there was anything to do afterwards.
func (l *Loop) rest() bool {
	l.asleep.Store(true)
	if !l.soon.Load() {
		l.sleep()
	}
	l.asleep.Store(false)
	for range wakeTurns {
		if l.turn() {
			return true
		}
	}
	l.counters.turns.Store(l.turns)
	return false
}

// sleep returns on an arrival, a record of the program, a deadline or a wake; without
// having slept if there is something already.
func (l *Loop) sleep() {
	defer l.cfg.In.Disarm()
	if l.sleeper == nil {
		if l.cfg.In.Arm() {
			l.pause()
		}
		return
	}
	defer l.sleeper.Disarm()
	switch armed := l.sleeper.Arm(); {
	case !l.cfg.In.Arm():
	case armed:
		l.refused = 0
		nap := l.nap()
		if !l.engine.Quiet() {
			nap = sooner(nap, l.grow(pauseBusy))
		}
		if nap != 0 {
			l.counters.sleeps.Add(1)
			l.sleeper.Sleep(nap)
		}
	case l.refused < refusedMax:
		l.refused++
	default:
		l.pause()
	}
}

// pause waits a little for the program alone.
func (l *Loop) pause() {
	limit := pauseIdle
	if len(l.engine.ops) > 0 || !l.engine.Quiet() {
		limit = pauseBusy
	}
	nap := sooner(l.nap(), l.grow(limit))
	if nap == 0 {
		return
	}
	l.counters.pauses.Add(1)
	l.timer.Reset(nap)
	select {
	case <-l.kick:
	case <-l.timer.C:
	}
	l.timer.Stop()
}

// grow is how long to pause, twice as long each time.
func (l *Loop) grow(limit time.Duration) time.Duration {
	nap := min(l.next, limit)
	l.next = min(2*l.next, pauseIdle)
	return nap
}

// nap is how long the Loop may sleep before the method wants a Poll; < 0 without limit.
func (l *Loop) nap() time.Duration {
	if l.deadliner == nil {
		return bmi.Forever
	}
	at, ok := l.deadliner.NextDeadline()
	if !ok {
		return bmi.Forever
	}
	return max(at-l.cfg.Clock(), 0)
}

// sooner is the shorter of two times, of which the first has no end if it is < 0.
func sooner(nap, limit time.Duration) time.Duration {
	if nap < 0 {
		return limit
	}
	return min(nap, limit)
}
