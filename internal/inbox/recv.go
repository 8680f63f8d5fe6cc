package inbox

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// A receive that did not complete within its post is in the list of its peer. Its Private is nil
// while it waits in the match table, where Note says, and then the Message that arrives, if that
// comes in parts.

// Post takes over a receive.
//
// If its message has begun to arrive, or was announced, Post returns the owner value of the
// message. The rest of an arriving message goes straight into the receive, or is discarded if the
// receive is too short. An announced message is the caller's again, and so is the receive.
func (b *Inbox) Post(p *Peer, op *bmi.Op) (owner any) {
	key := p.key | matchbits.Bits(op.Tag)
	if p.early.Len() > 0 {
		if msg, ok := b.match.Take(key, matchbits.MaskNone); ok {
			return b.join(msg, op)
		}
	}
	b.Wait(p, op)
	return nil
}

// Wait is Post if no message of the peer came early.
func (b *Inbox) Wait(p *Peer, op *bmi.Op) {
	p.recvs.Add(op)
	op.Note = b.match.Post(p.key|matchbits.Bits(op.Tag), matchbits.MaskNone, op).Words()
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
	p.early.Remove(&msg.links)
	msg.early = false
	switch {
	case msg.state == announced:
		b.freeMessage(msg)
		return owner
	case size > op.Size:
		b.release(msg)
		b.Truncate(p, op, size)
	default:
		msg.at.Scatter(op.Bufs, msg.buf)
		if arriving {
			p.recvs.Add(op)
			msg.meets(op)
		}
		b.release(msg)
		if !arriving {
			b.Finish(p, op, size)
		}
	}
	if !arriving {
		b.freeMessage(msg)
	}
	return owner
}

// Cancel ends a receive of a peer with an error, if the Inbox has it. If its message is arriving,
// the rest is discarded.
func (b *Inbox) Cancel(p *Peer, op *bmi.Op, err error) {
	if b.leave(op) {
		b.errors.Cancelled++
		op.Complete(0, err)
	}
}

// Fail ends all receives of a peer with an error.
func (b *Inbox) Fail(p *Peer, err error) {
	for op := p.recvs.First(); op != nil; op = p.recvs.First() {
		b.leave(op)
		op.Complete(0, err)
	}
}

// leave separates a receive from its message, or takes it out of the match table. It reports false
// if the receive was in neither.
func (b *Inbox) leave(op *bmi.Op) bool {
	if msg, ok := op.Private.(*Message); ok {
		msg.parts()
		return true
	}
	_, ok := b.match.RemovePosted(matchbits.RefOf(op.Note))
	return ok
}

// Finish completes a receive with a message of size bytes, and counts that.
func (b *Inbox) Finish(p *Peer, op *bmi.Op, size int) {
	p.count.MessagesReceived++
	p.count.BytesReceived += uint64(size)
	if size > b.eagerBytes {
		p.count.RendezvousReceived++
	} else {
		p.count.EagerReceived++
	}
	op.Complete(size, nil)
}

// Truncate ends a receive that is shorter than its message.
func (b *Inbox) Truncate(p *Peer, op *bmi.Op, size int) {
	b.errors.Truncated++
	op.Complete(size, fmt.Errorf("%w: %s: message of %d bytes for a receive of %d", bmi.ErrTruncated, p.addr, size, op.Size))
}
