package progress

import (
	"runtime"
	"time"
)

// A Condition is what a goroutine waits for. The call concerns one method, which index selects, and whose engine lock is held. It
// reports whether the condition holds, as far as that method knows. If the condition does not hold, it polls the method up to
// polls times (Engine.BeginPoll), until the condition holds or, after the first poll, Engine.EndBurst. moved reports whether the
// method made progress, even if only for another waiter or with part of a message. A Condition may be on the stack of the
// goroutine: nothing here keeps it.
type Condition func(index, polls int) (met, moved bool)

// Wait polls, sleeps or blocks until the condition holds, the time is over (limit; < 0: never), w is cancelled or the monitor
// ends. It reports whether the condition held. WakeList makes the waiters of list check their conditions; list is nil if w is
// woken when the condition becomes true. w is nil if nothing but a list needs to know the waiter.
func (m *Monitor) Wait(check Condition, list *List, w *Waiter, limit time.Duration) bool {
	start, own := m.Now(), false
	deadline := time.Duration(-1)
	if limit >= 0 {
		deadline = start + limit
	}
	met := false
	for !met && !m.over(w, deadline) {
		hold := m.held.CompareAndSwap(false, true)
		since := start
		if hold {
			met, since = m.spin(check, start, deadline)
		}
		if !met && w == nil {
			w, own = waiters.Get().(*Waiter), true
			w.Reset()
		}
		if !met {
			w.since = start
		}
		switch {
		case !hold:
			met = m.block(check, list, w, deadline)
		case !met:
			met = m.sleep(check, list, w, deadline)
			m.spinner.Slept(m.Now() - since)
		}
		if hold {
			m.held.Store(false)
		}
	}
	m.handOver()
	if own {
		waiters.Put(w)
	}
	return met
}

// over reports whether there is no reason to wait any longer.
func (m *Monitor) over(w *Waiter, deadline time.Duration) bool {
	return m.ended.Load() || w != nil && w.cancelled.Load() || deadline >= 0 && m.Now() >= deadline
}

// poll polls every method several times, until the condition holds. It reports whether any method made progress.
func (m *Monitor) poll(check Condition, polls int) (met, moved bool) {
	for _, e := range *m.engines.Load() {
		e.Lock()
		met, did := check(e.index, polls)
		e.Unlock()
		if moved = moved || did; met {
			return true, moved
		}
		for i := 0; i < 4 && e.wanted.Load() != 0; i++ {
			runtime.Gosched() // let the waiting goroutine take the lock first
		}
	}
	return false, moved
}

// check asks a condition for every method, without a poll.
func (m *Monitor) check(check Condition) bool {
	any := false
	for _, e := range *m.engines.Load() {
		e.Lock()
		met, _ := check(e.index, 0)
		e.Unlock()
		any = any || met
	}
	return any
}

// block waits for a wake-up, or for the monitor to be free.
func (m *Monitor) block(check Condition, list *List, w *Waiter, deadline time.Duration) bool {
	m.register(w, list, nil)
	met := m.check(check)
	if !met && m.held.Load() && !m.over(w, deadline) {
		w.block(m, deadline)
	}
	m.unregister(w, list)
	return met || m.check(check)
}

// sleep sleeps as the holder of the monitor, and polls after each wake-up, until the condition holds or the wait is over.
func (m *Monitor) sleep(check Condition, list *List, w *Waiter, deadline time.Duration) bool {
	for refused := 0; !m.over(w, deadline); {
		met, slept := false, false
		if all := *m.engines.Load(); len(all) == 1 && all[0].sleeper != nil && refused < refusedMax {
			met, slept = m.sleepOn(all[0], check, list, w, deadline)
		} else {
			met, slept = m.sleepBehindWatchers(check, list, w, deadline), true
		}
		if met {
			return true
		}
		if refused++; slept {
			refused = 0
		}
	}
	return false
}

// refusedMax is how often in a row a method may refuse to sleep although polling it gives nothing. After that the goroutine relies on
// the watcher.
const refusedMax = 8

// sleepOn sleeps on the only method. An arrival then needs only one thread switch until its completion.
func (m *Monitor) sleepOn(e *Engine, check Condition, list *List, w *Waiter, deadline time.Duration) (met, slept bool) {
	e.TakeSleep()
	m.register(w, list, e)
	e.Lock()
	met, _ = check(e.index, 0)
	var timeout time.Duration
	armed := false
	if !met && e.paused == 0 && !e.closed && !m.over(w, deadline) {
		timeout, armed = e.armLocked()
		if !armed {
			e.disarmLocked()
		}
	}
	e.Unlock()
	if armed {
		if left := max(deadline-m.Now(), 0); deadline >= 0 && (timeout < 0 || left < timeout) {
			timeout = left
		}
		slept = e.sleep(timeout)
	}
	m.unregister(w, list)
	e.Lock()
	if armed {
		e.disarmLocked()
	}
	e.GiveSleep() // before polling, which may run handlers
	if !met {
		met, _ = check(e.index, wakePolls)
	}
	e.Unlock()
	return met, slept
}

// wakePolls is how often a goroutine polls after a wake-up, before it sleeps again.
const wakePolls = 8

// sleepBehindWatchers leaves the methods to their watchers. The goroutine that makes the condition true wakes the waiter.
func (m *Monitor) sleepBehindWatchers(check Condition, list *List, w *Waiter, deadline time.Duration) bool {
	m.register(w, list, nil)
	m.spinner.relying.Add(1)
	for _, e := range *m.engines.Load() {
		e.watcher.watchNow()
	}
	if !m.check(check) && !m.over(w, deadline) {
		w.block(m, deadline)
	}
	m.spinner.relying.Add(-1)
	m.unregister(w, list)
	if m.check(check) {
		return true
	}
	met, _ := m.poll(check, 1)
	return met
}
