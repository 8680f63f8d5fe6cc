package bmi

import "sync"

// unexpectedQueue holds the unexpected messages that have arrived and not been
// taken, in order of arrival over all classes and within each class.
type unexpectedQueue struct {
	mu          sync.Mutex
	messagesMax int
	bytesMax    int

	first, last *unexpectedItem
	classes     [256]struct{ first, last *unexpectedItem }
	registering [256]*func(Message) // by Handle calls that are running

	messages, bytes int  // queued; messages ≤ messagesMax, and bytes ≤ bytesMax if messages > 1
	wasFull         bool // a method holds a refused message
	refused         uint64
	handled         uint64 // given to a handler by Handle

	pool   [poolSizes]*unexpectedItem
	pooled int // bytes in the pool
	waits  waitList
}

type unexpectedItem struct {
	queue                *unexpectedQueue
	next, prev           *unexpectedItem // in arrival order; next also in the pool
	nextClass, prevClass *unexpectedItem
	from                 Addr
	class                Class
	tag                  Tag
	data                 []byte
	pool                 int8   // which pool it came from; < 0: none, it is too large
	gen                  uint64 // changes whenever the item is freed
}

func (q *unexpectedQueue) init(l Limits) {
	q.messagesMax, q.bytesMax = l.UnexpectedMessages, l.UnexpectedBytes
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

	c := &q.classes[class]
	item.prev, item.prevClass = q.last, c.last
	if q.last == nil {
		q.first = item
	} else {
		q.last.next = item
	}
	if c.last == nil {
		c.first = item
	} else {
		c.last.nextClass = item
	}
	q.last, c.last = item, item
	q.messages++
	q.bytes += len(data)
	return true
}

func (q *unexpectedQueue) removeLocked(item *unexpectedItem) {
	c := &q.classes[item.class]
	if item.prev == nil {
		q.first = item.next
	} else {
		item.prev.next = item.next
	}
	if item.next == nil {
		q.last = item.prev
	} else {
		item.next.prev = item.prev
	}
	if item.prevClass == nil {
		c.first = item.nextClass
	} else {
		item.prevClass.nextClass = item.nextClass
	}
	if item.nextClass == nil {
		c.last = item.prevClass
	} else {
		item.nextClass.prevClass = item.prevClass
	}
	item.next, item.prev, item.nextClass, item.prevClass = nil, nil, nil, nil
	q.messages--
	q.bytes -= len(item.data)
}

// discard removes the messages of a dropped peer.
func (q *unexpectedQueue) discard(a Addr) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for item := q.first; item != nil; {
		next := item.next
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
		q.pool[i], item.next = item.next, nil
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
	item.next, q.pool[item.pool] = q.pool[item.pool], item
}
