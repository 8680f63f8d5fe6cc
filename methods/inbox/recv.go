package inbox

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// A Recv is a receive that did not complete within its post. It is the Private of its
// operation.
type Recv struct {
	op    *bmi.Op
	peer  *Peer
	msg   *Message      // that arrives; nil: the receive is in the match table
	ref   matchbits.Ref // in the match table
	chain queue.Links[Recv]
	free  *Recv // Inbox.freeRecvs
}

// Chain links the receives of a peer.
func (v *Recv) Chain() *queue.Links[Recv] { return &v.chain }

// Post takes over a receive.
//
// If its message has begun to arrive, or was announced, Post returns the owner that the
// message was given. The rest of an arriving message goes straight into the receive, or is
// discarded if the receive is too short. An announced message is the caller's again, and so is
// the receive.
func (b *Inbox) Post(p *Peer, op *bmi.Op) (owner any) {
	key := p.key | matchbits.Bits(op.Tag)
	if p.early.Len() > 0 {
		if w, ok := b.match.Take(key, matchbits.MaskNone); ok {
			return b.join(w.msg, op)
		}
	}
	v := b.newRecv(p, op)
	v.ref = b.match.Post(key, matchbits.MaskNone, waiting{recv: v})
	return nil
}

// Has reports whether a message for a receive with this tag came early.
func (b *Inbox) Has(p *Peer, tag bmi.Tag) bool {
	_, ok := b.match.Peek(p.key|matchbits.Bits(tag), matchbits.MaskNone)
	return ok
}

// join gives a receive that is being posted a message that came early, and that has left the
// match table.
func (b *Inbox) join(msg *Message, op *bmi.Op) (owner any) {
	p, size, arriving := msg.peer, msg.size, msg.state == arriving
	owner = msg.owner
	p.early.Remove(msg)
	msg.early = false
	switch {
	case msg.state == announced:
		b.freeMessage(msg)
		return owner
	case size > op.Size:
		b.release(msg)
		err := b.Truncated(p, size, op.Size)
		op.Complete(size, err)
	default:
		msg.at.Scatter(op.Bufs, msg.buf)
		if arriving {
			msg.recv = b.newRecv(p, op)
			msg.recv.msg = msg
		}
		b.release(msg)
		if !arriving {
			op.Complete(size, nil)
		}
	}
	if !arriving {
		b.freeMessage(msg)
	}
	return owner
}

// Cancel ends a receive with an error. If its message is arriving, the rest is discarded.
func (b *Inbox) Cancel(v *Recv, err error) {
	b.errors.Cancelled++
	b.fail(v, err)
}

// Fail ends all receives of a peer with an error.
func (b *Inbox) Fail(p *Peer, err error) {
	for v := p.recvs.First(); v != nil; v = p.recvs.First() {
		b.fail(v, err)
	}
}

func (b *Inbox) fail(v *Recv, err error) {
	if v.msg != nil {
		v.msg.recv = nil
	} else {
		b.match.RemovePosted(v.ref)
	}
	b.finish(v, 0, err)
}

// Truncated counts a message that is longer than its receive, and makes the error for it.
func (b *Inbox) Truncated(p *Peer, message, receive int) error {
	b.errors.Truncated++
	return fmt.Errorf("%w: %s: message of %d bytes for a receive of %d", bmi.ErrTruncated, p.addr, message, receive)
}

func (b *Inbox) newRecv(p *Peer, op *bmi.Op) *Recv {
	v := b.freeRecvs
	if v != nil {
		b.freeRecvs, v.free = v.free, nil
	} else {
		v = &Recv{}
	}
	v.op, v.peer = op, p
	op.Private = v
	p.recvs.Add(v)
	return v
}

// lift frees the record of a receive, and returns its operation.
func (b *Inbox) lift(v *Recv) *bmi.Op {
	op := v.op
	op.Private = nil
	v.peer.recvs.Remove(v)
	*v = Recv{free: b.freeRecvs}
	b.freeRecvs = v
	return op
}

func (b *Inbox) finish(v *Recv, size int, err error) { b.lift(v).Complete(size, err) }

// truncate ends a receive that is shorter than its message.
func (b *Inbox) truncate(v *Recv, size int) {
	b.finish(v, size, b.Truncated(v.peer, size, v.op.Size))
}
