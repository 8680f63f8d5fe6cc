package progress

import (
	"sync/atomic"
	"time"
)

// A watcher drives one method while the application does not test. It is one goroutine, and it is always in one of three states:
//
//	resting    the application polls often enough: check again after a while
//	yielding   the application itself sleeps on the method: wait until it gives back the right to sleep
//	watching   the application does not poll: sleep on the method and poll when it wakes
//
// If several methods are open, or the only one cannot sleep, sleeping callers rely on the watchers and start them with watchNow.
type watcher struct {
	e     *Engine
	state atomic.Int32
	again chan struct{} // holds at most one request to check again at once
	quit  atomic.Bool
	soon  atomic.Bool // pollSoon since the last sleep

	rest    *time.Timer
	delayed *time.Timer // makes a yielding watcher check again
	pause   time.Duration
	active  time.Duration // how long the watcher rests while the application polls
}

const (
	resting int32 = iota
	yielding
	watching
)

// How long a watcher rests. restMin to restMax is the time between two checks of an application that polls; it grows while the
// application does, from restFirst when the watcher has found that it polls again. It grows to asleepMax if the application sleeps on
// the method at every check. The other limits are for polls of a method that cannot sleep: to pollPauseMax while a caller waits,
// otherwise to pollIdleMax.
const (
	restFirst    = 100 * time.Microsecond
	restMin      = time.Millisecond
	restMax      = 4 * time.Millisecond
	asleepMax    = 16 * time.Millisecond
	pollPauseMin = 50 * time.Microsecond
	pollPauseMax = time.Millisecond
	pollIdleMax  = 10 * time.Millisecond
)

// watchPolls is how often a watcher polls within one hold of the engine lock.
const watchPolls = 64

func newWatcher(e *Engine) *watcher {
	w := &watcher{e: e, again: make(chan struct{}, 1), rest: time.NewTimer(time.Hour), active: restMin}
	w.delayed = time.AfterFunc(time.Hour, w.checkAgain)
	w.delayed.Stop()
	return w
}

// checkAgain makes the watcher check again at once.
func (w *watcher) checkAgain() {
	select {
	case w.again <- struct{}{}:
	default:
	}
}

// watchNow asks the watcher to watch, because a caller relies on it.
func (w *watcher) watchNow() {
	if w.state.Load() != watching || w.e.sleeper == nil {
		w.checkAgain()
	}
}

// pollSoon asks for a poll of a method that cannot be slept on.
func (w *watcher) pollSoon() {
	w.soon.Store(true)
	w.checkAgain()
}

// sleepGiven tells a yielding watcher that the application no longer sleeps.
func (w *watcher) sleepGiven() {
	if w.state.Load() == yielding {
		w.delayed.Reset(restMin)
	}
}

// stop makes run return soon.
func (w *watcher) stop() {
	w.quit.Store(true)
	w.checkAgain()
	if w.e.sleeper != nil {
		w.e.sleeper.Wake()
	}
}

func (w *watcher) run() {
	defer w.delayed.Stop()
	defer w.rest.Stop()
	relying := &w.e.monitor.spinner.relying
	seen := ^uint64(0)
	for !w.quit.Load() {
		polls, idle, asleep := w.look()
		if !idle || w.e.sleepWanted.Load() || (polls != seen && relying.Load() == 0 && !w.soon.Load()) {
			seen = polls
			w.restFor(w.active)
			limit := restMax
			if asleep {
				limit = asleepMax
			}
			w.active = min(2*w.active, limit)
			continue
		}
		var left bool
		if seen, left = w.watch(polls); left {
			// Otherwise each message of an application that polls would wake the watcher, which would ask for the next one.
			w.active = restFirst
			w.restFor(w.active)
		} else {
			w.active = restMin
		}
	}
}

// look reads how often the method was polled, and whether a goroutine sleeps on it. idle is false if a goroutine is using the
// method now.
func (w *watcher) look() (polls uint64, idle, asleep bool) {
	e := w.e
	if !e.mu.TryLock() {
		return 0, false, false
	}
	polls, idle, asleep = e.polls, e.paused == 0, e.asleep
	e.Unlock()
	return polls, idle, asleep
}

// restFor waits for d, and reports whether checkAgain ended the wait.
func (w *watcher) restFor(d time.Duration) (asked bool) {
	w.rest.Reset(d)
	select {
	case <-w.again:
		asked = true
	case <-w.rest.C:
	}
	w.rest.Stop()
	return asked
}

// watch drives the method until the application does so again. It returns the number of polls of the method by then, and whether it
// has left the method to an application that polls.
func (w *watcher) watch(seen uint64) (polls uint64, left bool) {
	w.pause = pollPauseMin
	for more := true; more && !w.quit.Load(); {
		if !w.takeSleep() {
			break
		}
		w.state.Store(watching)
		slept := w.sleep()
		w.e.sleepMu.Unlock()
		// Polling may run handlers, which take their time. The right to sleep is given up first, so that no caller has to wait
		// for the handlers.
		seen, more, left = w.poll(seen, slept)
	}
	w.state.Store(resting)
	return seen, left
}

// takeSleep takes the right to sleep on the method. If the application has it, takeSleep waits until sleepGiven and reports false.
func (w *watcher) takeSleep() bool {
	mu := &w.e.sleepMu
	if mu.TryLock() {
		return true
	}
	w.state.Store(yielding)
	if mu.TryLock() { // its holder gave it back before it could see the state
		return true
	}
	<-w.again
	return false
}

// poll polls the method. more is false when the watcher should leave the method to the application: left, if that polls.
func (w *watcher) poll(seen uint64, slept bool) (polls uint64, more, left bool) {
	e, relying := w.e, &w.e.monitor.spinner.relying
	e.Lock()
	others := e.polls != seen
	happened := false
	for i := 0; i < watchPolls && e.poll(); i++ {
		happened = true
	}
	leave := e.closed || e.paused > 0 || e.sleepWanted.Load()
	seen = e.polls
	e.Unlock()
	switch {
	case happened:
		w.pause = pollPauseMin
	case !slept:
		limit := pollIdleMax
		if relying.Load() > 0 {
			limit = pollPauseMax
		}
		w.pause = min(w.pause, limit)
		if w.restFor(w.pause) {
			w.pause = pollPauseMin
		} else {
			w.pause *= 2
		}
	}
	left = others && relying.Load() == 0
	return seen, !leave && !left, left
}

// sleep blocks until something arrives. It reports false if the method cannot sleep, at all or now.
func (w *watcher) sleep() bool {
	e := w.e
	w.soon.Store(false)
	if e.sleeper == nil {
		return false
	}
	e.Lock()
	if e.closed || e.paused > 0 || e.sleepWanted.Load() || w.quit.Load() {
		e.Unlock()
		return true
	}
	timeout, armed := e.armLocked()
	e.Unlock()
	slept := armed && e.sleep(timeout)
	e.Lock()
	e.disarmLocked()
	e.Unlock()
	return slept
}
