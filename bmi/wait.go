package bmi

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A monitor sees to it that at most one goroutine at a time polls and sleeps
// on behalf of all that wait in an endpoint. The others are parked: each on
// its own channel, until a completion, or until the monitor is free and
// somebody must take over.
//
// Why no wake-up is lost. A waiter registers, then looks once more at what it
// waits for under the engine lock, then blocks. Who completes an operation
// does it under the engine lock and then looks for registered waiters: one of
// the two sees the other. In the same way a waiter registers and then looks
// whether the monitor is busy, and its holder sets it free and then looks for
// registered waiters. A wake-up that comes before the waiter blocks stays in
// its channel. A woken waiter that has no use for the monitor passes the
// wake-up on when it leaves.
type monitor struct {
	busy atomic.Bool

	mu  sync.Mutex
	all waiterSet    // registered
	n   atomic.Int32 // how many
}

func (m *monitor) take() bool { return m.busy.CompareAndSwap(false, true) }

// An audience is who waits for completions of one context, or for unexpected
// messages.
type audience struct {
	ws waiterSet // guarded by monitor.mu
	n  atomic.Int32
}

func (a *audience) waiting() bool { return a.n.Load() != 0 }

// A waiter is one goroutine that is about to block, or blocked, in a Test call
// or in a blocking helper.
type waiter struct {
	ch        chan struct{} // holds at most one wake-up
	timer     *time.Timer
	pos       [2]int // in monitor.all and in an audience
	parked    atomic.Bool
	cancelled atomic.Bool              // the context.Context of a helper ended
	sleeping  atomic.Pointer[instance] // whose Sleep the goroutine may be in

	// Of a blocking helper; guarded by the engine lock of in.
	in   *instance
	op   *Op // until done
	done bool
	size int
	err  error
}

var waiters = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &waiter{ch: make(chan struct{}, 1), timer: t}
}}

func newWaiter() *waiter {
	w := waiters.Get().(*waiter)
	select {
	case <-w.ch: // from its former life
	default:
	}
	return w
}

func (w *waiter) free() {
	w.in, w.op, w.done, w.size, w.err = nil, nil, false, 0, nil
	w.cancelled.Store(false)
	waiters.Put(w)
}

// completeLocked takes the completion of a blocking helper's operation.
func (w *waiter) completeLocked(op *Op) {
	in := op.lane.in
	w.size, w.err = op.size, op.err
	w.op = nil
	op.lane.recycleLocked(op)
	w.done = true
	if w.parked.Load() {
		w.wake(in.ep)
	}
}

func (w *waiter) wake(e *Endpoint) {
	select {
	case w.ch <- struct{}{}:
		e.counters.wakes.Inc()
	default:
	}
	if in := w.sleeping.Load(); in != nil {
		in.sleeper.Wake()
	}
}

// block waits for a wake-up or until the deadline; < 0 means none.
func (w *waiter) block(e *Endpoint, deadline time.Duration) {
	e.counters.sleeps.Inc()
	if deadline < 0 {
		<-w.ch
		return
	}
	w.timer.Reset(deadline - e.now())
	select {
	case <-w.ch:
	case <-w.timer.C:
	}
	w.timer.Stop()
}

// register makes a waiter visible to those who wake. in is the method it is
// going to sleep on, or nil.
func (e *Endpoint) register(w *waiter, a *audience, in *instance) {
	m := &e.monitor
	w.sleeping.Store(in)
	w.parked.Store(true)
	m.mu.Lock()
	m.all.add(w, 0)
	m.n.Add(1)
	if a != nil {
		a.ws.add(w, 1)
		a.n.Add(1)
	}
	m.mu.Unlock()
}

func (e *Endpoint) unregister(w *waiter, a *audience) {
	m := &e.monitor
	m.mu.Lock()
	m.all.remove(w, 0)
	m.n.Add(-1)
	if a != nil {
		a.ws.remove(w, 1)
		a.n.Add(-1)
	}
	m.mu.Unlock()
	w.parked.Store(false)
	w.sleeping.Store(nil)
}

func (e *Endpoint) wakeAudience(a *audience) {
	e.monitor.mu.Lock()
	defer e.monitor.mu.Unlock()
	for _, w := range a.ws {
		w.wake(e)
	}
}

// wakeEverybody makes all waiters look again at what they wait for.
func (e *Endpoint) wakeEverybody() {
	m := &e.monitor
	if m.n.Load() == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.all {
		w.wake(e)
	}
}

// handover wakes one waiter if nobody holds the monitor.
func (e *Endpoint) handover() {
	m := &e.monitor
	if m.n.Load() == 0 || m.busy.Load() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) > 0 {
		m.all[0].wake(e)
	}
}

// waiterSet is an unordered set; the index says which position field is its own.
type waiterSet []*waiter

func (s *waiterSet) add(w *waiter, index int) {
	w.pos[index] = len(*s)
	*s = append(*s, w)
}

