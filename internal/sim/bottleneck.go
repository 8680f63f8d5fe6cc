package sim

import "time"

// Rate describes a place that lets a limited number of bytes per second through.
type Rate struct {
	// BytesPerSecond is how fast bytes leave; 0 means at once.
	BytesPerSecond int
	// QueueBytes is how many bytes may wait; 0 means no limit. Packets without room
	// are dropped, and so are packets larger than the whole queue.
	QueueBytes int
}

// A Bottleneck is a place with a Rate and one queue, first in, first out: a port of
// a switch, or the wire behind a network card. Several links may share one, so that
// senders compete.
type Bottleneck struct {
	w       *World
	rate    Rate
	free    time.Duration // when the last byte of the queue leaves
	waiting []waiting     // oldest first
	queued  int           // bytes of those
	passed  uint64
	dropped uint64
}

// waiting is a packet in the queue.
type waiting struct {
	until time.Duration
	bytes int
}

// NewBottleneck makes a place with an empty queue.
func (w *World) NewBottleneck(r Rate) *Bottleneck { return &Bottleneck{w: w, rate: r} }

// SetRate changes the rate for later packets. Packets that wait leave at the time
// that Pass returned.
func (b *Bottleneck) SetRate(r Rate) { b.rate = r }

// Rate returns the rate of the place.
func (b *Bottleneck) Rate() Rate { return b.rate }

// Pass puts a packet into the queue and returns when its last byte leaves; ok is
// false if there was no room.
func (b *Bottleneck) Pass(bytes int) (at time.Duration, ok bool) {
	if queued := b.Queued(); b.rate.QueueBytes > 0 && queued+bytes > b.rate.QueueBytes {
		b.dropped++
		return 0, false
	}
	b.passed++
	b.free = max(b.free, b.w.now) + b.rate.Time(bytes)
	if b.free > b.w.now {
		b.waiting = append(b.waiting, waiting{b.free, bytes})
		b.queued += bytes
	}
	return b.free, true
}

// Delay is how long an empty packet would wait now.
func (b *Bottleneck) Delay() time.Duration { return max(b.free-b.w.now, 0) }

// Queued is the number of bytes of packets that have not left completely.
func (b *Bottleneck) Queued() int {
	gone := 0
	for ; gone < len(b.waiting) && b.waiting[gone].until <= b.w.now; gone++ {
		b.queued -= b.waiting[gone].bytes
	}
	b.waiting = b.waiting[gone:]
	return b.queued
}

// Counts are the packets that passed, and those dropped for lack of room.
func (b *Bottleneck) Counts() (passed, dropped uint64) { return b.passed, b.dropped }

// Time is the time for this many bytes.
func (r Rate) Time(bytes int) time.Duration {
	if r.BytesPerSecond <= 0 {
		return 0
	}
	return time.Duration(float64(bytes) / float64(r.BytesPerSecond) * float64(time.Second))
}
