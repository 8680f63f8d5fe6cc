package tcp

import "github.com/viaduct-hpc/viaduct/bmi"

// PostRecv takes over a receive.
func (m *method) PostRecv(op *bmi.Op) {
	r := op.Peer.(*remote)
	if err := m.unusable(r); err != nil && (r.dropped || m.closing || !m.inbox.Has(&r.inbox, op.Tag)) {
		op.Complete(0, err)
		return
	}
	early, bytes := r.inbox.Early(), m.inbox.EarlyBytes()
	if c, ok := m.inbox.Post(&r.inbox, op).(*conn); ok { // its message has begun to arrive
		if c.block == blockRecv {
			m.unblock(c)
		} else {
			m.deadline(c)
		}
	}
	if m.inbox.EarlyBytes() < bytes {
		m.roomFor(r)
	}
	if r.inbox.Early() < early {
		m.maybeRelease(r)
	}
}

// Cancel ends an operation early. If the message of a cancelled receive is
// arriving, its bytes are discarded. If a send was cancelled after part of it had
// been transmitted, the connection must end.
func (m *method) Cancel(op *bmi.Op) {
	r := op.Peer.(*remote)
	err := r.errorf(bmi.ErrCancelled, "cancelled by the caller")
	s, ok := op.Private.(*outgoing)
	if !ok {
		m.inbox.Cancel(&r.inbox, op, err)
		return
	}
	m.errors.Cancelled++
	partly := s.sent > 0
	m.finishSend(s, 0, err)
	if partly {
		m.end(r.c, r.errorf(bmi.ErrPeerFailed, "connection closed: a send was cancelled after a part of it had been sent"))
	}
}
