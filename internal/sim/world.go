package sim

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Limits of a run; the first two are defaults of Options.
const (
	// TimeMax bounds a run in virtual time: far more than any of our protocols
	// needs to recover.
	TimeMax = 10 * time.Minute
	// StepsMax bounds a run in events.
	StepsMax = 5_000_000
	// IdlePollsMax is how often RunUntil calls done again when no event is left.
	IdlePollsMax = 1000
)

// ErrNotLive says that a run ended before its condition was met: the world ran
// out of events, of time or of steps.
var ErrNotLive = errors.New("sim: the run is not live")

// Options describe a world. The zero value is a world without faults.
type Options struct {
	// Seed determines all random decisions.
	Seed uint64
	// Link describes every link without options of its own from SetLink.
	Link LinkOptions
	// TimeMax is the virtual time after which a run counts as not live; 0 means
	// the package's TimeMax.
	TimeMax time.Duration
	// StepsMax is the number of events after which a run counts as not
	// live; 0 means the package's StepsMax.
	StepsMax int
}

// A World holds virtual time, the future events, the links and the generator.
type World struct {
	opts  Options
	rng   *rand.Rand
	now   time.Duration
	seq   uint64
	steps int
	queue eventQueue
	links map[linkKey]*Link
	cuts  map[linkKey]bool
}

// New makes a world at time zero.
func New(opts Options) *World {
	if opts.TimeMax == 0 {
		opts.TimeMax = TimeMax
	}
	if opts.StepsMax == 0 {
		opts.StepsMax = StepsMax
	}
	return &World{
		opts:  opts,
		rng:   rand.New(rand.NewPCG(opts.Seed, 0x5eed_0f_51_a_0001)),
		links: make(map[linkKey]*Link),
		cuts:  make(map[linkKey]bool),
	}
}

// Seed is the world's seed, for messages.
func (w *World) Seed() uint64 { return w.opts.Seed }

// Now is the virtual time since the world began.
func (w *World) Now() time.Duration { return w.now }

// Rand is the world's generator. Every draw changes all later ones.
func (w *World) Rand() *rand.Rand { return w.rng }

// Chance draws true with probability p.
func (w *World) Chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// Between draws a duration from [lo, hi]; lo when hi is not larger.
func (w *World) Between(lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(w.rng.Int64N(int64(hi-lo)+1))
}

// An Event is a function that will run once.
type Event struct {
	at    time.Duration
	seq   uint64
	fn    func()
	index int // position in the queue; -1 if it is not in the queue
}

// At makes fn run at time t, or now if t has passed. Events with the same time
// run in the order in which they were made.
func (w *World) At(t time.Duration, fn func()) *Event {
	if t < w.now {
		t = w.now
	}
	w.seq++
	e := &Event{at: t, seq: w.seq, fn: fn}
	heap.Push(&w.queue, e)
	return e
}

// After is At, relative to now.
func (w *World) After(d time.Duration, fn func()) *Event { return w.At(w.now+d, fn) }

// Cancel cancels an event. Cancelling one that has run, or nil, does nothing.
func (w *World) Cancel(e *Event) {
	if e != nil && e.index >= 0 {
		heap.Remove(&w.queue, e.index)
	}
}

// Next returns when the next event runs; ok is false if there is none.
func (w *World) Next() (at time.Duration, ok bool) {
	if len(w.queue) == 0 {
		return 0, false
	}
	return w.queue[0].at, true
}

// Step advances time to the next event and runs it. It reports false if no event
// is left.
func (w *World) Step() bool {
	if len(w.queue) == 0 {
		return false
	}
	e := heap.Pop(&w.queue).(*Event)
	w.now = e.at
	w.steps++
	e.fn()
	return true
}

// AdvanceTo runs every event up to time t and leaves the clock there.
func (w *World) AdvanceTo(t time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= t {
		w.Step()
	}
	if t > w.now {
		w.now = t
	}
}

// RunFor is AdvanceTo, relative to now.
func (w *World) RunFor(d time.Duration) { w.AdvanceTo(w.now + d) }

// RunUntil calls done and runs an event, alternately, until done reports true.
// done must also poll everything that needs polling. RunUntil returns ErrNotLive,
// with the seed and the progress, if no event is left or a limit is reached.
func (w *World) RunUntil(done func() bool) error {
	for idle := 0; ; {
		if done() {
			return nil
		}
		if err := w.live(); err != nil {
			return err
		}
		// Polling may still change something when no event is left.
		if w.Step() {
			idle = 0
		} else if idle++; idle > IdlePollsMax {
			return fmt.Errorf("%w: nothing is left to happen at %v after %d events (seed %d)",
				ErrNotLive, w.now, w.steps, w.opts.Seed)
		}
	}
}

// RunUntilIdle runs all events, calling poll between them, until no event is
// left. It returns ErrNotLive at a limit.
func (w *World) RunUntilIdle(poll func()) error {
	for {
		poll()
		if err := w.live(); err != nil {
			return err
		}
		if !w.Step() {
			poll()
			if len(w.queue) == 0 {
				return nil
			}
		}
	}
}

func (w *World) live() error {
	if w.now > w.opts.TimeMax || w.steps > w.opts.StepsMax {
		return fmt.Errorf("%w: gave up at %v after %d events (seed %d)", ErrNotLive, w.now, w.steps, w.opts.Seed)
	}
	return nil
}

// eventQueue is a heap by time, then by order of creation.
type eventQueue []*Event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *eventQueue) Push(x any) {
	e := x.(*Event)
	e.index = len(*q)
	*q = append(*q, e)
}
func (q *eventQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	e.index = -1
	return e
}
