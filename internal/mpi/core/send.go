package core

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// start begins an idle send.
func (e *Engine) start(o *op) {
	o.activate()
	if o.proc == nil { // to ProcNull
		o.complete()
		return
	}
	if err := o.refused(); err != nil {
		o.err = err
		o.complete()
		return
	}
	if o.mode == Buffered {
		e.startBuffered(o)
		return
	}
	if o.proc == e.self {
		e.sendSelf(o)
		return
	}
	l, err := o.proc.via()
	if err != nil {
		o.err = err
		o.complete()
		return
	}
	if !o.proc.backlog.Empty() || !o.transmit(l) {
		o.at = atBacklog
		o.proc.backlog.Push(o)
		o.enlist()
	}
}

// startBuffered sends a copy; only Close waits for it.
func (e *Engine) startBuffered(o *op) {
	c := e.acquire(opSend, o.scope)
	c.mode, c.size, c.proc, c.bits = Standard, o.size, o.proc, o.bits
	c.buf.Mem = make([]byte, o.size)
	o.buf.read(c.buf.Mem, 0)
	c.detached = true
	e.detached++
	e.start(c)
	o.complete()
}

// refused returns why the op cannot begin, or nil if it can.
func (o *op) refused() error {
	switch {
	case o.e.closed:
		return errFinalized
	case o.scope.closed:
		return errFreed
	case o.e.sends.full():
		return errNoNames
	}
	if err := o.scope.barred(o.bits); err != nil {
		return err
	}
	return o.proc.gone()
}

// transmit sends the packet that begins the send, if the peer has room for it. A small message is
// sent whole; a larger one is announced, and for announcements there is more room.
func (o *op) transmit(l *link) bool {
	p := o.proc
	switch {
	case o.size <= min(l.eagerMax, int(p.window/4)) && p.allows(uint32(o.size)):
		o.transmitEager(l)
	case p.allowsAnnouncement():
		o.announce(l)
	default:
		return false
	}
	return true
}

func (o *op) transmitEager(l *link) {
	o.proc.charged += uint32(o.size) + chargeBytes
	if o.mode == Synchronous {
		o.wait(l)
		l.sendEager(o, o.id)
		return
	}
	if l.sendEager(o, 0) {
		o.complete()
		return
	}
	o.at = atNetwork
	o.enlist()
}

// wait gives the send an id, for the peer's answer.
func (o *op) wait(l *link) {
	o.at, o.id = atPeer, o.e.sends.add(o)
	o.move.l = l
	o.enlist()
}

// sendEager sends the whole message, and returns whether its memory is free again.
func (l *link) sendEager(o *op, id uint32) (free bool) {
	e := l.e
	h := wire.Eager{Credit: o.proc.tell(), ID: id, Bits: uint64(o.bits)}
	mem, contiguous := o.buf.piece()
	if id == 0 && contiguous && o.size > smallPacketMax-wire.EagerBytes && e.held.Empty() {
		return l.sendGathered(o, h, mem)
	}
	if contiguous && l.sendNow(h, mem, false) {
		return true
	}
	b := h.Append(e.buffer(wire.EagerBytes + o.size))
	if contiguous {
		b = append(b, mem...)
	} else {
		b = b[:wire.EagerBytes+o.size]
		o.buf.read(b[wire.EagerBytes:], 0)
	}
	l.post(wire.KindEager, b)
	return true
}

// sendGathered sends a message from the user's memory, which bmi may keep for a while.
func (l *link) sendGathered(o *op, h wire.Eager, mem []byte) (free bool) {
	e := l.e
	k := e.newPacket(l, wire.KindEager)
	k.buf = h.Append(e.pool.Take(wire.EagerBytes))
	k.pieces = [2][]byte{k.buf, mem}
	k.op = o
	posted, err := e.ctx.PostSendUnexpectedList(l.addr, class, bmi.Tag(wire.KindEager), k.pieces[:], k)
	switch {
	case err == nil && posted.Done:
		e.freePacket(k)
		return true
	case err == nil:
		e.lent++
		return false
	}
	// There is no room, or no connection. A copy of the message waits for room, as for a small
	// message.
	b := append(h.Append(e.pool.Take(wire.EagerBytes+len(mem))), mem...)
	e.freePacket(k)
	l.post(wire.KindEager, b)
	return true
}

// announce sends an RTS for a message that cannot be sent at once.
func (o *op) announce(l *link) {
	o.e.stats.Announced++
	o.proc.charged += chargeBytes
	o.wait(l)
	r := wire.RTS{Credit: o.proc.tell(), ID: o.id, Bits: uint64(o.bits), Size: uint64(o.size), Piece: uint32(l.pieceMax)}
	if _, contiguous := o.buf.piece(); !contiguous {
		r.Piece = uint32(min(l.pieceMax, o.e.cfg.Limits.StagingBytes))
	}
	l.post(wire.KindRTS, r.Append(o.e.packetBuffer()))
}

// lockAndSend locks the engine and sends a message at once if that is possible. If it is, the hold
// is a short one unless something unusual was in the way; otherwise it is a long one, and the caller
// must post the message. p is nil for ProcNull.
func (s *Scope) lockAndSend(p *Proc, mode Mode, mem []byte, bits matchbits.Bits) (sent, short bool) {
	e := s.e
	if p == nil {
		e.mu.Lock()
		return false, false
	}
	if e.mu.tryShort() {
		if s.sendNow(p, mode, mem, bits, true) {
			return true, true
		}
		e.mu.endShort()
	}
	e.lockToSend(p)
	return s.sendNow(p, mode, mem, bits, false), false
}

