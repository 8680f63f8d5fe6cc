package progress

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Waiter is one goroutine that is about to block, or blocked.
type Waiter struct {
	ch         chan struct{} // holds at most one wake-up
	timer      *time.Timer
	pos        [2]int // in Monitor.all and in a List
	registered atomic.Bool
	cancelled  atomic.Bool
	sleepsOn   atomic.Pointer[Engine] // the method that the goroutine may be sleeping on
	since      time.Duration          // when it began to wait, on the monitor's clock; written while not registered
}

// Init prepares a new Waiter.
func (w *Waiter) Init() {
	w.ch = make(chan struct{}, 1)
	w.timer = time.NewTimer(time.Hour)
	w.timer.Stop()
}

// Reset prepares a Waiter for its next use. Nothing may wake or cancel it for its previous one any more.
func (w *Waiter) Reset() {
	select {
	case <-w.ch:
	default:
	}
	w.cancelled.Store(false)
}

// Registered reports whether the goroutine may be about to block, so that it must be woken.
func (w *Waiter) Registered() bool { return w.registered.Load() }

// Uncancel undoes Monitor.Cancel.
func (w *Waiter) Uncancel() { w.cancelled.Store(false) }

var waiters = sync.Pool{New: func() any {
	w := new(Waiter)
	w.Init()
	return w
}}

// block waits for a wake-up or until the deadline; < 0 means none.
func (w *Waiter) block(m *Monitor, deadline time.Duration) {
	m.counts.sleeps.Add(1)
	if deadline < 0 {
		<-w.ch
		return
	}
	w.timer.Reset(deadline - m.Now())
	select {
	case <-w.ch:
	case <-w.timer.C:
	}
	w.timer.Stop()
}

// A List is a set of waiters that are woken together.
type List struct {
	all waiterSet // guarded by Monitor.mu
	n   atomic.Int32
}

// Waiting reports whether there is anything to wake.
func (l *List) Waiting() bool { return l.n.Load() != 0 }

// Longest returns how many goroutines of a list are asleep, and for how long the first of them has waited.
func (m *Monitor) Longest(l *List) (waiting int, longest time.Duration) {
	if !l.Waiting() {
		return 0, 0
	}
	now := m.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range l.all {
		longest = max(longest, now-w.since)
	}
	return len(l.all), longest
}

// waiterSet is an unordered set. The index selects the element of Waiter.pos that belongs to this set.
type waiterSet []*Waiter

func (s *waiterSet) add(w *Waiter, index int) {
	w.pos[index] = len(*s)
	*s = append(*s, w)
}

func (s *waiterSet) remove(w *Waiter, index int) {
	all := *s
	last := all[len(all)-1]
	all[w.pos[index]] = last
	last.pos[index] = w.pos[index]
	all[len(all)-1] = nil
	*s = all[:len(all)-1]
}
