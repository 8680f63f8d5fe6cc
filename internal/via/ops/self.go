package ops

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
)

// sendSelf sends a message of the endpoint to itself: there is no link, a
// message is copied once from the send to the receive.
func (o *Ops) sendSelf(r *Peer, op *bmi.Op) {
	if op.Kind == bmi.KindSendUnexpected {
		// The endpoint takes it in the next Poll: a handler must not run
		// within a post.
		data := o.buffers.Take(op.Size)
		o.inbox.Hold(&r.inbox, op.Class, op.Tag, pieces.Cursor{}.Gather(data, op.Bufs, op.Size))
		r.sentEager(op.Kind, op.Size)
		o.host.Wake()
		op.Complete(op.Size, nil)
		return
	}
	recv := o.inbox.Claim(&r.inbox, uint32(op.Tag))
	if recv == nil {
		s := o.begin(r, op, phaseLocal)
		s.local = o.inbox.Announce(&r.inbox, uint32(op.Tag), op.Size, s, 0)
		return
	}
	op.Complete(o.copyLocal(r, recv, op))
}

// deliverLocal joins a receive with a send of the endpoint to itself.
func (o *Ops) deliverLocal(r *Peer, recv *bmi.Op, s *opState) {
	s.local = nil
	size, err := o.copyLocal(r, recv, s.op)
	o.finish(s, size, err)
}

// copyLocal completes a receive with the message of a send. It returns what the send completes
// with.
func (o *Ops) copyLocal(r *Peer, recv, send *bmi.Op) (size int, err error) {
	size = send.Size
	if size > recv.Size {
		r.sentEager(send.Kind, send.Size)
		o.inbox.Truncate(&r.inbox, recv, size)
		return size, nil
	}
	if err := copyMessage(recv.Bufs, send); err != nil {
		err = unreadable(r, err)
		recv.Complete(0, err)
		return 0, err
	}
	r.sentEager(send.Kind, send.Size)
	o.inbox.Finish(&r.inbox, recv, size)
	return size, nil
}
