package inbox

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// backlog has the unexpected messages of one peer that the endpoint had no room for.
type backlog struct {
	peer     *Peer
	messages queue.FIFO[held, *held]
	chain    queue.Links[backlog] // Inbox.backlogs
}

// Chain links the backlogs.
func (l *backlog) Chain() *queue.Links[backlog] { return &l.chain }

type held struct {
	class bmi.Class
	tag   bmi.Tag
	data  []byte
	next  *held
}

// Link links the messages of a backlog.
func (h *held) Link() **held { return &h.next }

// Offer hands an unexpected message to the endpoint, unless an earlier one of this peer is held.
// If the endpoint does not take it, a copy of it is held, and Offer reports false.
func (b *Inbox) Offer(p *Peer, class bmi.Class, tag bmi.Tag, data []byte) (taken bool) {
	p.countUnexpected(len(data))
	if p.backlog == nil && b.host.Arrived(p.addr, class, tag, data) {
		return true
	}
	b.Hold(p, class, tag, append(b.buffers.Take(len(data)), data...))
	return false
}

// OfferBuffer is Offer of a message in a buffer of the pool, which the Inbox takes over.
func (b *Inbox) OfferBuffer(p *Peer, class bmi.Class, tag bmi.Tag, buf []byte) (taken bool) {
	p.countUnexpected(len(buf))
	if p.backlog == nil && b.host.Arrived(p.addr, class, tag, buf) {
		b.buffers.Give(buf)
		return true
	}
	b.Hold(p, class, tag, buf)
	return false
}

// Hold holds a message in a buffer of the pool, which the Inbox takes over. It is not offered
// before the next OfferHeld.
func (b *Inbox) Hold(p *Peer, class bmi.Class, tag bmi.Tag, buf []byte) {
	p.count.HeldUnexpected++
	if p.backlog == nil {
		p.backlog = &backlog{peer: p}
		b.backlogs.Add(p.backlog)
	}
	p.backlog.messages.Push(&held{class: class, tag: tag, data: buf})
}

func (p *Peer) countUnexpected(size int) {
	p.count.MessagesReceived++
	p.count.BytesReceived += uint64(size)
	p.count.EagerReceived++
	p.count.UnexpectedReceived++
}

// Holds reports whether a message of any peer is held.
func (b *Inbox) Holds() bool { return b.backlogs.Len() > 0 }

// OfferHeld offers the held messages again, peer after peer, until the endpoint does not take
// one. It calls after for each peer of which one was taken, and reports whether one was. What a
// handler sends to its own endpoint meanwhile is left for the next call.
func (b *Inbox) OfferHeld(after func(p *Peer)) (did bool) {
	for range b.backlogs.Len() {
		l := b.backlogs.First()
		if l == nil {
			break // a handler dropped the others
		}
		took, refused := b.offer(l)
		if took {
			did = true
			after(l.peer)
		}
		if refused {
			break
		}
	}
	return did
}

// offer offers the messages that are in a backlog now.
func (b *Inbox) offer(l *backlog) (took, refused bool) {
	last := l.messages.Tail()
	for l.messages.Head() != nil {
		h := l.messages.Pop()
		if !b.host.Arrived(l.peer.addr, h.class, h.tag, h.data) {
			l.messages.PutBack(h)
			return took, true
		}
		took = true
		b.buffers.Give(h.data)
		if h == last {
			break
		}
	}
	if l.peer.backlog == l { // no handler dropped it
		b.backlogs.Remove(l)
		if l.messages.Empty() {
			l.peer.backlog = nil
		} else {
			b.backlogs.Add(l) // what is new waits for its turn
		}
	}
	return took, false
}

// DropHeld discards the held messages of a peer.
func (b *Inbox) DropHeld(p *Peer) {
	l := p.backlog
	if l == nil {
		return
	}
	for !l.messages.Empty() {
		b.buffers.Give(l.messages.Pop().data)
	}
	p.backlog = nil
	b.backlogs.Remove(l)
}
