package bmi

import (
	"runtime"
	"time"
)

// wait polls, sleeps or blocks until the request is served, the time is over,
// its context closes, or w is cancelled. It reports whether the request was
// served. Completions wake the waiters in a; a is nil if the operation itself
// knows its waiter. a is not a field of the request because wait keeps a, and a
// request can live on the caller's stack only if nothing that it points to is
// kept. w is the waiter of a blocking helper, or nil. When the endpoint closes,
// wait waits until every method has closed, and then checks the request a last
// time.
func (e *Endpoint) wait(r *request, a *waitList, limit time.Duration, w *waiter) bool {
	if e.cfg.Manual {
		return false
	}
	start := e.now()
	deadline := Forever
	if limit >= 0 {
		deadline = start + limit
	}
	own := w == nil
	served := false
	for !served && !e.waitEnded(r, w, deadline) {
		if e.monitor.take() {
			var since time.Duration
			if served, since = e.spin(r, start, deadline); !served {
				if w == nil {
					w = newWaiter()
				}
				served = e.waitAsHolder(r, a, w, deadline)
				e.spinner.Slept(e.now() - since)
			}
			e.monitor.busy.Store(false)
			continue
		}
		if w == nil {
			w = newWaiter()
		}
		served = e.waitAsOther(r, a, w, deadline)
	}
	e.handover()
	if own && w != nil {
		w.free()
	}
	if !served && e.closing.Load() {
		<-e.closed
	}
	if !served {
		served = e.takeAll(r)
	}
	return served
}

// waitEnded reports whether there is no reason to wait any longer.
func (e *Endpoint) waitEnded(r *request, w *waiter, deadline time.Duration) bool {
	return e.closing.Load() ||
		(w != nil && w.cancelled.Load()) ||
		(r.ctx != nil && r.ctx.closed.Load() && r.kind != waitQuiet && r.kind != waitCall) ||
		(deadline >= 0 && e.now() >= deadline)
}

// takeAll collects the results that are already there, from all methods.
func (e *Endpoint) takeAll(r *request) bool {
	served := false
	for _, in := range e.methods() {
		in.lock()
		served = r.takeLocked(in) || served
		in.unlock()
	}
	return served
}

// pollAll polls every method several times. It reports whether the request was
// served and whether any method made progress.
func (e *Endpoint) pollAll(r *request, polls int) (served, moved bool) {
	for _, in := range e.methods() {
		did := false
		in.lock()
		if served = r.takeLocked(in); !served {
			served, did = in.burstLocked(r, polls)
		}
		in.unlock()
		if moved = moved || did; served {
			return true, moved
		}
		for i := 0; i < 4 && in.wanted.Load() != 0; i++ {
			runtime.Gosched() // let the waiting goroutine take the lock first
		}
	}
	return false, moved
}

// waitAsOther waits for a completion, or for the monitor to be free.
func (e *Endpoint) waitAsOther(r *request, a *waitList, w *waiter, deadline time.Duration) bool {
	e.register(w, a, nil)
	served := e.takeAll(r)
	if !served && e.monitor.busy.Load() && !e.waitEnded(r, w, deadline) {
		w.block(e, deadline)
	}
	e.unregister(w, a)
	return served || e.takeAll(r)
}

// waitAsHolder sleeps as the holder of the monitor, and polls after each wake-up.
func (e *Endpoint) waitAsHolder(r *request, a *waitList, w *waiter, deadline time.Duration) bool {
	idle := 0
	for !e.waitEnded(r, w, deadline) {
		all := e.methods()
		if len(all) == 1 && all[0].sleeper != nil && idle < idleMax {
			served, slept := e.sleepDirect(r, a, w, all[0], deadline)
			if served {
				return true
			}
			if slept {
				idle = 0
				continue
			}
			idle++
			continue
		}
		idle = 0
		if e.sleepIndirect(r, a, w, deadline) {
			return true
		}
	}
	return false
}

// idleMax is how often in a row a method may refuse to sleep although polling it
// gives nothing. After that the caller relies on the watcher.
const idleMax = 8

// sleepDirect sleeps on the only open method. An arrival then needs only one
// thread switch until its completion.
func (e *Endpoint) sleepDirect(r *request, a *waitList, w *waiter, in *instance, deadline time.Duration) (served, slept bool) {
	in.takeSleep()
	e.register(w, a, in)
	in.lock()
	served = r.takeLocked(in)
	armed := false
	var nap time.Duration
	if !served && in.handlers == 0 && !in.dead && !e.waitEnded(r, w, deadline) {
		if armed = in.sleeper.Arm(); armed {
			nap = in.napLocked()
			in.asleep = true
		} else {
			in.sleeper.Disarm()
		}
	}
	in.unlock()
	if armed {
		if deadline >= 0 {
			left := max(deadline-e.now(), 0)
			if nap < 0 || left < nap {
				nap = left
			}
		}
		if nap != 0 {
			e.counters.sleeps.Inc()
			in.sleeper.Sleep(nap)
		}
	}
	e.unregister(w, a)
	in.lock()
	if armed {
		in.asleep = false
		in.sleeper.Disarm()
	}
	in.giveSleep() // before polling, which may run handlers
	if served = served || r.takeLocked(in); !served {
		served, _ = in.burstLocked(r, wakePolls)
	}
	in.unlock()
	return served, armed && nap != 0
}

// wakePolls is how often a caller polls after a wake-up, before it sleeps again.
const wakePolls = 8

// sleepIndirect leaves the methods to their watchers. They wake the caller when
// its operation completes.
func (e *Endpoint) sleepIndirect(r *request, a *waitList, w *waiter, deadline time.Duration) bool {
	e.register(w, a, nil)
	e.spinner.demand.Add(1)
	for _, in := range e.methods() {
		in.watch.wanted()
	}
	if !e.takeAll(r) && !e.waitEnded(r, w, deadline) {
		w.block(e, deadline)
	}
	e.spinner.demand.Add(-1)
	e.unregister(w, a)
	if e.takeAll(r) {
		return true
	}
	served, _ := e.pollAll(r, 1)
	return served
}

// takeSleep takes the right to sleep on the method, if need be from its watcher.
// It is called before the engine lock is taken.
func (in *instance) takeSleep() {
	if in.sleepMu.TryLock() {
		return
	}
	in.stepBack.Store(true)
	if in.sleeper != nil {
		in.sleeper.Wake()
	}
	in.sleepMu.Lock()
	in.stepBack.Store(false)
}

func (in *instance) giveSleep() {
	in.sleepMu.Unlock()
	if in.watch != nil {
		in.watch.resume()
	}
}
