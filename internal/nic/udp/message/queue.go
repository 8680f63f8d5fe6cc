package message

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Memory is the registered memory that a connection may use. The Queue asks for
// each segment, and keeps no result beyond the call in which it asked. Pieces
// returned by Append, however, are used until they are sent.
type Memory interface {
	// Covers reports whether local memory of a descriptor is registered so that the
	// port may use it. It is called for segments with a Handle.
	Covers(s nic.Segment) bool
	// Writable and Readable return the n bytes at an address that the other side
	// names, if it may write or read all of them. The arguments come from the
	// network: n is not negative, but may be as large as 32 bits allow.
	Writable(addr uint64, h nic.Handle, n int) (mem []byte, ok bool)
	Readable(addr uint64, h nic.Handle, n int) (mem []byte, ok bool)
}

// Buffers lends device memory for messages that come in several segments to a
// receive with nic.FlagLoan and without its own room.
type Buffers interface {
	// Take lends n bytes, with one hold on them. It reports false if there are none
	// now; the segment is then not taken, and will be sent again.
	Take(n int) (mem []byte, loan Loan, ok bool)
}

// A Loan is a device buffer with a message. The buffer is free again when each hold
// on it has been freed.
type Loan interface {
	// Hold keeps the buffer until one more Free.
	Hold()
	Free()
}

// Config configures a Queue.
type Config struct {
	// Attrs are the port's. Only Reliability and the depths are used; the depths
	// must be above 0.
	Attrs  nic.PortAttrs
	Limits Limits
	Memory Memory
	// Buffers may be nil: a message that does not fit into its receive is then lent
	// only if it came in one segment.
	Buffers Buffers
	// Pool is shared by the Queues of one owner; nil gives the Queue its own.
	Pool *Pool
}

// Stats are counts since a Queue was made.
type Stats struct {
	Sent, Received           uint64 // messages: taken from PostSend, and taken effect here
	SentBytes, ReceivedBytes uint64 // payload of those
	Refused                  uint64 // segments not taken, because there was no room or no receive
	Stale                    uint64 // segments that had arrived before, or that are no longer needed
	Dropped                  uint64 // messages of the unreliable level that could not be delivered
	ProtocolErrors           uint64 // rules that the other side broke
}

// A Queue is one side of a connection: a send queue, a receive queue, and the
// messages of both that are under way.
type Queue struct {
	attrs   nic.PortAttrs
	limits  Limits
	memory  Memory
	buffers Buffers
	pool    *Pool
	stats   Stats

	err   error // why the connection is over; the owner flushes then
	ended bool  // flushed
	gone  bool  // the other side said farewell

	// Sending.
	number   uint32                  // of the next message
	takes    uint32                  // receives that the messages so far take
	posted   int                     // descriptors of the send queue not returned
	copies   int                     // copied sends not acknowledged
	copied   int                     // bytes of memory of the large ones of those
	lanes    [Lanes]queue.List[work] // not completely described, in order
	control  queue.List[work]        // refusals and farewells, before everything else
	answers  queue.List[work]        // to reads, beside the data lane's messages
	answered bool                    // the data lane's latest segment was part of an answer
	cut      [Lanes][]Segment
	unacked  queue.List[work] // messages not acknowledged, by number
	order    queue.List[work] // descriptors not returned, by number
	reads    queue.List[work] // reads that wait for data
	owing    int              // answers not acknowledged; ≤ AnswersMax
	saying   int              // control segments not acknowledged

	// Receiving.
	next    uint32 // number of the oldest message that has not taken effect
	ring    []inbound
	ahead   int // slots of the ring in use
	islands int // in use; ≤ IslandsMax
	recvs   recvRing
	loans   loanList

	farewell peerBye
	cutOff   uint32       // number of our own orderly farewell
	broken   wire.Segment // our own farewell with a reason, if any

	doneHead, doneTail *nic.Descriptor
}

// New makes the Queue of a new connection. Receives may be posted at once.
func New(cfg Config) *Queue {
	l := cfg.Limits
	if cfg.Memory == nil || cfg.Attrs.RecvDepth <= 0 || cfg.Attrs.SendDepth <= 0 ||
		l.InlineBytesMax > nic.InlineMax || l.CopyBytes > l.MTUBytes {
		panic(fmt.Sprintf("message: a queue cannot be made with %+v", cfg))
	}
	if cfg.Pool == nil {
		cfg.Pool = NewPool()
	}
	return &Queue{attrs: cfg.Attrs, limits: l, memory: cfg.Memory, buffers: cfg.Buffers, pool: cfg.Pool}
}

// Err is the reason why the connection is over: the other side sent a farewell,
// could not take a message, sent one that this side could not take, or broke the
// rules. The owner must check it after a batch of Arrived and Acked, and call Flush
// if it is not nil.
func (q *Queue) Err() error { return q.err }

// Stats returns the counts so far.
func (q *Queue) Stats() Stats { return q.stats }

// Completed returns the next descriptor that came back, or nil, in the order of
// their posts, per queue. Its Op tells to which queue it was posted.
func (q *Queue) Completed() *nic.Descriptor {
	d := q.doneHead
	if d != nil {
		if q.doneHead = d.Next; q.doneHead == nil {
			q.doneTail = nil
		}
		d.Next = nil
	}
	return d
}

// giveBack returns a descriptor.
func (q *Queue) giveBack(d *nic.Descriptor, status nic.Status, length int) {
	d.Status, d.Length, d.Next = status, length, nil
	if q.doneTail == nil {
		q.doneHead = d
	} else {
		q.doneTail.Next = d
	}
	q.doneTail = d
}

// Idle frees memory that only traffic needs. The owner calls it for a connection
// that has been idle for a while.
func (q *Queue) Idle() {
	if q.ahead == 0 {
		q.ring = nil
	}
	q.recvs.shrink()
	if q.loans.count() == 0 {
		q.loans = loanList{}
	}
	for lane := range q.cut {
		if len(q.cut[lane]) == 0 {
			q.cut[lane] = nil
		}
	}
}

// Close takes back all loans: the port is closed. The Queue must have been flushed,
// or never joined to a connection.
func (q *Queue) Close() {
	if !q.ended {
		q.Flush(nic.StatusFlushed)
	}
	for _, lent := range q.loans.all[q.loans.head:] {
		lent.loan.Free()
	}
	q.loans = loanList{}
}

// A peerBye is an orderly farewell of the other side.
type peerBye struct {
	known  bool
	number uint32 // messages before it still count
}

// takesReceive reports whether a message with this header takes a receive.
func takesReceive(s *wire.Segment) bool {
	return s.Kind == wire.SegmentSend || s.Kind == wire.SegmentWrite && s.HasImmediate
}
