package core

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// lockToRecv begins a short hold if startRecv will not need bmi, and a long one otherwise.
func (e *Engine) lockToRecv(p *Proc, bits, mask matchbits.Bits) (short bool) {
	if e.tryToRecv(p, bits, mask) {
		return true
	}
	e.mu.Lock()
	return false
}

// tryToRecv begins a short hold if startRecv will not need bmi.
func (e *Engine) tryToRecv(p *Proc, bits, mask matchbits.Bits) bool {
	if !e.mu.tryShort() {
		return false
	}
	if (p != nil && p.route != nil && e.match.KeptLen() == 0) || e.onlyPosts(p, bits, mask) {
		return true
	}
	e.mu.endShort()
	return false
}

// onlyPosts tells whether a receive needs nothing of bmi: no message for it is here, which may need
// an answer, and no connection has to be made. p is nil for any source.
func (e *Engine) onlyPosts(p *Proc, bits, mask matchbits.Bits) bool {
	if p != nil && p.any() == nil {
		return false
	}
	if e.match.KeptLen() == 0 {
		return true
	}
	_, here := e.match.Peek(bits, mask)
	return !here
}

// startRecv begins an idle receive.
func (e *Engine) startRecv(o *op) {
	o.activate()
	if e.match.KeptLen() == 0 && o.hopeful() && o.proc.any() != nil {
		e.post(o)
		return
	}
	e.startUnusual(o)
}

// startUnusual is startRecv for a receive whose message may have arrived, or can never arrive.
func (e *Engine) startUnusual(o *op) {
	if o.proc == nil && o.mask&matchbits.Bits(wire.MaskSource) == 0 { // from ProcNull
		o.st = Status{Source: ProcNull, Tag: AnyTag}
		o.complete()
		return
	}
	for e.match.KeptLen() > 0 && !o.scope.bars(o.bits) { // otherwise the message there belongs to an operation that others gave up
		m, ok := e.match.Take(o.bits, o.mask)
		if !ok {
			break
		}
		if o.scope.isFrom(m) {
			m.p.earlies.Remove(&m.links)
			e.receive(o, m)
			return
		}
		e.imposter(m)
	}
	err := o.hopeless()
	if err == nil && o.proc != nil && o.proc.any() == nil && o.proc != e.self {
		// Only a connection reports that the process dies before it sends anything.
		if _, err = o.proc.via(); err == nil {
			err = o.hopeless()
		}
	}
	if err != nil {
		o.err = err
		o.complete()
		return
	}
	e.post(o)
}

// hopeful tells whether the receive names a process, and nothing prevents a message from it.
func (o *op) hopeful() bool {
	s, p := o.scope, o.proc
	return p != nil && p.err == nil && !p.left && s.broken == nil && !s.revoked && !s.closed && !o.e.closed
}

// hopeless returns why no message can arrive for the receive, or nil if one can.
func (o *op) hopeless() error {
	if o.hopeful() {
		return nil
	}
	switch {
	case o.e.closed:
		return errFinalized
	case o.scope.closed:
		return errFreed
	}
	if err := o.scope.barred(o.bits); err != nil {
		return err
	}
	switch {
	case o.proc != nil:
		return o.proc.gone()
	case o.scope.unacknowledged > 0:
		return errclass.New(errclass.ProcFailedPending, "a process of the communicator has failed, and may be what a receive from any source waits for: acknowledge the failure first")
	}
	return nil
}

// receive matches a receive, which is in no list, with a message that arrived before it.
func (e *Engine) receive(o *op, m *early) {
	o.proc = m.p
	o.matched(m.bits, m.size)
	m.leaveTaken()
	switch {
	case m.lost != nil:
		o.err = m.lost
		o.complete()
	case m.p == e.self:
		e.receiveSelf(o, m)
		return
	case m.piece == 0:
		m.p.consume(m.charge)
		o.buf.write(0, m.data[:min(m.size, o.size)])
		if m.id != 0 && !m.l.gone {
			m.l.post(wire.KindAck, wire.Ack{Credit: m.p.tell(), ID: m.id}.Append(e.packetBuffer()))
		}
		o.complete()
	case m.p.gone() != nil:
		o.err = m.p.gone()
		o.complete()
	default:
		m.p.consume(m.charge)
		if err := m.p.gone(); err != nil { // may happen when a CREDIT is posted
			o.err = err
			o.complete()
			break
		}
		o.enlist()
		o.take(m.l, m.id, m.size, m.piece)
	}
	e.freeEarly(m)
}

