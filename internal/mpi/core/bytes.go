package core

import "github.com/viaduct-hpc/viaduct/matchbits"

// Send, Recv and so on for plain bytes, which nearly all small messages are. A slice travels in
// registers from the program's call to here; a Buffer does not.

// SendBytes is Send of a Buffer of bytes.
func (s *Scope) SendBytes(mode Mode, mem []byte, dst, tag int) error {
	p, bits, err := s.checkTo(dst, tag)
	if err != nil {
		return err
	}
	e := s.e
	sent, short := s.lockAndSend(p, mode, mem, bits)
	if sent {
		e.mu.end(short)
		return nil
	}
	o := e.blocker()
	o.prepare(opSend, s)
	o.fillSend(mode, p, bits)
	o.fillBytes(mem)
	e.start(o)
	e.mu.Unlock()
	_, err = o.outcome()
	return err
}

// IsendBytes is Isend of a Buffer of bytes.
func (s *Scope) IsendBytes(mode Mode, mem []byte, dst, tag int) (Request, error) {
	p, bits, err := s.checkTo(dst, tag)
	if err != nil {
		return Request{}, err
	}
	e := s.e
	var o *op
	sent, short := s.lockAndSend(p, mode, mem, bits)
	if sent {
		o = e.sentOp()
	} else {
		o = e.acquire(opSend, s)
		o.fillSend(mode, p, bits)
		o.fillBytes(mem)
		e.start(o)
	}
	r := Request{o, o.life}
	e.mu.end(short)
	return r, nil
}

// RecvBytes is Recv into a Buffer of bytes.
func (s *Scope) RecvBytes(mem []byte, src, tag int) (Status, error) {
	bits, mask, p, err := s.envelope(src, tag)
	if err != nil {
		return Status{}, err
	}
	e := s.e
	short := e.lockToRecv(p, bits, mask)
	return s.recvBytesLocked(mem, p, bits, mask).endAndOutcome(short)
}

// recvBytesLocked posts a receive whose caller waits for it.
func (s *Scope) recvBytesLocked(mem []byte, p *Proc, bits, mask matchbits.Bits) *op {
	o := s.e.blocker()
	o.prepare(opRecv, s)
	o.fillRecv(p, bits, mask)
	o.fillBytes(mem)
	s.e.startRecv(o)
	return o
}

// IrecvBytes is Irecv into a Buffer of bytes.
func (s *Scope) IrecvBytes(mem []byte, src, tag int) (Request, error) {
	bits, mask, p, err := s.envelope(src, tag)
	if err != nil {
		return Request{}, err
	}
	e := s.e
	short := e.lockToRecv(p, bits, mask)
	o := e.acquire(opRecv, s)
	o.fillRecv(p, bits, mask)
	o.fillBytes(mem)
	e.startRecv(o)
	r := Request{o, o.life}
	e.mu.endUnsent(short)
	return r, nil
}

// ExchangeBytes is Exchange of Buffers of bytes, with one tag both ways.
func (s *Scope) ExchangeBytes(out []byte, dst int, in []byte, src, tag int) (Status, error) {
	bits, mask, from, err := s.envelope(src, tag)
	if err != nil {
		return Status{}, err
	}
	to, sendBits, err := s.checkTo(dst, tag)
	if err != nil {
		return Status{}, err
	}
	e := s.e
	if to != nil && e.tryToRecv(from, bits, mask) {
		if s.sendNow(to, Standard, out, sendBits, true) {
			return s.recvBytesLocked(in, from, bits, mask).endAndOutcome(true)
		}
		e.mu.endShort()
	}
	return s.Exchange(Buffer{Mem: out}, dst, tag, Buffer{Mem: in}, src, tag)
}
