package message

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
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

	waits   queue.Links[work] // in the list of its lane, in control or in answers
	unacked queue.Links[work]
	order   queue.Links[work]
	reads   queue.Links[work]
	free    *work // the next one in the Pool
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

// keep removes the works for which stays is false from a list that works wait in.
func keep(l *queue.List[work], stays func(*work) bool) {
	var next *work
	for w := l.First(); w != nil; w = next {
		if next = w.waits.Next(); !stays(w) {
			l.Remove(&w.waits)
		}
	}
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
		free.head, w.free = w.free, nil
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
		free.head, w.free = w, free.head
		free.n++
	}
}

// freeWorks are works of one kind, linked by free.
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
