package core

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// An early is a message that arrived before its receive was posted: a whole message, an announced
// one, or one that this process sent to itself.
type early struct {
	p     *Proc
	l     *link
	bits  matchbits.Bits
	ref   matchbits.Ref
	links queue.Links[early] // in Proc.earlies, or in Proc.taken
	next  *early             // in the free list

	size   int
	data   []byte // a whole message; owned by the engine
	id     uint32 // the id for CTS, or for ACK if not 0
	piece  int    // largest piece of an announced message; 0 for a whole one
	charge uint32 // bytes that count as consumed once it is received
	send   *op    // the send of a message to this process, which ends when the message is received; may be nil
	taken  bool   // by a matched probe; it is in Proc.taken
	lost   error  // why the data will not come, if the send ended before the receive
}

func (e *Engine) newEarly(p *Proc, l *link, bits matchbits.Bits, size int) *early {
	m := e.freeEarlies
	if m == nil {
		m = new(early)
	} else {
		e.freeEarlies = m.next
	}
	*m = early{p: p, l: l, bits: bits, size: size}
	return m
}

func (e *Engine) freeEarly(m *early) {
	if m.data != nil {
		e.pool.Give(m.data)
	}
	*m = early{next: e.freeEarlies}
	e.freeEarlies = m
}

// keepEarly stores a message for a later receive.
func (e *Engine) keepEarly(m *early) {
	m.ref = e.match.Keep(m.bits, m)
	m.p.earlies.Add(m, &m.links)
	m.p.rename(m)
	e.stats.Early++
	if e.watch != nil {
		e.watch.kept(e, m)
	}
	e.arrivals.Add(1)
	e.ctx.Notify()
}

// unasked tells whether the sender of a message expects no answer.
func (m *early) unasked() bool { return m.data != nil && m.id == 0 }

// drop removes a message. The caller must consume its charge.
func (e *Engine) drop(m *early) {
	e.match.RemoveKept(m.ref)
	m.p.earlies.Remove(&m.links)
	if m.p == e.self && m.send == nil {
		e.selfBytes -= m.size + chargeBytes
	}
	e.freeEarly(m)
}

// status returns the status that a probe returns for the message.
func (m *early) status() Status { return statusOf(m.bits, m.size) }

func statusOf(bits matchbits.Bits, size int) Status {
	return Status{Source: int(wire.SourceOf(uint64(bits))), Tag: int(wire.TagOf(uint64(bits))), Bytes: size}
}
