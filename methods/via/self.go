package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
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
		m.inbox.Hold(&r.inbox, op.Class, op.Tag, pieces.Cursor{}.Gather(data, op.Bufs, op.Size))
		r.count.sentEager(op.Kind, op.Size)
		m.host.Wake()
		op.Complete(op.Size, nil)
	default:
		m.sendLocal(r, op)
	}
}

// sendLocal joins an expected message of the endpoint to itself with its
// receive, or waits for that.
func (m *method) sendLocal(r *remote, op *bmi.Op) {
	recv := m.inbox.Claim(&r.inbox, uint32(op.Tag))
	if recv == nil {
		s := m.begin(r, op, phaseLocal)
		s.local = m.inbox.Announce(&r.inbox, uint32(op.Tag), op.Size, s, 0)
		return
	}
	op.Complete(m.copyLocal(r, recv, op))
}

// deliverLocal joins a receive with a send of the endpoint to itself.
func (m *method) deliverLocal(r *remote, recv *bmi.Op, s *opState) {
	s.local = nil
	size, err := m.copyLocal(r, recv, s.op)
	m.finish(s, size, err)
}

// copyLocal completes a receive with the message of a send. It returns what the send completes
// with.
func (m *method) copyLocal(r *remote, recv, send *bmi.Op) (size int, err error) {
	size = send.Size
	if size > recv.Size {
		r.count.sentEager(send.Kind, send.Size)
		recv.Complete(size, m.inbox.Truncated(&r.inbox, size, recv.Size))
		return size, nil
	}
	if err := copyMessage(recv.Bufs, send); err != nil {
		err = unreadable(r, err)
		recv.Complete(0, err)
		return 0, err
	}
	r.count.sentEager(send.Kind, send.Size)
	m.inbox.Received(&r.inbox, size)
	recv.Complete(size, nil)
	return size, nil
}
