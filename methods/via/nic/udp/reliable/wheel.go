package reliable

import (
	"math/bits"
	"time"
)

// The wheel's shape: slots per level, and levels. A slot of level 0 is one tick, a
// slot of each further level a whole turn of the level below.
const (
	wheelTick   = 16 * time.Microsecond
	wheelBits   = 6
	wheelSlots  = 1 << wheelBits
	wheelLevels = 9 // reach further than a time.Duration
)

// A Timer is one deadline in a Wheel. It is embedded in the waiting record, to
// which Owner points. The zero value with an Owner is a timer that is not set.
type Timer[T any] struct {
	Owner *T
	next  *Timer[T]
	back  **Timer[T] // the pointer to this timer; nil if the timer is not set
	tick  uint64     // when it is due, rounded up
	slot  uint16     // level * wheelSlots + slot
}

// A Wheel holds the deadlines of any number of records: setting, stopping and
// expiring one takes constant time and no memory. Deadlines have a resolution of 16
// µs and never expire early. The zero value is an empty wheel at time 0.
type Wheel[T any] struct {
	now   uint64              // ticks; every earlier timer has expired
	used  [wheelLevels]uint64 // which slots hold timers
	slots [wheelLevels * wheelSlots]*Timer[T]
	due   *Timer[T] // found by Advance, while it runs
}

// ticks is a time in ticks, rounded up.
func ticks(at time.Duration) uint64 {
	n := uint64(max(at, 0))
	return (n + uint64(wheelTick) - 1) / uint64(wheelTick)
}

// Set sets a timer, replacing an earlier deadline. A deadline in the past is due at
// the next Advance that moves time by a tick; Next then returns it at once.
func (w *Wheel[T]) Set(t *Timer[T], at time.Duration) {
	w.Stop(t)
	t.tick = max(ticks(at), w.now)
	w.put(t)
}

// Stop takes a timer out; one that is not set stays so.
func (w *Wheel[T]) Stop(t *Timer[T]) {
	if t.back != nil {
		w.take(t)
	}
}

// put links a timer into its slot, relative to now: its level is that of the
// highest digit in which its time differs from now.
func (w *Wheel[T]) put(t *Timer[T]) {
	level := 0
	if differ := t.tick ^ w.now; differ != 0 {
		level = (bits.Len64(differ) - 1) / wheelBits
	}
	slot := int(t.tick>>(level*wheelBits)) & (wheelSlots - 1)
	w.used[level] |= 1 << slot
	t.slot = uint16(level*wheelSlots + slot)
	link(&w.slots[t.slot], t)
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
func (w *Wheel[T]) take(t *Timer[T]) {
	*t.back = t.next
	if t.next != nil {
		t.next.back = t.back
	}
	t.next, t.back = nil, nil
	if w.slots[t.slot] == nil {
		w.used[t.slot/wheelSlots] &^= 1 << (t.slot % wheelSlots)
	}
}

// Next is when Advance must be called; ok is false if no timer is set. It is not
// later than the first deadline, rounded up to a tick. It may be sooner, because
// distant timers are moved to finer levels as they come near.
func (w *Wheel[T]) Next() (at time.Duration, ok bool) {
	tick, _, ok := w.first()
	return time.Duration(tick) * wheelTick, ok
}

// first is the earliest slot that holds timers: its start and its index. A level's
// timers are all due before those of the level above it.
func (w *Wheel[T]) first() (tick uint64, slot int, ok bool) {
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

// Advance moves time to now and calls fn for the owner of every due timer, in no
// particular order. The timer is then no longer set. fn may set and stop any timer,
// but must not advance the wheel. A timer that fn sets to a time in the past is due
// in the next Advance.
func (w *Wheel[T]) Advance(now time.Duration, fn func(*T)) {
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
			if t.tick > tick {
				w.put(t) // into a lower level
			} else {
				link(&w.due, t)
			}
		}
	}
	w.now = max(w.now, end)
	for w.due != nil {
		t := w.due
		w.Stop(t)
		fn(t.Owner)
	}
}
