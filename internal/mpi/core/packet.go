package core

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
)

// A packet is a packet that bmi did not send at once, or had no room for.
type packet struct {
	l      *link
	kind   wire.Kind
	buf    []byte
	pieces [2][]byte // of sendGathered: header and message
	op     *op       // the op that owns part of the memory; nil if the engine owns all of it
	next   *packet   // in Engine.held, or in the free list
}

// Link implements queue.Linked.
func (k *packet) Link() **packet { return &k.next }

func (e *Engine) newPacket(l *link, kind wire.Kind) *packet {
	k := e.freePackets
	if k == nil {
		k = new(packet)
	} else {
		e.freePackets = k.next
	}
	k.l, k.kind, k.next = l, kind, nil
	return k
}

func (e *Engine) freePacket(k *packet) {
	k.answered()
	e.pool.Give(k.buf)
	*k = packet{next: e.freePackets}
	e.freePackets = k
}

// packetBuffer returns empty memory for a small packet, which is then passed to post.
func (e *Engine) packetBuffer() []byte { return e.buffer(smallPacketMax) }

// buffer returns empty memory for a packet of n bytes, which is then passed to post.
func (e *Engine) buffer(n int) []byte {
	if n <= smallPacketMax && e.scratch != nil {
		return e.scratch[:0]
	}
	return e.pool.Take(n)
}

// post sends a packet in memory from buffer, and takes ownership of it. If bmi has no room the
// packet is sent later; if there is no connection the process fails.
func (l *link) post(kind wire.Kind, b []byte) {
	e := l.e
	if l.gone {
		e.giveBack(b)
		return
	}
	if isAnswer(kind) && !l.mayAnswer(kind, b) {
		return
	}
	if e.held.Empty() {
		if cap(b) == cap(e.scratch) && &b[:1][0] == &e.scratch[:1][0] {
			l.postScratch(kind, b)
			return
		}
	}
	k := e.newPacket(l, kind)
	k.buf = e.keep(b)
	if !e.held.Empty() || !k.post() {
		e.held.Push(k)
	}
}

// postScratch posts the packet in the engine's scratch memory, which is nearly always free again at
// once.
func (l *link) postScratch(kind wire.Kind, b []byte) {
	e := l.e
	k := e.newPacket(l, kind)
	posted, err := e.ctx.PostSendUnexpected(l.addr, class, bmi.Tag(kind), b, k)
	switch {
	case err == nil && posted.Done:
		k.answered()
		k.l, k.next = nil, e.freePackets
		e.freePackets = k
	case err == nil:
		k.buf = b
		e.scratch = e.pool.Take(smallPacketMax)
		e.lent++
	case isRoom(err):
		k.buf = e.keep(b)
		e.held.Push(k)
	default:
		k.buf = e.keep(b)
		message := k.isMessage()
		e.freePacket(k)
		l.lose(message, err)
	}
}

// post gives a packet to bmi, and returns false if bmi has no room.
func (k *packet) post() bool {
	e, l := k.l.e, k.l
	posted, err := e.ctx.PostSendUnexpected(l.addr, class, bmi.Tag(k.kind), k.buf, k)
	switch {
	case err == nil && posted.Done:
		e.freePacket(k)
	case err == nil:
		e.lent++
	case isRoom(err):
		return false
	default:
		message := k.isMessage()
		e.freePacket(k)
		l.lose(message, err)
	}
	return true
}

// keep returns the packet in memory of its own.
func (e *Engine) keep(b []byte) []byte {
	if e.scratch != nil && cap(b) == cap(e.scratch) && &b[:1][0] == &e.scratch[:1][0] {
		return append(e.pool.Take(len(b)), b...)
	}
	return b
}

// giveBack takes back memory from buffer that is not needed.
func (e *Engine) giveBack(b []byte) {
	if cap(b) != cap(e.scratch) || &b[:1][0] != &e.scratch[:1][0] {
		e.pool.Give(b)
	}
}

// retry posts the packets and pieces that bmi had no room for.
func (e *Engine) retry() {
	for k := e.held.Head(); k != nil; k = e.held.Head() {
		e.held.Pop()
		if k.l.gone {
			if k.isMessage() {
				k.l.proc.lose()
			}
			e.freePacket(k)
			continue
		}
		l := k.l
		if !k.post() {
			e.held.PutBack(k)
			return
		}
		l.moreAnswers()
	}
	links := e.unwatched
	e.unwatched = nil
	for _, l := range links {
		l.watch()
	}
	for o := e.stalled.Pop(); o != nil; o = e.stalled.Pop() {
		o.move.stalled = false
		if o.advance(); o.move.stalled {
			return // it is at the end of the queue again
		}
	}
}

// sent handles the completion of a packet.
func (k *packet) sent(err error) {
	e, l, o := k.l.e, k.l, k.op
	message := err != nil && k.isMessage()
	e.lent--
	e.freePacket(k)
	if o != nil {
		if err != nil && o.err == nil {
			o.err = sendError(o, err)
		}
		o.unlist()
		o.complete()
	}
	if err != nil {
		l.lose(message, err)
	}
	l.moreAnswers()
	if e.lent == 0 {
		e.changed()
	}
}
