package message

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// An inbound is a message that has partly arrived or has not taken effect yet.
type inbound struct {
	used     bool
	complete bool // all of it has arrived; it waits for its turn
	discard  bool // its data is not stored, its receive (if any) ends with status
	dropped  bool // discard, and it has no receive
	status   nic.Status
	head     wire.Segment // of its segments, except for the Offset
	cover    cover
	// flat is the memory for the data of a send that does not go into the segments
	// of its receive: in the descriptor, or in a device buffer held by loan.
	flat []byte
	loan Loan
}

// place finds the record of a message ahead < WindowMessages beyond next, or nil.
func (q *Queue) place(number uint32) *inbound {
	if q.ahead == 0 || number-q.next >= uint32(len(q.ring)) {
		return nil
	}
	if m := &q.ring[number&uint32(len(q.ring)-1)]; m.used {
		return m
	}
	return nil
}

// store keeps a message until its turn.
func (q *Queue) store(m *inbound) {
	number := m.head.Number
	if size := len(q.ring); number-q.next >= uint32(size) {
		size = max(size, ringMin)
		for number-q.next >= uint32(size) {
			size *= 2
		}
		ring := make([]inbound, size)
		for i := range q.ring {
			if old := &q.ring[i]; old.used {
				ring[old.head.Number&uint32(size-1)] = *old
			}
		}
		q.ring = ring
	}
	m.used = true
	q.ring[number&uint32(len(q.ring)-1)] = *m
	q.ahead++
}

// drop forgets a message, and releases what it holds.
func (q *Queue) drop(m *inbound) {
	q.forget(&m.cover)
	if m.loan != nil {
		m.loan.Free()
	}
	if m.used {
		q.ahead--
	}
	*m = inbound{}
}

// advance makes messages take effect whose turn has come.
func (q *Queue) advance() {
	for q.err == nil {
		m := q.place(q.next)
		if m == nil || !m.complete || !q.finish(m) {
			break
		}
		q.drop(m)
		q.next++
	}
	if q.err == nil && q.farewell.known && int32(q.next-q.farewell.number) >= 0 {
		q.err = errFarewell
	}
}

// finish makes the next message take effect; it is complete. It reports false if
// that is not possible now.
func (q *Queue) finish(m *inbound) bool {
	h := &m.head
	switch {
	case h.Kind == wire.SegmentReadRequest:
		return q.answer(h)
	case m.dropped:
		q.stats.Dropped++
		return true
	case takesReceive(h):
		if h.Recv != q.recvs.done {
			q.breach("a message that takes another one's receive")
			return false
		}
		if q.recvs.count() == 0 { // a write with overlapping segments; a send has its receive
			if q.attrs.Reliability != nic.Unreliable {
				q.refuse(h.Number, wire.ReasonNoReceive)
				return false
			}
			q.skipReceive()
			q.stats.Dropped++
			return true
		}
		q.finishRecv(m)
	}
	if m.discard {
		q.stats.Dropped++
		return true
	}
	q.stats.Received++
	q.stats.ReceivedBytes += uint64(h.Total)
	return true
}

// skipReceive counts a receive that a message should have taken and that was not
// posted.
func (q *Queue) skipReceive() {
	q.recvs.done++
	q.recvs.posted++
}
