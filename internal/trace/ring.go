package trace

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Track is a producer of events, and a line of the display. Put may be called by one goroutine at a time; Share by any.
type Track struct {
	t    *Trace
	tid  int
	size uint64 // a power of two; 0: there is no ring

	_     [64]byte // the producer's fields share no cache line with those above, nor with head
	tail  atomic.Uint64
	seen  uint64 // head, as the producer last saw it
	ids   uint64
	lost  atomic.Uint64 // events that found the ring full
	_     [64]byte
	head  atomic.Uint64 // head ≤ tail ≤ head + size
	_     [64]byte
	ring  []Event
	share sync.Mutex
	told  uint64 // of lost, in the file; guarded by Trace.writing
	ended atomic.Bool
}

// spare is the part of a ring that only ends of things that have begun may use: one in so many events.
const spare = 4

// NewTrack makes a Track with room for a number of events, which is rounded up to a power of two; 0 means the default. If too many
// Tracks exist, its events are dropped and counted.
func (t *Trace) NewTrack(name string, events int) *Track {
	if events <= 0 {
		events = trackEvents
	}
	k := &Track{t: t, size: 1}
	for k.size < uint64(events) {
		k.size *= 2
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.tracks) == tracksMax {
		return &t.refusing
	}
	k.ring = make([]Event, k.size)
	t.tracks = append(t.tracks, k)
	t.lastTID++
	k.tid = t.lastTID
	t.metaLocked("thread_name", k.tid, "name", name)
	return k
}

// Now is the time of the trace, for events.
func (k *Track) Now() time.Duration { return k.t.clock() }

// NextID is an ID that no other event of the process has. The producer calls it.
func (k *Track) NextID() uint64 {
	if k.size == 0 {
		return 0
	}
	k.ids++
	return uint64(k.tid)<<trackShift | k.ids
}

// trackShift is where the number of the Track begins in an ID.
const trackShift = 40

// Put adds an event. It reports false if the ring is full and the event was dropped. A quarter of the ring takes only events of
// the phase End, because an end without its beginning, and a beginning without its end, would mislead.
func (k *Track) Put(e *Event) bool {
	tail := k.tail.Load()
	room := k.size
	if e.Phase != End {
		room -= room / spare
	}
	if tail-k.seen >= room {
		if k.size == 0 {
			k.lost.Add(1)
			return false
		}
		if k.seen = k.head.Load(); tail-k.seen >= room {
			k.lost.Add(1)
			return false
		}
	}
	k.ring[tail&(k.size-1)] = *e
	k.tail.Store(tail + 1)
	if tail-k.seen == k.size/2 {
		k.t.hurry()
	}
	return true
}

// Close ends the Track, whose producer puts nothing more. What is in the ring is still written.
func (k *Track) Close() { k.ended.Store(true) }

// Share is Put for Tracks with several producers.
func (k *Track) Share(e *Event) bool {
	k.share.Lock()
	defer k.share.Unlock()
	return k.Put(e)
}

// ShareID is NextID for Tracks with several producers.
func (k *Track) ShareID() uint64 {
	k.share.Lock()
	defer k.share.Unlock()
	return k.NextID()
}

// drain appends the text of some events of the ring to b, none beyond until. Trace.writing is held.
func (k *Track) drain(b []byte, until uint64) []byte {
	head := k.head.Load()
	for n := 0; head != until && n < drainEvents; n++ {
		b = k.t.appendEvent(b, k.tid, &k.ring[head&(k.size-1)])
		head++
	}
	k.head.Store(head)
	return b
}