// matched records the message that a receive gets.
func (o *op) matched(bits matchbits.Bits, size int) {
	o.st = statusOf(bits, size)
	if size > o.size {
		o.err = errclass.New(errclass.Truncate, "a message of %d bytes from rank %d with tag %d, the receive has room for %d: give a longer buffer, or probe first",
			size, o.st.Source, o.st.Tag, o.size)
	}
}

// imposter drops a message that carries another process's rank, and fails its sender.
func (e *Engine) imposter(m *early) {
	p := m.p
	p.earlies.Remove(&m.links)
	p.broke("it sent a message with the rank of another process")
	e.freeEarly(m)
}

// arriveEager handles a whole message.
func (e *Engine) arriveEager(l *link, h wire.Eager, data []byte) {
	p, bits := l.proc, matchbits.Bits(h.Bits)
	n := uint32(len(data)) + chargeBytes
	if !p.charge(n, 0) {
		return
	}
	o := e.find(p, bits)
	if p.err != nil {
		return
	}
	if o == nil {
		if h.ID == 0 && e.bars(bits) {
			p.consume(n)
			return
		}
		e.keepEager(l, h, data)
		return
	}
	o.matched(bits, len(data))
	o.buf.write(0, data[:min(len(data), o.size)])
	p.consume(n)
	if h.ID != 0 && !l.gone {
		l.post(wire.KindAck, wire.Ack{Credit: p.tell(), ID: h.ID}.Append(e.packetBuffer()))
	}
	o.complete()
}

// keepEager keeps a whole message for its receive.
func (e *Engine) keepEager(l *link, h wire.Eager, data []byte) {
	m := e.newEarly(l.proc, l, matchbits.Bits(h.Bits), len(data))
	m.data = append(e.pool.Take(len(data)), data...)
	m.id, m.charge = h.ID, uint32(len(data))+chargeBytes
	e.keepEarly(m)
}

// arriveRTS handles the announcement of a message.
func (e *Engine) arriveRTS(l *link, r wire.RTS) {
	p, bits := l.proc, matchbits.Bits(r.Bits)
	if !p.charge(chargeBytes, announcedBytes) {
		return
	}
	if r.Size > sizeMax || r.Piece != 0 && r.Piece < pieceBytesMin {
		p.broke("it announced a message of %d bytes in pieces of %d", r.Size, r.Piece)
		return
	}
	piece := int(r.Piece)
	if piece == 0 {
		piece = l.pieceMax
	}
	o := e.find(p, bits)
	if p.err != nil {
		return
	}
	if o == nil {
		m := e.newEarly(p, l, bits, int(r.Size))
		m.id, m.charge, m.piece = r.ID, chargeBytes, piece
		e.keepEarly(m)
		return
	}
	o.matched(bits, int(r.Size))
	p.consume(chargeBytes)
	if err := p.gone(); err != nil {
		if o.err == nil {
			o.err = err
		}
		o.complete()
		return
	}
	o.proc = p
	o.enlist()
	o.take(l, r.ID, int(r.Size), piece)
}

// sizeMax is the largest message in bytes; it is small enough that no sum of sizes overflows.
const sizeMax = 1 << 48

// find is arrival, but fails a process that uses another's rank.
func (e *Engine) find(p *Proc, bits matchbits.Bits) *op {
	o, ok := e.arrival(p, bits)
	if !ok {
		p.broke("it sent a message with the rank of another process")
	}
	return o
}
