package bmi

import (
	"cmp"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/progress"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// unexpectedQueue holds the unexpected messages that have arrived and not been
// taken, in order of arrival over all classes and within each class.
type unexpectedQueue struct {
	mu          sync.Mutex
	messagesMax int
	bytesMax    int

	all         queue.List[unexpectedItem]
	classes     [256]queue.List[unexpectedItem]
	registering [256]*func(Message) // by Handle calls that are running

	messages, bytes int  // queued; messages ≤ messagesMax, and bytes ≤ bytesMax if messages > 1
	wasFull         bool // a method holds a refused message
	refused         uint64
	handled         uint64 // given to a handler by Handle

	pool   [poolSizes]*unexpectedItem
	pooled int // bytes in the pool
	waits  progress.List
}

type unexpectedItem struct {
	queue      *unexpectedQueue
	links      queue.Links[unexpectedItem] // in unexpectedQueue.all
	classLinks queue.Links[unexpectedItem] // in the list of its class
	free       *unexpectedItem             // in the pool
	from       Addr
	class      Class
	tag        Tag
	data       []byte
	pool       int8   // which pool it came from; < 0: none, it is too large
	gen        uint64 // changes whenever the item is freed
}

func (q *unexpectedQueue) init(l Limits) {
	q.messagesMax, q.bytesMax = l.UnexpectedMessages, l.UnexpectedBytes
}

// limits returns the limits.
func (q *unexpectedQueue) limits() (messages, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.messagesMax, q.bytesMax
}

// setLimits changes the limits that are not 0.
func (q *unexpectedQueue) setLimits(messages, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messagesMax, q.bytesMax = cmp.Or(messages, q.messagesMax), cmp.Or(bytes, q.bytesMax)
}

func (q *unexpectedQueue) putLocked(from Addr, class Class, tag Tag, data []byte) bool {
	if q.messages > 0 && (q.messages >= q.messagesMax || q.bytes+len(data) > q.bytesMax) {
		q.refused++
		q.wasFull = true
		return false
	}
	item := q.allocLocked(len(data))
	item.from, item.class, item.tag = from, class, tag
	copy(item.data, data)

	q.all.Add(item, &item.links)
	q.classes[class].Add(item, &item.classLinks)
	q.messages++
	q.bytes += len(data)
	return true
}

func (q *unexpectedQueue) removeLocked(item *unexpectedItem) {
	q.all.Remove(&item.links)
	q.classes[item.class].Remove(&item.classLinks)
	q.messages--
	q.bytes -= len(item.data)
}

// discard removes the messages of a dropped peer.
func (q *unexpectedQueue) discard(a Addr) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for item := q.all.First(); item != nil; {
		next := item.links.Next()
		if item.from == a {
			q.removeLocked(item)
			q.freeLocked(item)
		}
		item = next
	}
}

// roomAgain reports whether a message was refused since the last call. The caller
// has just made room.
func (q *unexpectedQueue) roomAgain() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.wasFull
	q.wasFull = false
	return was
}

func (q *unexpectedQueue) release(item *unexpectedItem, gen uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if item.gen == gen {
		q.freeLocked(item)
	}
}

func (q *unexpectedQueue) stats(s *EndpointStats) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.QueuedUnexpected, s.QueuedUnexpectedBytes = q.messages, q.bytes
	s.RefusedUnexpected = q.refused
	s.HandlerCalls += q.handled
}

// Buffers are pooled by size: 256 B, 1 KiB, 4 KiB, … 1 MiB. Larger buffers, and
// those beyond poolBytesMax, are left to the garbage collector.
const (
	poolSizes    = 7
	poolMinBytes = 256
	poolBytesMax = 4 << 20
)

func (q *unexpectedQueue) allocLocked(size int) *unexpectedItem {
	i, room := 0, poolMinBytes
	for i < poolSizes && room < size {
		i, room = i+1, room*4
	}
	if i == poolSizes {
		return &unexpectedItem{queue: q, pool: -1, data: make([]byte, size)}
	}
	item := q.pool[i]
	if item == nil {
		item = &unexpectedItem{queue: q, pool: int8(i), data: make([]byte, room)}
	} else {
		q.pool[i], item.free = item.free, nil
		q.pooled -= room
	}
	item.data = item.data[:size]
	return item
}

func (q *unexpectedQueue) freeLocked(item *unexpectedItem) {
	item.gen++
	item.from = Addr{}
	if item.pool < 0 || q.pooled+cap(item.data) > poolBytesMax {
		return
	}
	q.pooled += cap(item.data)
	item.free, q.pool[item.pool] = q.pool[item.pool], item
}
