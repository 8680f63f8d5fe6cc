package message

import (
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// An inbound is a message that has begun to arrive and has not taken effect.
type inbound struct {
	used     bool
	complete bool // all of it is here; it waits for its turn
	discard  bool // its data goes nowhere, its receive (if any) ends with status
	dropped  bool // discard, and it has no receive
	status   nic.Status
	head     wire.Segment // of its segments, but for the Offset
	cover    cover
	// flat is where the data of a send goes if not into the segments of its
	// receive: into the descriptor, or into a device buffer that loan holds.
	flat []byte
	loan Loan
}

// place finds what is known of a message ahead < WindowMessages beyond next, or nil.
func (q *Queue) place(number uint32) *inbound {
	if q.ahead == 0 || number-q.next >= uint32(len(q.ring)) {
		return nil
	}
	if m := &q.ring[number&uint32(len(q.ring)-1)]; m.used {
		return m
	}
	return nil
}

// store keeps a message until its turn has come.
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

// drop forgets a message, and what it holds.
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

// advance lets messages take effect whose turn has come.
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

// finish lets the message take effect that is next and complete. It reports false
// if it cannot.
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
		if q.recvs.count() == 0 { // a write whose segments overlapped; a send has its receive
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
