package tcp

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// waiting is an entry of the match table: a receive on the posted side, an early
// message on the kept side.
type waiting struct {
	recv  *opState
	early *early
}

// PostRecv takes over a receive: it joins an early message, or waits in the match
// table.
func (m *method) PostRecv(op *bmi.Op) {
	r := op.Peer.(*remote)
	key := r.key | matchbits.Bits(op.Tag)
	if r.earlies.Len() > 0 && !r.dropped && !m.closing {
		if w, ok := m.match.Take(key, matchbits.MaskNone); ok {
			m.meet(r, op, w.early)
			return
		}
	}
	if err := m.unusable(r); err != nil {
		op.Complete(0, err)
		return
	}
	s := m.begin(r, op, phasePosted)
	s.ref = m.match.Post(key, matchbits.MaskNone, waiting{recv: s})
}

// meet joins a receive that is being posted with an early message.
func (m *method) meet(r *remote, op *bmi.Op, e *early) {
	c := e.c
	switch {
	case e.size > op.Size:
		if c != nil {
			m.discard(c)
		}
		size := e.size
		m.letGo(e)
		err := r.truncation(size, op.Size)
		m.countError(err)
		op.Complete(size, err)
	case e.whole:
		var at cursor
		at.scatter(op.Bufs, e.buf)
		size := e.size
		m.letGo(e)
		op.Complete(size, nil)
	case e.buf == nil: // from now on it is read straight into place
		s := m.begin(r, op, phaseArriving)
		s.c = c
		c.in = inbound{kind: inDeliver, head: c.in.head, recv: s}
		m.letGo(e)
		m.unblock(c)
	default:
		s := m.begin(r, op, phaseJoined)
		s.early, e.recv = e, s
	}
}

// discard discards the rest of a connection's present message.
func (m *method) discard(c *conn) {
	c.in = inbound{kind: inDiscard, head: c.in.head}
	if c.block == blockRecv {
		m.unblock(c)
	}
}

// truncation is the error of a receive shorter than its message.
func (r *remote) truncation(size, room int) error {
	return r.errorf(bmi.ErrTruncated, "message of %d bytes, receive of %d", size, room)
}

// Cancel ends an operation early. If the message of a cancelled receive is
// arriving, its bytes are discarded. If a send was cancelled after part of it had
// been transmitted, the connection must end.
func (m *method) Cancel(op *bmi.Op) {
	s, ok := op.Private.(*opState)
	if !ok || s.op != op {
		return // completed already
	}
	r := s.r
	err := r.errorf(bmi.ErrCancelled, "cancelled by the caller")
	if s.phase != phaseSending {
		m.failRecv(s, err)
		return
	}
	partly := s.sent > 0
	r.unqueueSend(s)
	m.finish(s, 0, err)
	if partly {
		m.end(r.c, r.errorf(bmi.ErrPeerFailed, "connection closed: a send was cancelled of which a part was under way"))
	}
}