// lockAndSendPiece is lockAndSend for a buffer. It sends only contiguous data.
func (s *Scope) lockAndSendPiece(p *Proc, mode Mode, buf *Buffer, bits matchbits.Bits) (sent, short bool) {
	mem, ok := buf.piece()
	if !ok {
		s.e.mu.Lock()
		return false, false
	}
	return s.lockAndSend(p, mode, mem, bits)
}

// sendNow sends a message without an op, if bmi takes it at once or, in a long hold, if it is small:
// then it is copied. short says which hold the caller has.
func (s *Scope) sendNow(p *Proc, mode Mode, mem []byte, bits matchbits.Bits, short bool) bool {
	e := s.e
	l := p.route
	if l == nil || mode == Synchronous || len(mem) > min(l.eagerMax, int(p.window/4)) ||
		!p.backlog.Empty() || p.left || s.revoked || s.broken != nil || s.closed || e.closed {
		return false
	}
	if !p.allows(uint32(len(mem))) {
		return false
	}
	charged, told := p.charged, p.told
	p.charged += uint32(len(mem)) + chargeBytes
	h := wire.Eager{Credit: p.tell(), Bits: uint64(bits)}
	if l.sendNow(h, mem, short) {
		return true
	}
	if short || len(mem) > smallPacketMax-wire.EagerBytes {
		p.charged, p.told = charged, told
		return false
	}
	b := append(h.Append(e.packetBuffer()), mem...)
	l.post(wire.KindEager, b)
	return true
}

// sendNow sends a small message that bmi takes without an operation. In a short hold it does not
// try if that is not possible or likely to fail.
func (l *link) sendNow(h wire.Eager, mem []byte, short bool) (sent bool) {
	e := l.e
	if !e.held.Empty() || l.gone || short && (!l.sendsNow || l.congested || !e.mu.guard.Guards(l.addr)) {
		return false
	}
	head := h.Append(e.head[:0])
	if short {
		sent = e.mu.guard.SendUnexpectedNow(e.ctx, l.addr, class, bmi.Tag(wire.KindEager), head, mem)
	} else {
		sent = e.ctx.SendUnexpectedNow(l.addr, class, bmi.Tag(wire.KindEager), head, mem)
	}
	// A larger message may be refused for its size, which says nothing about room.
	l.congested = l.sendsNow && !sent && len(mem) <= smallPacketMax-wire.EagerBytes
	l.sendsNow = l.sendsNow || sent
	return sent
}

// lockToSend begins a long hold for a caller that is about to send a small message. If bmi had no
// room for the last one, lockToSend polls first: taking in what the peer has returned costs less
// than a message that has to wait.
func (e *Engine) lockToSend(p *Proc) {
	e.mu.Lock()
	if p.route == nil || !p.route.congested || e.cfg.Manual {
		return
	}
	p.route.congested = false
	e.mu.Unlock()
	e.Progress()
	e.mu.Lock()
}

// flush sends the operations that waited for the window.
func (p *Proc) flush() {
	e := p.e
	for o := p.backlog.Head(); o != nil; o = p.backlog.Head() {
		p.backlog.Pop()
		o.unlist()
		o.at = nowhere
		l, err := p.via()
		if err == nil && e.sends.full() {
			err = errNoNames // there were free ids when it was posted
		}
		if err != nil {
			o.err = err
			o.complete()
		} else if !o.transmit(l) {
			o.at = atBacklog
			p.backlog.PutBack(o)
			o.enlist()
			return
		}
	}
}

// acked handles an ACK: it ends a synchronous send, because its receive has begun.
func (e *Engine) acked(p *Proc, id uint32) {
	o := e.sends.get(id)
	if o == nil || o.proc != p || o.at != atPeer {
		p.broke("an ACK for send %d, which waits for none", id)
		return
	}
	e.sends.remove(id)
	o.unlist()
	o.complete()
}

// A sendTable assigns ids to sends that wait for a peer. An id is not reused soon.
type sendTable struct {
	slots []sendSlot
	free  []uint32
}

type sendSlot struct {
	o   *op
	gen uint32
}

const (
	slotBits = 20
	slotMask = 1<<slotBits - 1
	genMask  = 1<<(32-slotBits) - 1
)

// add assigns an id to a send. An id is never 0.
func (t *sendTable) add(o *op) uint32 {
	if len(t.free) == 0 {
		if len(t.slots) > slotMask {
			panic("internal/mpi/core: more sends than names: refused lets none begin")
		}
		t.slots = append(t.slots, sendSlot{})
		t.free = append(t.free, uint32(len(t.slots)-1))
	}
	i := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	s := &t.slots[i]
	s.o = o
	if s.gen = (s.gen + 1) & genMask; s.gen == 0 {
		s.gen = 1
	}
	return s.gen<<slotBits | i
}

// get returns the send with an id, or nil.
func (t *sendTable) get(id uint32) *op {
	i := id & slotMask
	if i >= uint32(len(t.slots)) || t.slots[i].gen != id>>slotBits {
		return nil
	}
	return t.slots[i].o
}

func (t *sendTable) remove(id uint32) {
	i := id & slotMask
	t.slots[i].o = nil
	t.free = append(t.free, i)
}

// full tells whether no id is free.
func (t *sendTable) full() bool { return len(t.free) == 0 && len(t.slots) > slotMask }

var errNoNames = errclass.New(errclass.NoMem, "a million sends wait for their receives: wait for some of them first")

// isRoom tells whether the error of a post means that it should be tried again later.
func isRoom(err error) bool { return errors.Is(err, bmi.ErrAgain) }
