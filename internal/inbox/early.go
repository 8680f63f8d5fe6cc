package inbox

import "github.com/viaduct-hpc/viaduct/matchbits"

// keep puts a message without a receive into the match table.
func (b *Inbox) keep(p *Peer, key matchbits.Bits, size int, owner any) *Message {
	msg := b.newMessage(p, size, owner)
	msg.ref = b.match.Keep(key, msg)
	msg.early = true
	p.early.Add(msg, &msg.links)
	p.count.EarlyReceived++
	return msg
}

// keepWhole keeps a copy of a whole message.
func (b *Inbox) keepWhole(p *Peer, key matchbits.Bits, body []byte) {
	msg := b.keep(p, key, len(body), nil)
	b.Buffer(msg)
	msg.Write(body)
	b.End(msg)
}

// Buffer gives memory to a message that Waits.
func (b *Inbox) Buffer(msg *Message) {
	msg.buf = b.buffers.Take(msg.size)
	b.charge(msg, cap(msg.buf))
}

// charge counts memory of a message, which release gives back.
func (b *Inbox) charge(msg *Message, bytes int) {
	msg.kept += bytes
	msg.peer.earlyBytes += bytes
	b.earlyBytes += bytes
}

func (b *Inbox) release(msg *Message) {
	msg.peer.earlyBytes -= msg.kept
	b.earlyBytes -= msg.kept
	msg.kept = 0
	if msg.buf != nil {
		b.buffers.Give(msg.buf)
		msg.buf = nil
	}
}

// unkeep takes a message out of the match table, if it is there.
func (b *Inbox) unkeep(msg *Message) {
	if msg.early {
		b.match.RemoveKept(msg.ref)
		msg.peer.early.Remove(&msg.links)
		msg.early = false
	}
}

// DropEarly discards everything that came early from a peer. What is still arriving goes
// nowhere from now on.
func (b *Inbox) DropEarly(p *Peer) { b.dropEarly(p, func(*Message) bool { return true }) }

// DropAnnounced discards the announcements of a peer. Whole messages were accepted and go on
// waiting.
func (b *Inbox) DropAnnounced(p *Peer) {
	b.dropEarly(p, func(msg *Message) bool { return msg.state == announced })
}

func (b *Inbox) dropEarly(p *Peer, which func(*Message) bool) {
	var next *Message
	for msg := p.early.First(); msg != nil; msg = next {
		next = msg.links.Next()
		switch {
		case !which(msg):
		case msg.state == arriving:
			b.unkeep(msg)
			b.release(msg)
		default:
			b.Withdraw(msg)
		}
	}
}
