package inbox

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// A Message is an expected message that arrives in parts, or waits for its receive.
//
//	state      recv  early  buf   where the bytes are
//	arriving   set   no     nil   in the receive
//	arriving   nil   yes    nil   with the peer: the caller must not take them yet, or give the message a Buffer
//	arriving   nil   yes    set   in buf
//	arriving   nil   no     nil   nowhere: the receive was cancelled, or too short
//	whole      nil   yes    set   in buf
//	announced  nil   yes    nil   wherever the owner knows them
//
// From Begin to End or Cut, a message belongs to the caller. A whole or announced one is
// the Inbox's until a receive is posted for it.
type Message struct {
	peer  *Peer
	size  int
	state state
	early bool          // in peer.early and in the match table
	ref   matchbits.Ref // there
	recv  *bmi.Op
	at    pieces.Cursor // in recv
	buf   []byte
	kept  int // bytes of memory, part of Peer.earlyBytes
	owner any
	links queue.Links[Message] // in peer.early
	free  *Message             // Inbox.freeMessages
}

type state uint8

const (
	arriving state = iota
	whole
	announced
)

// Size is the length of the message in bytes.
func (msg *Message) Size() int { return msg.size }

// Waits reports whether the bytes cannot be taken now: the message has neither a receive nor
// a Buffer.
func (msg *Message) Waits() bool { return msg.early && msg.buf == nil }

// Buffered reports whether the bytes go to memory of the Inbox.
func (msg *Message) Buffered() bool { return msg.early && msg.buf != nil }

// Deliver takes a message that has arrived whole. It is copied into its receive. If there is none, a copy of it is kept, and
// Deliver reports false.
func (b *Inbox) Deliver(p *Peer, tag uint32, body []byte) (taken bool) {
	key := p.key | matchbits.Bits(tag)
	op, ok := b.match.Arrive(key)
	if !ok {
		b.keepWhole(p, key, body)
		return false
	}
	if len(body) > op.Size {
		b.Truncate(p, op, len(body))
		return true
	}
	pieces.Copy(op.Bufs, body)
	b.Finish(p, op, len(body))
	return true
}

// Begin starts a message of size bytes. If it meets no receive, it Waits until one is posted,
// or until the caller gives it a Buffer.
func (b *Inbox) Begin(p *Peer, tag uint32, size int, owner any) *Message {
	key := p.key | matchbits.Bits(tag)
	op, ok := b.match.Arrive(key)
	if !ok {
		return b.keep(p, key, size, owner)
	}
	msg := b.newMessage(p, size, owner)
	if size > op.Size {
		b.Truncate(p, op, size)
	} else {
		msg.meets(op)
	}
	return msg
}

// meets gives a message the receive that it goes into.
func (msg *Message) meets(op *bmi.Op) { msg.recv, op.Private = op, msg }

// parts separates a message from its receive, and returns the receive; nil if it has none.
func (msg *Message) parts() *bmi.Op {
	op := msg.recv
	if op != nil {
		msg.recv, op.Private = nil, nil
	}
	return op
}

// Write takes the next bytes of a message. There must not be more than are missing.
func (msg *Message) Write(data []byte) {
	switch {
	case msg.recv != nil:
		msg.at.Scatter(msg.recv.Bufs, data)
	case msg.buf != nil:
		msg.buf = append(msg.buf, data...)
	}
}

// Window appends to vec the memory where the next n bytes of a message belong, as at most room
// slices. It returns how many bytes that is, none if they are to be discarded. The caller may
// put bytes there, and must then say so by Placed.
func (msg *Message) Window(vec [][]byte, n, room int) ([][]byte, int) {
	switch {
	case msg.recv != nil:
		return msg.at.Append(vec, msg.recv.Bufs, n, room)
	case msg.buf != nil:
		from := len(msg.buf)
		to := min(from+n, msg.size)
		return append(vec, msg.buf[from:to]), to - from
	}
	return vec, 0
}

// Placed records that the next n bytes are where Window said.
func (msg *Message) Placed(n int) {
	switch {
	case msg.recv != nil:
		msg.at.Advance(msg.recv.Bufs, n)
	case msg.buf != nil:
		msg.buf = msg.buf[:len(msg.buf)+n]
	}
}

// End ends a message after its last byte has arrived.
func (b *Inbox) End(msg *Message) {
	op, p, size := msg.parts(), msg.peer, msg.size
	if msg.early {
		msg.state, msg.owner = whole, nil
		return
	}
	b.freeMessage(msg)
	if op != nil {
		b.Finish(p, op, size)
	}
}

// Cut ends a message whose rest will not come. Its receive, if it has one, fails.
func (b *Inbox) Cut(msg *Message, err error) {
	op := msg.parts()
	b.unkeep(msg)
	b.freeMessage(msg)
	if op != nil {
		op.Complete(0, err)
	}
}

// Claim gives the caller the receive for a message that the caller will deliver by itself; nil
// if none is posted.
func (b *Inbox) Claim(p *Peer, tag uint32) *bmi.Op {
	op, ok := b.match.Arrive(p.key | matchbits.Bits(tag))
	if !ok {
		return nil
	}
	op.Leave()
	return op
}

// Announce keeps, for Post to return, the owner of a message that Claim found no receive for.
// The peer is charged for the memory of so many bytes.
func (b *Inbox) Announce(p *Peer, tag uint32, size int, owner any, bytes int) *Message {
	msg := b.keep(p, p.key|matchbits.Bits(tag), size, owner)
	msg.state = announced
	b.charge(msg, bytes)
	return msg
}

// Withdraw takes an announcement back.
func (b *Inbox) Withdraw(msg *Message) {
	b.unkeep(msg)
	b.freeMessage(msg)
}

func (b *Inbox) newMessage(p *Peer, size int, owner any) *Message {
	msg := b.freeMessages
	if msg != nil {
		b.freeMessages, msg.free = msg.free, nil
	} else {
		msg = &Message{}
	}
	msg.peer, msg.size, msg.owner = p, size, owner
	return msg
}

// freeMessage frees the record of a message that is on no list any more.
func (b *Inbox) freeMessage(msg *Message) {
	b.release(msg)
	*msg = Message{free: b.freeMessages}
	b.freeMessages = msg
}