func (s *waiterSet) remove(w *waiter, index int) {
	all := *s
	last := all[len(all)-1]
	all[w.pos[index]] = last
	last.pos[index] = w.pos[index]
	all[len(all)-1] = nil
	*s = all[:len(all)-1]
}

// wait polls, sleeps or is parked until the request is served, the time is
// over, its context closes, or w is cancelled; it reports whether the request
// was served. w is the helper's own waiter, or nil. When the endpoint closes,
// it waits until every method did, and looks a last time.
func (e *Endpoint) wait(r *request, limit time.Duration, w *waiter) bool {
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
	for !served && !e.over(r, w, deadline) {
		if e.monitor.take() {
			if served = e.spin(r, start, deadline); !served {
				if w == nil {
					w = newWaiter()
				}
				served = e.lead(r, w, deadline)
				e.spinner.slept(e.now() - start)
			}
			e.monitor.busy.Store(false)
			continue
		}
		if w == nil {
			w = newWaiter()
		}
		served = e.park(r, w, deadline)
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

// over tells whether there is no point in waiting any longer.
func (e *Endpoint) over(r *request, w *waiter, deadline time.Duration) bool {
	return e.closing.Load() ||
		(w != nil && w.cancelled.Load()) ||
		(r.ctx != nil && r.ctx.closed.Load() && r.kind != waitQuiet && r.kind != waitCall) ||
		(deadline >= 0 && e.now() >= deadline)
}

// takeAll collects what is there with any method.
func (e *Endpoint) takeAll(r *request) bool {
	served := false
	for _, in := range e.methods() {
		in.lock()
		served = r.takeLocked(in) || served
		in.unlock()
	}
	return served
}

// pass polls every method some times.
func (e *Endpoint) pass(r *request, polls int) bool {
	for _, in := range e.methods() {
		in.lock()
		served := r.takeLocked(in) || in.burstLocked(r, polls)
		in.unlock()
		if served {
			return true
		}
		for i := 0; i < 4 && in.wanted.Load() != 0; i++ {
			runtime.Gosched() // who wants the lock gets it before we take it again
		}
	}
	return false
}

// park waits for a completion, or for the monitor to be free.
func (e *Endpoint) park(r *request, w *waiter, deadline time.Duration) bool {
	a := r.audience(e)
	e.register(w, a, nil)
	served := e.takeAll(r)
	if !served && e.monitor.busy.Load() && !e.over(r, w, deadline) {
		w.block(e, deadline)
	}
	e.unregister(w, a)
	return served || e.takeAll(r)
}

// lead sleeps, and polls after each wake-up, as the holder of the monitor.
func (e *Endpoint) lead(r *request, w *waiter, deadline time.Duration) bool {
	idle := 0
	for !e.over(r, w, deadline) {
		all := e.methods()
		if len(all) == 1 && all[0].sleeper != nil && idle < idleMax {
			served, slept := e.sleepDirect(r, w, all[0], deadline)
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
		if e.sleepIndirect(r, w, deadline) {
			return true
		}
	}
	return false
}

// idleMax is how often in a row a method may refuse to be slept on although
// polling it gives nothing, before the caller lets the watcher deal with it.
const idleMax = 8

// sleepDirect sleeps on the only method there is: one switch of threads from
// an arrival to its completion.
func (e *Endpoint) sleepDirect(r *request, w *waiter, in *instance, deadline time.Duration) (served, slept bool) {
	in.takeSleep()
	defer in.giveSleep()
	a := r.audience(e)
	e.register(w, a, in)
	in.lock()
	served = r.takeLocked(in)
	armed := false
	var nap time.Duration
	if !served && in.handlers == 0 && !in.dead && !e.over(r, w, deadline) {
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
	if served {
		return true, false
	}
	in.lock()
	if armed {
		in.asleep = false
		if !in.dead {
			in.sleeper.Disarm()
		}
	}
	served = r.takeLocked(in) || in.burstLocked(r, wakePolls)
	in.unlock()
	return served, armed && nap != 0
}

// wakePolls is how often a caller polls after a wake-up, before it sleeps again.
const wakePolls = 8

// sleepIndirect leaves the methods to their watchers, who wake the caller when
// its operation completes.
func (e *Endpoint) sleepIndirect(r *request, w *waiter, deadline time.Duration) bool {
	a := r.audience(e)
	e.register(w, a, nil)
	e.spinner.demand.Add(1)
	for _, in := range e.methods() {
		in.watch.wanted()
	}
	if !e.takeAll(r) && !e.over(r, w, deadline) {
		w.block(e, deadline)
	}
	e.spinner.demand.Add(-1)
	e.unregister(w, a)
	return e.takeAll(r) || e.pass(r, 1)
}

// takeSleep claims the right to sleep on the method, from its watcher if need be.
func (in *instance) takeSleep() {
	if in.sleepMu.TryLock() {
		return
	}
	in.stepBack.Store(true)
	in.sleeper.Wake()
	in.sleepMu.Lock()
	in.stepBack.Store(false)
}

func (in *instance) giveSleep() {
	in.sleepMu.Unlock()
	in.watch.resume()
}
