package relay

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"time"
)

// A datagram waits for its time to be forwarded.
type datagram struct {
	due     time.Duration
	number  uint64 // breaks ties
	payload []byte
	send    func(p []byte) error
	metered int // bytes counted in the queue of the rate limit
}

// A direction treats datagrams as its Way says, and holds them until they are due.
type direction struct {
	mu       sync.Mutex
	way      Way
	cut      bool
	rng      *rand.Rand
	start    time.Time
	waiting  waiting
	number   uint64
	last     time.Duration // when the latest datagram in order is forwarded
	free     time.Duration // when the rate allows the next one
	metered  int           // bytes that wait because of the rate
	counters Counters
	news     chan struct{} // holds a token when the first of waiting may have changed
	end      chan struct{} // closed: stop
}

func newDirection(way Way, seed, stream uint64, end chan struct{}) *direction {
	way.setDefaults()
	return &direction{way: way, rng: rand.New(rand.NewPCG(seed, stream)), start: time.Now(), news: make(chan struct{}, 1), end: end}
}

func (d *direction) chance(p float64) bool { return p > 0 && d.rng.Float64() < p }

func (d *direction) upTo(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(d.rng.Int64N(int64(most) + 1))
}

// take decides how to treat a datagram, and keeps a copy of it; send will forward it.
func (d *direction) take(p []byte, send func(p []byte) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counters.Received++
	if d.cut || d.chance(d.way.Loss) {
		d.counters.Lost++
		return
	}
	copies := 1
	if d.chance(d.way.Duplicate) {
		d.counters.Duplicated++
		copies = 2
	}
	for range copies {
		d.one(append([]byte(nil), p...), send)
	}
}

func (d *direction) one(p []byte, send func(p []byte) error) {
	now := time.Since(d.start)
	if len(d.waiting) >= waitingMax {
		d.counters.Dropped++
		return
	}
	due, metered, ok := d.meter(now, len(p))
	if !ok {
		d.counters.Dropped++
		return
	}
	if len(p) > 0 && d.chance(d.way.Corrupt) {
		d.counters.Corrupted++
		p[d.rng.IntN(len(p))] ^= 1 << d.rng.IntN(8)
	}
	due += d.way.Delay + d.upTo(d.way.Jitter)
	if d.chance(d.way.Reorder) {
		d.counters.Reordered++
		due += d.upTo(d.way.ReorderMax)
	} else {
		due = max(due, d.last)
		d.last = due
	}
	d.number++
	heap.Push(&d.waiting, datagram{due: due, number: d.number, payload: p, send: send, metered: metered})
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// meter is the rate limit: it returns when this many bytes will have passed.
func (d *direction) meter(now time.Duration, bytes int) (at time.Duration, metered int, ok bool) {
	if d.way.BytesPerSecond <= 0 {
		return now, 0, true
	}
	if d.metered+bytes > d.way.QueueBytes {
		return 0, 0, false
	}
	d.metered += bytes
	d.free = max(d.free, now) + time.Duration(float64(bytes)/float64(d.way.BytesPerSecond)*float64(time.Second))
	return d.free, bytes, true
}

// due takes the first datagram whose time has come. If there is none, wait is the
// time until then, or < 0.
func (d *direction) due() (g datagram, wait time.Duration, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 {
		return datagram{}, -1, false
	}
	if wait = d.waiting[0].due - time.Since(d.start); wait > 0 {
		return datagram{}, wait, false
	}
	g = heap.Pop(&d.waiting).(datagram)
	d.metered -= g.metered
	if d.cut {
		d.counters.Lost++
		return datagram{}, 0, false
	}
	return g, 0, true
}

// run forwards due datagrams until the end.
func (d *direction) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		g, wait, ok := d.due()
		if ok {
			d.sent(g.send(g.payload))
			continue
		}
		if wait == 0 {
			continue
		}
		if wait < 0 {
			wait = time.Hour
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-d.news:
		case <-d.end:
			return
		}
	}
}

func (d *direction) sent(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.counters.Refused++
		return
	}
	d.counters.Sent++
}

// waiting is a heap by time, then by order of arrival.
type waiting []datagram

func (q waiting) Len() int { return len(q) }
func (q waiting) Less(i, j int) bool {
	if q[i].due != q[j].due {
		return q[i].due < q[j].due
	}
	return q[i].number < q[j].number
}
func (q waiting) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *waiting) Push(x any)   { *q = append(*q, x.(datagram)) }
func (q *waiting) Pop() any {
	old := *q
	g := old[len(old)-1]
	old[len(old)-1] = datagram{}
	*q = old[:len(old)-1]
	return g
}
