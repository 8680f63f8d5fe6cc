package inbox

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// backlog has the unexpected messages of one peer that the endpoint had no room for.
type backlog struct {
	peer     *Peer
	messages queue.FIFO[held, *held]
	class    bmi.Class            // of the line that the backlog is in
	links    queue.Links[backlog] // line.backlogs
}

// line is the queue of the backlogs whose first message is of one class. There is one line for each
// class, because the queue of a class without a handler may be full while other classes have room.
type line struct {
	class    bmi.Class
	backlogs queue.List[backlog]
}

type held struct {
	class  bmi.Class
	tag    bmi.Tag
	data   []byte
	serial uint64 // of all messages that were held
	next   *held
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
	return b.holdCopy(p, class, tag, data)
}

// OfferShared is Offer of data that the peer can still write to.
func (b *Inbox) OfferShared(p *Peer, class bmi.Class, tag bmi.Tag, data []byte) (taken bool) {
	p.countUnexpected(len(data))
	if p.backlog == nil && b.host.ArrivedShared(p.addr, class, tag, data) {
		return true
	}
	return b.holdCopy(p, class, tag, data)
}

// holdCopy holds a copy of a message that was not taken.
func (b *Inbox) holdCopy(p *Peer, class bmi.Class, tag bmi.Tag, data []byte) (taken bool) {
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
	b.serial++
	l := p.backlog
	fresh := l == nil
	if fresh {
		l = &backlog{peer: p}
		p.backlog = l
		b.backlogs++
	}
	l.messages.Push(&held{class: class, tag: tag, data: buf, serial: b.serial})
	if fresh {
		b.place(l)
	}
}

// place puts a backlog at the end of the line of its first message.
func (b *Inbox) place(l *backlog) {
	l.class = l.messages.Head().class
	b.lineOf(l).Add(l, &l.links)
}

// lineOf is the line that a backlog is in, or goes to.
func (b *Inbox) lineOf(l *backlog) *queue.List[backlog] {
	i := slices.IndexFunc(b.lines, func(n line) bool { return n.class == l.class })
	if i < 0 {
		i = len(b.lines)
		b.lines = append(b.lines, line{class: l.class})
	}
	return &b.lines[i].backlogs
}

func (p *Peer) countUnexpected(size int) {
	p.count.MessagesReceived++
	p.count.BytesReceived += uint64(size)
	p.count.EagerReceived++
	p.count.UnexpectedReceived++
}

// Holds reports whether a message of any peer is held.
func (b *Inbox) Holds() bool { return b.backlogs > 0 }

// OfferHeld offers the held messages again, peer after peer, until the endpoint does not take
// one; then it goes on with those of the other classes. It calls after(p) whenever the endpoint
// has taken messages of a peer, and reports whether it has. What a handler sends to its own
// endpoint meanwhile is left for the next call.
func (b *Inbox) OfferHeld(after func(p *Peer)) (did bool) {
	until := b.serial
	for i := 0; i < len(b.lines); i++ { // a handler may add lines
		for range b.lines[i].backlogs.Len() {
			l := b.lines[i].backlogs.First()
			if l == nil {
				break // a handler dropped the others
			}
			took, refused := b.offer(l, until)
			if took {
				did = true
				after(l.peer)
			}
			if refused {
				break
			}
		}
	}
	return did
}

// offer offers the messages at the front of a backlog that are of the line's class.
func (b *Inbox) offer(l *backlog, until uint64) (took, refused bool) {
	for h := l.messages.Head(); h != nil && h.class == l.class && h.serial <= until; h = l.messages.Head() {
		l.messages.Pop()
		if !b.host.Arrived(l.peer.addr, h.class, h.tag, h.data) {
			l.messages.PutBack(h)
			return took, true
		}
		took = true
		b.buffers.Give(h.data)
	}
	if l.peer.backlog != l {
		return took, false // a handler dropped it
	}
	b.lineOf(l).Remove(&l.links)
	if l.messages.Empty() {
		b.forget(l)
	} else {
		b.place(l)
	}
	return took, false
}

// forget ends a backlog that is in no line any more.
func (b *Inbox) forget(l *backlog) {
	l.peer.backlog = nil
	b.backlogs--
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
	b.lineOf(l).Remove(&l.links)
	b.forget(l)
}
