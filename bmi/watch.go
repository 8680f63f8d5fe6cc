package bmi

import (
	"sync/atomic"
	"time"
)

// A watcher drives one method while the application does not test. It is one
// goroutine, and it is always in one of three states:
//
//	resting   the application polls often enough: check again after a tick
//	parked    the application itself sleeps on the method: wait for resume
//	watching  the application does not poll: sleep on the method and poll when it wakes
//
// If several methods are open, or the only one cannot sleep, sleeping callers
// rely on the watchers and start them with wanted.
type watcher struct {
	in    *instance
	state atomic.Int32
	kick  chan struct{} // holds at most one request to check again at once
	quit  atomic.Bool
	soon  atomic.Bool // Host.Wake of a method that cannot sleep

	tick   *time.Timer // of a resting watcher
	later  *time.Timer // kicks a parked watcher
	pause  time.Duration
	active time.Duration // how long the watcher rests while the application polls
}

const (
	watchResting int32 = iota
	watchParked
	watchWatching
)

// How long a watcher rests. tickMin to tickMax is the time between two checks of
// an application that polls; it grows while the application does. It grows to
// asleepMax if the application sleeps on the method at every check. The other
// limits are for polls of a method that cannot sleep: to pollPauseMax while a
// caller waits, otherwise to pollIdleMax.
const (
	tickMin      = time.Millisecond
	tickMax      = 4 * time.Millisecond
	asleepMax    = 16 * time.Millisecond
	pollPauseMin = 50 * time.Microsecond
	pollPauseMax = time.Millisecond
	pollIdleMax  = 10 * time.Millisecond
)

// watchPolls is how often a watcher polls within one hold of the engine lock.
const watchPolls = 64

func newWatcher(in *instance) *watcher {
	w := &watcher{in: in, kick: make(chan struct{}, 1), tick: time.NewTimer(time.Hour), active: tickMin}
	w.later = time.AfterFunc(time.Hour, w.poke)
	w.later.Stop()
	return w
}

// poke makes the watcher check again at once.
func (w *watcher) poke() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// wanted asks the watcher to watch, because a caller relies on it.
func (w *watcher) wanted() {
	if w.state.Load() != watchWatching || w.in.sleeper == nil {
		w.poke()
	}
}

// pollSoon asks for a poll of a method that cannot be slept on.
func (w *watcher) pollSoon() {
	w.soon.Store(true)
	w.poke()
}

// resume tells a parked watcher that the application no longer sleeps.
func (w *watcher) resume() {
	if w.state.Load() == watchParked {
		w.later.Reset(tickMin)
	}
}

// stop makes run return soon.
func (w *watcher) stop() {
	w.quit.Store(true)
	w.poke()
	if w.in.sleeper != nil {
		w.in.sleeper.Wake()
	}
}

func (w *watcher) run() {
	defer w.later.Stop()
	defer w.tick.Stop()
	demand := &w.in.ep.spinner.demand
	seen := ^uint64(0)
	for !w.quit.Load() {
		polls, idle, asleep := w.look()
		if !idle || w.in.stepBack.Load() || (polls != seen && demand.Load() == 0 && !w.soon.Load()) {
			seen = polls
			w.rest(w.active)
			limit := tickMax
			if asleep {
				limit = asleepMax
			}
			w.active = min(2*w.active, limit)
			continue
		}
		w.active = tickMin
		seen = w.watch(polls)
	}
}

// look reads how often the method was polled, and whether a goroutine sleeps on
// it. idle is false if a goroutine is using the method now.
func (w *watcher) look() (polls uint64, idle, asleep bool) {
	in := w.in
	if !in.mu.TryLock() {
		return 0, false, false
	}
	polls, idle, asleep = in.polls, in.handlers == 0, in.asleep
	in.unlock()
	return polls, idle, asleep
}

// rest waits for d, and reports whether a kick ended the wait.
func (w *watcher) rest(d time.Duration) (kicked bool) {
	w.tick.Reset(d)
	select {
	case <-w.kick:
		kicked = true
	case <-w.tick.C:
	}
	w.tick.Stop()
	return kicked
}

// watch drives the method until the application does so again. It returns the
// number of polls of the method by then.
func (w *watcher) watch(seen uint64) uint64 {
	w.pause = pollPauseMin
	for more := true; more && !w.quit.Load(); {
		if !w.claim() {
			break
		}
		w.state.Store(watchWatching)
		slept := w.sleep()
		w.in.sleepMu.Unlock()
		// Polling may run handlers, which take their time. The right to sleep is
		// given up first, so that no caller has to wait for the handlers.
		seen, more = w.poll(seen, slept)
	}
	w.state.Store(watchResting)
	return seen
}

// claim takes the right to sleep on the method. If the application has it, claim
// waits until resume and reports false.
func (w *watcher) claim() bool {
	mu := &w.in.sleepMu
	if mu.TryLock() {
		return true
	}
	w.state.Store(watchParked)
	if mu.TryLock() { // its holder gave it back before it could see the state
		return true
	}
	<-w.kick
	return false
}

// poll polls the method. It reports false when the watcher should step back.
func (w *watcher) poll(seen uint64, slept bool) (uint64, bool) {
	in, demand := w.in, &w.in.ep.spinner.demand
	in.lock()
	others := in.polls != seen
	happened := false
	for i := 0; i < watchPolls && in.pollLocked(); i++ {
		happened = true
	}
	back := in.dead || in.handlers > 0 || in.stepBack.Load()
	seen = in.polls
	in.unlock()
	switch {
	case happened:
		w.pause = pollPauseMin
	case !slept:
		limit := pollIdleMax
		if demand.Load() > 0 {
			limit = pollPauseMax
		}
		w.pause = min(w.pause, limit)
		if w.rest(w.pause) {
			w.pause = pollPauseMin
		} else {
			w.pause *= 2
		}
	}
	return seen, !back && (!others || demand.Load() > 0)
}

// sleep blocks until something arrives. It reports false if the method cannot
// sleep, at all or now.
func (w *watcher) sleep() bool {
	in := w.in
	w.soon.Store(false)
	if in.sleeper == nil {
		return false
	}
	in.lock()
	if in.dead || in.handlers > 0 || in.stepBack.Load() || w.quit.Load() {
		in.unlock()
		return true
	}
	nap := Forever
	armed := in.sleeper.Arm()
	if armed {
		nap = in.napLocked()
		in.asleep = true
	}
	in.unlock()
	if armed && nap != 0 {
		in.ep.counters.sleeps.Inc()
		in.sleeper.Sleep(nap)
	}
	in.lock()
	in.asleep = false
	in.sleeper.Disarm()
	in.unlock()
	return armed && nap != 0
}
