package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// sendSelf sends a message of the endpoint to itself: there is no link, a
// message is copied once from the send to the receive.
func (m *method) sendSelf(r *remote, op *bmi.Op) {
	switch {
	case r.refusing:
		op.Complete(0, r.errorf(bmi.ErrDropped, "send"))
	case op.Kind == bmi.KindSendUnexpected:
		// The endpoint takes it in the next Poll: a handler must not run
		// within a post.
		data := m.buffers.Take(op.Size)
		m.hold(r, op.Class, op.Tag, appendBytes(data, op.Bufs, 0, op.Size))
		r.count.sentEager(op)
		m.host.Wake()
		op.Complete(op.Size, nil)
	default:
		m.sendLocal(r, op)
	}
}

// sendLocal joins an expected message of the endpoint to itself with its
// receive, or waits for that.
func (m *method) sendLocal(r *remote, op *bmi.Op) {
	w, ok := m.match.Arrive(r.key | matchbits.Bits(op.Tag))
	if !ok {
		s := m.begin(r, op, phaseLocal)
		e := m.keep(r, uint32(op.Tag), op.Size)
		e.local, s.local = s, e
		return
	}
	s := w.recv
	if op.Size > s.op.Size {
		r.count.sentEager(op)
		m.truncated(s, op.Size)
		op.Complete(op.Size, nil)
		return
	}
	if err := copyMessage(s.op.Bufs, op); err != nil {
		err = unreadable(r, err)
		m.finish(s, 0, err)
		op.Complete(0, err)
		return
	}
	r.count.sentEager(op)
	r.count.receivedEager(op.Size)
	m.finish(s, op.Size, nil)
	op.Complete(op.Size, nil)
}

// deliverLocal joins a receive with a send of the endpoint to itself.
func (m *method) deliverLocal(r *remote, op *bmi.Op, e *early) {
	s := e.local
	size := s.op.Size
	m.letGo(e)
	s.local = nil
	if size > op.Size {
		r.count.sentEager(s.op)
		err := r.truncation(size, op.Size)
		m.countError(err)
		m.finish(s, size, nil)
		op.Complete(size, err)
		return
	}
	if err := copyMessage(op.Bufs, s.op); err != nil {
		err = unreadable(r, err)
		m.finish(s, 0, err)
		op.Complete(0, err)
		return
	}
	r.count.sentEager(s.op)
	r.count.receivedEager(size)
	m.finish(s, size, nil)
	op.Complete(size, nil)
}
