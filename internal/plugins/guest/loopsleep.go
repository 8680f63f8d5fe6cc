//go:build linux

package guest

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/spin"
)

// Lengths of the pauses of a Loop when no wake-up will tell it that there is work. A pause doubles
// while there is none.
const (
	pauseMin = 50 * time.Microsecond
	// pauseBusy is the longest pause for a method that does not support sleeping and has operations
	// in progress, and while the program's ring is full.
	pauseBusy = time.Millisecond
	// pauseIdle is the longest pause without such operations.
	pauseIdle = 10 * time.Millisecond

	// wakeTurns is how many turns a Loop takes after a wake-up before it sleeps again.
	wakeTurns = 8
	// refusedMax is how often in a row a method may refuse to sleep, although there is nothing to
	// do, before the Loop pauses.
	refusedMax = 8
)

// wake makes the Loop take a turn soon. Any goroutine may call it.
func (l *Loop) wake() {
	l.soon.Store(true)
	if l.asleep.Load() {
		l.endSleep()
	}
}

// endSleep ends the present sleep or pause, or the next one.
func (l *Loop) endSleep() {
	l.wakeMu.Lock()
	defer l.wakeMu.Unlock()
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

// wait returns when there was work to do: it polls, then sleeps.
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

// spin polls within the spinner's budget, and reports whether there was work.
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
		on := l.spinner.Yield(now, now-since)
		if now = l.cfg.Clock(); !on || now-since >= budget {
			l.counters.spinsLost.Add(1)
			l.spinner.Vain(now)
			return false
		}
	}
}

// polling counts the polling Loops of the process.
var polling atomic.Int32

// relax yields while polling. If more Loops poll than can run at once, it yields to the next
// goroutine, which may be the Loop that has work.
func (l *Loop) relax() {
	if polling.Load() > l.procs {
		runtime.Gosched()
		return
	}
	spin.Relax()
}

// rest sleeps once, and reports whether there was work afterwards.
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

// sleep returns on an arrival, a record of the program, a deadline or a wake. It does not sleep if
// there is something already.
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

// pause waits a little, without the method's Sleep.
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

// grow returns the length of a pause, and doubles the next one.
func (l *Loop) grow(limit time.Duration) time.Duration {
	nap := min(l.next, limit)
	l.next = min(2*l.next, pauseIdle)
	return nap
}

// nap returns how long the Loop may sleep before the method needs a Poll; < 0 means no limit.
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

// sooner returns the shorter of two times; nap < 0 means no limit.
func sooner(nap, limit time.Duration) time.Duration {
	if nap < 0 {
		return limit
	}
	return min(nap, limit)
}
