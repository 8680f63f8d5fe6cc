package tcp

import (
	"container/heap"
	"time"
)

// A timer is embedded in each object with a deadline. An object has at most one
// deadline at a time.
type timer struct {
	at    time.Duration // in terms of bmi.MethodConfig.Clock
	place int           // in the heap plus one; 0: not set
	owner timed
}

// timed is told when its deadline has passed.
type timed interface{ expired(m *method) }

// timers is a heap of timers, the earliest on top.
type timers []*timer

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *timers) Push(x any) {
	t := x.(*timer)
	*h = append(*h, t)
	t.place = len(*h)
}

func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.place = 0
	return t
}

// set gives t a deadline, replacing any earlier one.
func (m *method) set(t *timer, at time.Duration) {
	t.at = at
	if t.place > 0 {
		heap.Fix(&m.timers, t.place-1)
		return
	}
	heap.Push(&m.timers, t)
}

// unset removes the deadline.
func (m *method) unset(t *timer) {
	if t.place > 0 {
		heap.Remove(&m.timers, t.place-1)
	}
}

// expire calls expired for every deadline that has passed.
func (m *method) expire() (did bool) {
	now := m.clock()
	for len(m.timers) > 0 && m.timers[0].at <= now {
		heap.Pop(&m.timers).(*timer).owner.expired(m)
		did = true
	}
	return did
}

// NextDeadline returns the earliest deadline (bmi.Deadliner).
func (m *method) NextDeadline() (at time.Duration, ok bool) {
	if len(m.timers) == 0 {
		return 0, false
	}
	return m.timers[0].at, true
}
