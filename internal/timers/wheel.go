// Package timers holds the deadlines of any number of records in a hierarchical timing wheel (Varghese and Lauck, 1987): setting,
// stopping and expiring one takes constant time and allocates nothing. The records carry their timers themselves. A wheel is owned
// by one goroutine at a time. Time is an argument, counted from an origin that the owner chooses.
package timers

import (
	"math/bits"
	"time"
)

// The wheel's shape: slots per level, and levels. A slot of level 0 is one tick, a slot of each further level a whole turn of the
// level below.
const (
	wheelTick   = 16 * time.Microsecond
	wheelBits   = 6
	wheelSlots  = 1 << wheelBits
	wheelLevels = 9 // reach further than a time.Duration

	slotBits = 10 // of Timer.due, the lowest; they hold level * wheelSlots + slot
)

// A Timer is the one deadline of a record. The zero value is not set.
type Timer[T any] struct {
	of   *T
	next *Timer[T]
	back **Timer[T] // the pointer to this timer; nil if the timer is not set
	due  uint64     // in ticks, rounded up, with the slot
}

// Timed is a pointer to a record with a Timer.
type Timed[T any] interface {
	*T
	// Timer returns the record's timer.
	Timer() *Timer[T]
}

// IsSet reports whether there is a deadline.
func (t *Timer[T]) IsSet() bool { return t.back != nil }

// At is the deadline, rounded up to a tick. The timer is set.
func (t *Timer[T]) At() time.Duration { return time.Duration(t.tick()) * wheelTick }

func (t *Timer[T]) tick() uint64 { return t.due >> slotBits }

func (t *Timer[T]) slot() int { return int(t.due & (1<<slotBits - 1)) }

// A Wheel holds the deadlines. They have a resolution of 16 µs and never expire early. The zero value is an empty wheel at time 0.
type Wheel[T any, P Timed[T]] struct {
	now     uint64              // ticks; every earlier timer has expired
	used    [wheelLevels]uint64 // which slots hold timers
	slots   [wheelLevels * wheelSlots]*Timer[T]
	expired *Timer[T] // found by Advance, while it runs
}

// ticks is a time in ticks, rounded up.
func ticks(at time.Duration) uint64 {
	n := uint64(max(at, 0))
	return (n + uint64(wheelTick) - 1) / uint64(wheelTick)
}

// Set sets the timer of a record, replacing an earlier deadline. A deadline in the past is due at the next Advance that moves time
// by a tick; Next then returns it at once.
func (w *Wheel[T, P]) Set(p P, at time.Duration) {
	t := p.Timer()
	t.of = p
	w.stop(t)
	w.put(t, max(ticks(at), w.now))
}

// Stop removes the deadline of a record, if there is one.
func (w *Wheel[T, P]) Stop(p P) { w.stop(p.Timer()) }

func (w *Wheel[T, P]) stop(t *Timer[T]) {
	if t.back != nil {
		w.take(t)
	}
}

// put links a timer into its slot, relative to now: its level is that of the highest digit in which its time differs from now.
func (w *Wheel[T, P]) put(t *Timer[T], tick uint64) {
	level := 0
	if differ := tick ^ w.now; differ != 0 {
		level = (bits.Len64(differ) - 1) / wheelBits
	}
	slot := int(tick>>(level*wheelBits)) & (wheelSlots - 1)
	w.used[level] |= 1 << slot
	slot += level * wheelSlots
	t.due = tick<<slotBits | uint64(slot)
	link(&w.slots[slot], t)
}

// link puts a timer at the front of a list.
func link[T any](head **Timer[T], t *Timer[T]) {
	t.next, t.back = *head, head
	if t.next != nil {
		t.next.back = &t.next
	}
	*head = t
}

// take unlinks a timer.
func (w *Wheel[T, P]) take(t *Timer[T]) {
	*t.back = t.next
	if t.next != nil {
		t.next.back = t.back
	}
	t.next, t.back = nil, nil
	if slot := t.slot(); w.slots[slot] == nil {
		w.used[slot/wheelSlots] &^= 1 << (slot % wheelSlots)
	}
}

// Next is when Advance must be called; ok is false if no timer is set. It is not later than the first deadline, rounded up to a
// tick. It may be sooner, because distant timers are moved to finer levels as they come near.
func (w *Wheel[T, P]) Next() (at time.Duration, ok bool) {
	tick, _, ok := w.first()
	return time.Duration(tick) * wheelTick, ok
}

// first is the earliest slot that holds timers: its start and its index. A level's timers are all due before those of the level
// above it.
func (w *Wheel[T, P]) first() (tick uint64, slot int, ok bool) {
	for level := range wheelLevels {
		shift := level * wheelBits
		here := int(w.now>>shift) & (wheelSlots - 1)
		if later := w.used[level] >> here << here; later != 0 {
			i := bits.TrailingZeros64(later)
			turn := w.now >> (shift + wheelBits) << (shift + wheelBits)
			return max(turn|uint64(i)<<shift, w.now), level*wheelSlots + i, true
		}
	}
	return 0, 0, false
}

// Due reads a clock, but only if a timer is set, and reports whether Advance must be called with that time.
func (w *Wheel[T, P]) Due(clock func() time.Duration) (now time.Duration, due bool) {
	at, ok := w.Next()
	if !ok {
		return 0, false
	}
	now = clock()
	return now, now >= at
}

// Advance moves time to now and calls fn for every record whose deadline has passed, in no particular order. The record's timer is
// then no longer set. fn may set and stop any timer, but must not advance the wheel. A timer that fn sets to a time in the past is
// due in the next Advance.
func (w *Wheel[T, P]) Advance(now time.Duration, fn func(P)) {
	end := uint64(max(now, 0) / wheelTick)
	for {
		tick, slot, ok := w.first()
		if !ok || tick > end {
			break
		}
		w.now = tick
		for w.slots[slot] != nil {
			t := w.slots[slot]
			w.take(t)
			if t.tick() > tick {
				w.put(t, t.tick()) // into a lower level
			} else {
				link(&w.expired, t)
			}
		}
	}
	w.now = max(w.now, end)
	for w.expired != nil {
		t := w.expired
		w.take(t)
		fn(t.of)
	}
}
