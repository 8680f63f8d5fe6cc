package message

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Arrived takes a segment from wire.ParseSegment that the transport has not seen
// before. If it is not taken, because there is no room or its receive is not posted
// yet, it must not be acknowledged, and will be sent again. err is Err: the
// connection is over, and the owner must flush it.
//
// data is read within the call, unless loan is not nil. In that case data is in a
// device buffer, and a receive with nic.FlagLoan may complete with a view of it.
// The Queue then holds the loan.
func (q *Queue) Arrived(s *wire.Segment, data []byte, loan Loan) (taken bool, err error) {
	if q.ended || q.err != nil {
		return q.arrivedLate(s), q.err
	}
	switch s.Kind {
	case wire.SegmentReadData:
		taken = q.readData(s, data)
	case wire.SegmentReadRefused:
		taken = q.readRefused(s)
	case wire.SegmentBye:
		taken = q.bye(s)
	default:
		taken = q.message(s, data, loan)
	}
	return taken, q.err
}

// arrivedLate handles a segment for a connection that is over. Messages are not
// taken, so that their sender does not believe that they were delivered.
func (q *Queue) arrivedLate(s *wire.Segment) (taken bool) {
	switch s.Kind {
	case wire.SegmentBye:
		q.gone = true
	case wire.SegmentReadData, wire.SegmentReadRefused:
	default:
		return false
	}
	return true
}

// message handles a segment of a send, a write or a read request.
func (q *Queue) message(s *wire.Segment, data []byte, loan Loan) (taken bool) {
	ahead := s.Number - q.next
	switch {
	case int32(ahead) < 0:
		q.stats.Stale++
		return true
	case ahead >= 2*WindowMessages:
		// The sender may have one window of messages under way. A second window may have arrived
		// here, be acknowledged, and still wait for its turn.
		q.breach("a message number far ahead")
		return false
	case ahead >= WindowMessages:
		q.stats.Refused++
		return false
	case q.farewell.known && int32(s.Number-q.farewell.number) >= 0:
		q.stats.Stale++ // its sender has cancelled it
		return true
	}
	if m := q.place(s.Number); m != nil {
		taken = q.more(m, s, data)
	} else {
		taken = q.first(s, data, loan, ahead)
	}
	if !taken {
		q.stats.Refused++
	}
	return taken
}

// first handles the segment of a message that arrives first.
func (q *Queue) first(s *wire.Segment, data []byte, loan Loan, ahead uint32) (taken bool) {
	m := inbound{head: *s, status: nic.StatusSuccess}
	m.head.Offset = 0
	if !q.plausible(s) {
		return false
	}
	whole := s.Kind == wire.SegmentReadRequest || len(data) == int(s.Total)
	if !whole && !q.add(&m.cover, s.Offset, s.Offset+uint32(len(data))) {
		return false
	}
	switch s.Kind {
	case wire.SegmentSend:
		taken = q.bindSend(&m, data, loan, ahead == 0)
	case wire.SegmentWrite:
		taken = q.bindWrite(&m, whole, ahead == 0)
	default:
		taken = true
	}
	if !taken {
		q.drop(&m)
		return false
	}
	if whole && ahead == 0 && q.owing < AnswersMax {
		q.put(&m, 0, data)
		if q.finish(&m) {
			q.next++
			if q.ahead > 0 || q.farewell.known {
				q.advance()
			}
			return true
		}
		q.drop(&m)
		return false
	}
	m.complete = whole
	q.put(&m, s.Offset, data)
	q.store(&m)
	if whole && ahead == 0 {
		q.advance()
	}
	return true
}

// plausible checks the receive that a message claims. Between the next message to
// take effect and this one, at most one receive per message can be taken, and the
// receive must not be used already.
func (q *Queue) plausible(s *wire.Segment) bool {
	if takesReceive(s) && s.Recv-q.recvs.done > s.Number-q.next {
		q.breach("a message with an impossible receive")
		return false
	}
	return true
}

// more handles a further segment of a message.
func (q *Queue) more(m *inbound, s *wire.Segment, data []byte) (taken bool) {
	same := *s
	same.Offset = 0
	if same != m.head {
		q.breach("segments of a message that contradict each other")
		return false
	}
	if !m.dropped && !q.plausible(s) {
		return false
	}
	if m.complete {
		q.stats.Stale++
		return true
	}
	h, inTurn := &m.head, s.Number == q.next
	if h.Kind == wire.SegmentWrite && !m.discard {
		if _, ok := q.memory.Writable(h.Addr+uint64(s.Offset), nic.Handle(h.Handle), len(data)); !ok && !q.unwritable(m, inTurn) {
			return false
		}
		if h.HasImmediate && !m.dropped && m.cover.have+uint32(len(data)) >= h.Total && !q.hasReceive(m, inTurn) {
			return false
		}
	}
	if !q.add(&m.cover, s.Offset, s.Offset+uint32(len(data))) {
		return false
	}
	q.put(m, s.Offset, data)
	if m.cover.have == h.Total {
		m.complete = true
		if inTurn {
			q.advance()
		}
	}
	return true
}

// put stores data of a message.
func (q *Queue) put(m *inbound, offset uint32, data []byte) {
	h := &m.head
	switch {
	case m.discard || len(data) == 0:
	case h.Kind == wire.SegmentWrite:
		mem, ok := q.memory.Writable(h.Addr+uint64(offset), nic.Handle(h.Handle), len(data))
		if ok {
			copy(mem, data)
		}
	case m.flat == nil:
		scatter(q.recvs.at(h.Recv).Segments, int(offset), data)
	case &m.flat[offset] != &data[0]: // otherwise it is a view of the data in place
		copy(m.flat[offset:], data)
	}
}

// scatter copies data into segments, starting at byte off of them.
func scatter(to []nic.Segment, off int, data []byte) {
	for i := range to {
		mem := to[i].Data
		if off >= len(mem) {
			off -= len(mem)
			continue
		}
		if data = data[copy(mem[off:], data):]; len(data) == 0 {
			return
		}
		off = 0
	}
}
