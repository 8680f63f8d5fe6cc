package message

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// errFarewell is the reason if the other side ended a connection in an orderly way.
var errFarewell = fmt.Errorf("message: the remote side disconnected: %w", nic.ErrClosed)

// reasons are the consequences of a Reason on both sides: the status of the
// descriptor whose message was refused, and the errors for the owners.
var reasons = map[wire.Reason]struct {
	status nic.Status
	text   string
}{
	wire.ReasonProtocol:  {nic.StatusTransportError, "a segment broke the rules"},
	wire.ReasonNoReceive: {nic.StatusNoDescriptor, "a message came and no receive was posted"},
	wire.ReasonLength:    {nic.StatusLengthError, "a message was longer than its receive"},
	wire.ReasonMemory:    {nic.StatusProtectionError, "the memory of a receive is not registered any more"},
	wire.ReasonRDMA:      {nic.StatusRDMAError, "an RDMA write named memory that may not be written so"},
}

// breach ends a connection whose other side sent something that no correct one
// sends.
func (q *Queue) breach(what string) {
	q.stats.ProtocolErrors++
	q.err = fmt.Errorf("message: the remote side sent %s: %w", what, nic.ErrProtocol)
	q.say(q.next, wire.ReasonProtocol)
}

// refuse ends a reliable connection because the next message cannot take effect.
func (q *Queue) refuse(number uint32, reason wire.Reason) {
	q.err = fmt.Errorf("message: %s: %w", reasons[reason].text, nic.ErrProtocol)
	q.say(number, reason)
}

// say sends a farewell with a reason.
func (q *Queue) say(number uint32, reason wire.Reason) {
	q.broken = wire.Segment{Kind: wire.SegmentBye, HasImmediate: true, Number: number, Immediate: uint32(reason)}
	q.saySegment(q.broken)
}

func (q *Queue) saySegment(head wire.Segment) {
	w := q.pool.work(0)
	w.head = head
	q.saying++
	q.control.Add(w, &w.waits)
}

// farewellHead is the header of segments whose memory is gone.
func (q *Queue) farewellHead() wire.Segment {
	if q.broken.Kind != 0 {
		return q.broken
	}
	return wire.Segment{Kind: wire.SegmentBye, Number: q.cutOff}
}

// bye handles a farewell.
func (q *Queue) bye(s *wire.Segment) (taken bool) {
	if s.HasImmediate {
		q.byeBroken(s.Number, wire.Reason(s.Immediate))
		return true
	}
	switch ahead := int32(s.Number - q.next); {
	case ahead >= 2*WindowMessages:
		q.breach("a farewell far ahead")
		return false
	case q.farewell.known && q.farewell.number != s.Number:
		q.breach("two farewells that contradict each other")
		return false
	}
	q.farewell = peerBye{known: true, number: s.Number}
	q.advance()
	q.gone = true
	return true
}

// byeBroken handles the farewell of a side that had to end the connection: the
// messages before number took effect there.
func (q *Queue) byeBroken(number uint32, reason wire.Reason) {
	what, ok := reasons[reason]
	if !ok {
		what = reasons[wire.ReasonProtocol]
	}
	q.gone = true
	q.err = fmt.Errorf("message: the remote side ended the connection, %s: %w", what.text, nic.ErrProtocol)
	if int32(number-q.number) > 0 {
		return // not one of our numbers: it proves nothing
	}
	for w := q.order.First(); w != nil; w = w.order.Next() {
		read := w.head.Kind == wire.SegmentReadRequest
		switch before := int32(w.head.Number - number); {
		case read && w.status != nic.StatusPending: // answered earlier
		case before < 0 && !read:
			w.status, w.effective = nic.StatusSuccess, true
		case before == 0:
			if read {
				q.forgetRead(w)
			}
			w.status = what.status
		}
	}
}

func (q *Queue) forgetRead(w *work) {
	if q.read(w.head.Number) == w {
		q.reads.Remove(&w.reads)
	}
	q.forget(&w.cover)
}

// Leave ends the connection in an orderly way. Every descriptor comes back as with
// Flush. Sends that were already done are still sent, up to the first message whose
// memory must be returned, and a farewell follows. Next, Append and Acked are used
// until Left.
func (q *Queue) Leave() {
	if q.ended {
		return
	}
	if q.err != nil {
		q.Flush(nic.StatusFlushed)
		return
	}
	q.cutOff = q.number
	for w := q.unacked.First(); w != nil; w = w.unacked.Next() {
		if !w.copied && w.head.Kind != wire.SegmentReadRequest {
			q.cutOff = w.head.Number
			break
		}
	}
	q.flush(nic.StatusFlushed, q.cutOff)
	q.saySegment(q.farewellHead())
}

// Left reports whether nothing is left to send after Leave or Flush: the other side
// has received all of it, or has left as well.
func (q *Queue) Left() bool {
	return q.ended && (q.gone || q.unacked.Len() == 0 && q.saying == 0)
}

// Flush ends the connection. Every descriptor comes back, unfinished ones with
// status, sends before receives. Nothing new is sent except a farewell with the
// reason, if this side broke the connection. Retransmitted segments become
// farewells.
func (q *Queue) Flush(status nic.Status) {
	if q.ended {
		return
	}
	q.cutOff = q.number
	if w := q.unacked.First(); w != nil {
		q.cutOff = w.head.Number
	}
	q.flush(status, q.cutOff)
}

// flush flushes all descriptors, and continues to send only the messages before
// number until.
func (q *Queue) flush(status nic.Status, until uint32) {
	q.ended = true
	gap := false
	for w := q.order.Pop(); w != nil; w = q.order.Pop() {
		read := w.head.Kind == wire.SegmentReadRequest
		if read {
			q.forgetRead(w)
		}
		switch {
		case w.status == nic.StatusPending, gap && w.status == nic.StatusSuccess && !w.effective:
			// A message behind one that did not arrive never took effect.
			w.status, gap = status, true
		case w.status != nic.StatusSuccess && !(read && w.status == nic.StatusRDMAError):
			gap = true
		}
		q.release(w, w.status)
	}
	for q.recvs.count() > 0 {
		d := q.recvs.take()
		d.Data = nil
		q.giveBack(d, status, 0)
	}
	for i := range q.ring {
		q.drop(&q.ring[i])
	}
	q.ring = nil
	q.recvs.ring = nil
	q.abandon(until)
}

// abandon turns the cancelled messages into farewells.
func (q *Queue) abandon(until uint32) {
	var next *work
	for w := q.unacked.First(); w != nil; w = next {
		next = w.unacked.Next()
		if int32(w.head.Number-until) >= 0 {
			q.giveUp(w)
		}
	}
	for lane := range q.lanes {
		keep(&q.lanes[lane], func(w *work) bool { return !w.given })
		kept := q.cut[lane][:0]
		for _, s := range q.cut[lane] {
			if s.w.given || s.w.owed {
				s.w.inFlight--
			} else {
				kept = append(kept, s)
			}
		}
		q.cut[lane] = kept
	}
	keep(&q.answers, func(*work) bool { return false })
	keep(&q.control, func(w *work) bool { return !w.owed })
}

// giveUp cancels the sending of a message: its segments under way become farewells
// when they are retransmitted.
func (q *Queue) giveUp(w *work) {
	q.unacked.Remove(&w.unacked)
	w.given = true
	w.turn(q.farewellHead())
}
