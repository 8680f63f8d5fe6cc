package bmi

import (
	"sync"
	"sync/atomic"
	"time"
)

// A monitor ensures that at most one goroutine at a time polls and sleeps on
// behalf of all that wait in an endpoint. The others block, each on its own
// channel, until a completion, or until the monitor is free and another goroutine
// must take over.
//
// No wake-up is lost, for this reason. A waiter registers, then checks its
// condition once more under the engine lock, then blocks. A goroutine that
// completes an operation does so under the engine lock and then looks for
// registered waiters. So one of the two always sees the other. In the same way a
// waiter registers and then checks whether the monitor is busy, and the holder of
// the monitor frees it and then looks for registered waiters. A wake-up that
// comes before the waiter blocks stays in its channel. A woken waiter that does
// not need the monitor passes the wake-up on when it leaves.
// docs/models/wait.pml is a model of this.
type monitor struct {
	busy atomic.Bool

	mu  sync.Mutex
	all waiterSet    // registered
	n   atomic.Int32 // how many
}

func (m *monitor) take() bool { return m.busy.CompareAndSwap(false, true) }

// A waitList is the set of waiters for completions of one context, or for
// unexpected messages.
type waitList struct {
	ws waiterSet // guarded by monitor.mu
	n  atomic.Int32
}

func (a *waitList) waiting() bool { return a.n.Load() != 0 }

// A waiter is one goroutine that is about to block, or blocked, in a Test call or
// in a blocking helper.
type waiter struct {
	ch         chan struct{} // holds at most one wake-up
	timer      *time.Timer
	pos        [2]int // in monitor.all and in a waitList
	registered atomic.Bool
	cancelled  atomic.Bool              // the context.Context of a helper ended
	sleeping   atomic.Pointer[instance] // the method that the goroutine may be sleeping on

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
	case <-w.ch: // from its previous use
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
	if w.registered.Load() {
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

// register makes a waiter visible to goroutines that wake waiters. in is the
// method that it is going to sleep on, or nil.
func (e *Endpoint) register(w *waiter, a *waitList, in *instance) {
	m := &e.monitor
	w.sleeping.Store(in)
	w.registered.Store(true)
	m.mu.Lock()
	m.all.add(w, 0)
	m.n.Add(1)
	if a != nil {
		a.ws.add(w, 1)
		a.n.Add(1)
	}
	m.mu.Unlock()
}

func (e *Endpoint) unregister(w *waiter, a *waitList) {
	m := &e.monitor
	m.mu.Lock()
	m.all.remove(w, 0)
	m.n.Add(-1)
	if a != nil {
		a.ws.remove(w, 1)
		a.n.Add(-1)
	}
	m.mu.Unlock()
	w.registered.Store(false)
	w.sleeping.Store(nil)
}

func (e *Endpoint) wakeList(a *waitList) {
	e.monitor.mu.Lock()
	defer e.monitor.mu.Unlock()
	for _, w := range a.ws {
		w.wake(e)
	}
}

// wakeEverybody makes all waiters check their conditions again.
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

// handover wakes one waiter if no goroutine holds the monitor.
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

// waiterSet is an unordered set. The index selects the element of waiter.pos that
// belongs to this set.
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
