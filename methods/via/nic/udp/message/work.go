package message

import (
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// A work is one outgoing message: a posted descriptor, an answer to a read or a
// control message. It lives until its descriptor has been returned and each of its
// segments is acknowledged.
//
//	posted ──Next…──► described ──Acked…──► acked
//
// If the memory of a work is gone before its segments have arrived, the work turns
// into a refusal or a farewell, and its segments carry that when they are
// retransmitted.
type work struct {
	head wire.Segment    // of its segments, except for the Offset
	d    *nic.Descriptor // nil: copied, an answer, control, or already returned
	lane uint8

	begun     bool   // its first segment was described
	ours      bool   // it has a number of this side, and is in the list unacked until acked
	owed      bool   // it answers the other side
	copied    bool   // its data is in room
	acked     bool   // all of it
	effective bool   // the other side's farewell confirmed its effect
	given     bool   // cancelled when the connection ended: it is not in unacked
	described uint32 // bytes; ≤ head.Total
	inFlight  int32  // segments described and not acknowledged
	status    nic.Status
	cover     cover // of a read: the bytes that have arrived
	room      []byte

	next         *work // in the list of its lane, or of free works
	older, newer *work // in unacked
	after        *work // in order
	nextRead     *work
}

// whole reports whether all of a work has been described.
func (w *work) whole() bool { return w.begun && w.described == w.head.Total }

// left is how many bytes of data the segments not yet described have.
func (w *work) left() int {
	if w.head.Kind == wire.SegmentReadRequest {
		return 0
	}
	return int(w.head.Total - w.described)
}

// turn replaces the message of a work whose memory is gone.
func (w *work) turn(head wire.Segment) {
	w.head, w.described, w.begun = head, 0, true
}

// A workList is a queue of works, linked by next.
type workList struct{ head, tail *work }

func (l *workList) append(w *work) {
	w.next = nil
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
}

func (l *workList) pop() *work {
	w := l.head
	if l.head = w.next; l.head == nil {
		l.tail = nil
	}
	w.next = nil
	return w
}

// keep removes the works for which stays is false.
func (l *workList) keep(stays func(*work) bool) {
	w := l.head
	*l = workList{}
	for w != nil {
		next := w.next
		w.next = nil
		if stays(w) {
			l.append(w)
		}
		w = next
	}
}

// An unackedList holds messages by their numbers.
type unackedList struct{ head, tail *work }

func (l *unackedList) append(w *work) {
	w.older, w.newer = l.tail, nil
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.newer = w
	}
	l.tail = w
}

func (l *unackedList) remove(w *work) {
	if w.older == nil {
		l.head = w.newer
	} else {
		w.older.newer = w.newer
	}
	if w.newer == nil {
		l.tail = w.older
	} else {
		w.newer.older = w.older
	}
	w.older, w.newer = nil, nil
}

// An orderList holds the works whose descriptors must be returned, in order.
type orderList struct{ head, tail *work }

func (l *orderList) append(w *work) {
	w.after = nil
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.after = w
	}
	l.tail = w
}

func (l *orderList) pop() *work {
	w := l.head
	if l.head = w.after; l.head == nil {
		l.tail = nil
	}
	w.after = nil
	return w
}

// A readList holds the reads that wait for data, oldest first. They are answered in
// that order, so the head is nearly always the one that is needed.
type readList struct{ head, tail *work }

func (l *readList) append(w *work) {
	w.nextRead = nil
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.nextRead = w
	}
	l.tail = w
}

// find returns the read with a number, and the one before it for remove.
func (l *readList) find(number uint32) (before, w *work) {
	for w = l.head; w != nil && w.head.Number != number; w = w.nextRead {
		before = w
	}
	return before, w
}

func (l *readList) remove(before, w *work) {
	if before == nil {
		l.head = w.nextRead
	} else {
		before.nextRead = w.nextRead
	}
	if l.tail == w {
		l.tail = before
	}
	w.nextRead = nil
}

// A Pool recycles records of the Queues of one owner, so that a message needs no
// allocation.
type Pool struct {
	works          [roomKinds]freeWorks
	islands        *island
	islandsWaiting int
}

// NewPool makes an empty Pool.
func NewPool() *Pool { return &Pool{} }

// work returns a work with room bytes of memory for a copy: 0, smallCopy, or one
// larger number, which is the same in all calls.
func (p *Pool) work(room int) *work {
	free := &p.works[roomKind(room)]
	w := free.head
	if w == nil {
		w = &work{}
	} else {
		free.head, w.next = w.next, nil
		free.n--
	}
	if cap(w.room) < room {
		w.room = make([]byte, 0, room)
	}
	return w
}

func (p *Pool) freeWork(w *work) {
	room := w.room[:0]
	*w = work{room: room}
	kind := roomKind(cap(room))
	limit := freeWorksMax
	if kind == roomLarge {
		limit = freeLargeMax
	}
	if free := &p.works[kind]; free.n < limit {
		free.head, w.next = w, free.head
		free.n++
	}
}

// freeWorks are works of one kind, linked by next.
type freeWorks struct {
	head *work
	n    int
}

// Kinds of works, by their room for a copy.
const (
	roomNone = iota
	roomSmall
	roomLarge
	roomKinds
)

func roomKind(bytes int) int {
	switch {
	case bytes == 0:
		return roomNone
	case bytes <= smallCopy:
		return roomSmall
	default:
		return roomLarge
	}
}
