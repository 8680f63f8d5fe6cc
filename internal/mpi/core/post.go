package core

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// Send sends a message and waits until buf is free again, and in mode Synchronous until a receive
// has begun. The tag is 0 to TagMax, dst a rank or ProcNull.
func (s *Scope) Send(mode Mode, buf Buffer, dst, tag int) error {
	if buf.Type == nil {
		return s.SendBytes(mode, buf.Mem, dst, tag)
	}
	p, bits, err := s.checkSend(&buf, dst, tag)
	if err != nil {
		return err
	}
	e := s.e
	sent, short := s.lockAndSendPiece(p, mode, &buf, bits)
	if sent {
		e.mu.end(short)
		return nil
	}
	o := e.blocker()
	o.prepare(opSend, s)
	o.fillSend(mode, p, bits)
	o.fill(&buf)
	e.start(o)
	e.mu.Unlock()
	_, err = o.outcome()
	return err
}

// Recv receives a message. If it is longer than buf, the error is errclass.Truncate.
func (s *Scope) Recv(buf Buffer, src, tag int) (Status, error) {
	if buf.Type == nil {
		return s.RecvBytes(buf.Mem, src, tag)
	}
	bits, mask, p, err := s.checkRecv(&buf, src, tag)
	if err != nil {
		return Status{}, err
	}
	e := s.e
	short := e.lockToRecv(p, bits, mask)
	return s.recvLocked(&buf, p, bits, mask).endAndOutcome(short)
}

// recvLocked posts a receive whose caller waits for it.
func (s *Scope) recvLocked(buf *Buffer, p *Proc, bits, mask matchbits.Bits) *op {
	o := s.e.blocker()
	o.prepare(opRecv, s)
	o.fillRecv(p, bits, mask)
	o.fill(buf)
	s.e.startRecv(o)
	return o
}

// Exchange sends and receives at once, and waits for both (MPI-4.1, 3.10).
func (s *Scope) Exchange(out Buffer, dst, sendTag int, in Buffer, src, recvTag int) (Status, error) {
	bits, mask, from, err := s.checkRecv(&in, src, recvTag)
	if err != nil {
		return Status{}, err
	}
	to, sendBits, err := s.checkSend(&out, dst, sendTag)
	if err != nil {
		return Status{}, err
	}
	e := s.e
	// A message that leaves at once goes first: the other side waits for it, and the receive is
	// posted while it travels.
	mem, contiguous := out.piece()
	contiguous = contiguous && to != nil
	short := e.lockToRecv(from, bits, mask)
	sent := contiguous && s.sendNow(to, Standard, mem, sendBits, short)
	if short && contiguous && !sent {
		e.mu.endShort()
		e.mu.Lock()
		short, sent = false, s.sendNow(to, Standard, mem, sendBits, false)
	}
	o := s.recvLocked(&in, from, bits, mask)
	e.mu.end(short)
	if sent {
		return o.outcome()
	}
	if err := s.Send(Standard, out, dst, sendTag); err != nil {
		_ = Request{o, o.life}.Cancel()
		if _, rerr := o.outcome(); rerr != nil {
			return Status{}, rerr // the cause, if both failed
		}
		return Status{}, err
	}
	return o.outcome()
}

// Isend posts a send. buf belongs to the engine until the request ends.
func (s *Scope) Isend(mode Mode, buf Buffer, dst, tag int) (Request, error) {
	if buf.Type == nil {
		return s.IsendBytes(mode, buf.Mem, dst, tag)
	}
	p, bits, err := s.checkSend(&buf, dst, tag)
	if err != nil {
		return Request{}, err
	}
	e := s.e
	var o *op
	sent, short := s.lockAndSendPiece(p, mode, &buf, bits)
	if sent {
		o = e.sentOp()
	} else {
		o = e.acquire(opSend, s)
		o.fillSend(mode, p, bits)
		o.fill(&buf)
		e.start(o)
	}
	r := Request{o, o.life}
	e.mu.end(short)
	return r, nil
}

// Irecv posts a receive. buf belongs to the engine until the request ends.
func (s *Scope) Irecv(buf Buffer, src, tag int) (Request, error) {
	if buf.Type == nil {
		return s.IrecvBytes(buf.Mem, src, tag)
	}
	bits, mask, p, err := s.checkRecv(&buf, src, tag)
	if err != nil {
		return Request{}, err
	}
	e := s.e
	short := e.lockToRecv(p, bits, mask)
	o := e.acquire(opRecv, s)
	o.fillRecv(p, bits, mask)
	o.fill(&buf)
	e.startRecv(o)
	r := Request{o, o.life}
	e.mu.endUnsent(short)
	return r, nil
}

// SendInit makes a persistent send (MPI-4.1, 3.9), inactive until Start.
func (s *Scope) SendInit(mode Mode, buf Buffer, dst, tag int) (Request, error) {
	p, bits, err := s.checkSend(&buf, dst, tag)
	if err != nil {
		return Request{}, err
	}
	o := &op{e: s.e}
	o.prepare(opSend, s)
	o.fillSend(mode, p, bits)
	o.fill(&buf)
	o.persistent = true
	return Request{o, persistentLife}, nil
}

// RecvInit makes a persistent receive, inactive until Start.
func (s *Scope) RecvInit(buf Buffer, src, tag int) (Request, error) {
	bits, mask, p, err := s.checkRecv(&buf, src, tag)
	if err != nil {
		return Request{}, err
	}
	o := &op{e: s.e}
	o.prepare(opRecv, s)
	o.fillRecv(p, bits, mask)
	o.fill(&buf)
	o.persistent = true
	return Request{o, persistentLife}, nil
}

func (s *Scope) checkSend(buf *Buffer, dst, tag int) (*Proc, matchbits.Bits, error) {
	p, bits, err := s.checkTo(dst, tag)
	if err == nil {
		err = buf.check()
	}
	return p, bits, err
}

// checkTo returns the destination of a message, nil for ProcNull, and its match bits.
func (s *Scope) checkTo(dst, tag int) (*Proc, matchbits.Bits, error) {
	p, err := s.peer(dst)
	if err != nil {
		return nil, 0, err
	}
	if uint(tag) > TagMax {
		return nil, 0, errTag(tag)
	}
	return p, matchbits.Bits(wire.MakeBits(uint16(s.id), uint32(s.rank), uint32(tag))), nil
}

func (s *Scope) checkRecv(buf *Buffer, src, tag int) (bits, mask matchbits.Bits, p *Proc, err error) {
	if err = buf.checkRoom(); err == nil {
		bits, mask, p, err = s.envelope(src, tag)
	}
	return bits, mask, p, err
}

// fill sets an op's memory.
func (o *op) fill(buf *Buffer) { o.buf, o.size = *buf, buf.size() }

// fillBytes is fill for bytes. The Buffer of an unused op is empty.
func (o *op) fillBytes(mem []byte) { o.buf.Mem, o.size = mem, len(mem) }

// fillSend sets the mode and the destination of an idle send; p is nil for ProcNull.
func (o *op) fillSend(mode Mode, p *Proc, bits matchbits.Bits) {
	o.mode, o.bits = mode, bits
	o.only, o.proc = p, p
}

func (o *op) fillRecv(p *Proc, bits, mask matchbits.Bits) {
	o.bits, o.mask = bits, mask
	o.only, o.proc = p, p
}
