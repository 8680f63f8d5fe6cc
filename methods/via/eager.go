package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// assembly is an eager message of several packets that is arriving. Its packets
// follow each other, so a peer has one at most.
type assembly struct {
	length, arrived int // 0 ≤ arrived < length while one is under way
	// What the bytes are for: a matched receive, an early message, an
	// unexpected one; neither if it is thrown away (the receive was cancelled
	// or too short).
	recv       *opState
	early      *early
	unexpected bool
	class      bmi.Class
	tag        uint32
	buf        []byte // of an unexpected message
}

func (a *assembly) active() bool { return a.length > 0 }

// eagerArrived handles an EXPECTED or UNEXPECTED packet.
func (m *method) eagerArrived(r *remote, h wire.Header, body []byte, unexpected bool) error {
	if !r.open && !r.fsm.Ready() {
		return fmt.Errorf("%v before the connection is ready", h.Bits.Type())
	}
	if wire.IsNext(h.Aux) {
		return m.nextArrived(r, h, body, unexpected)
	}
	first := wire.ParseEagerFirst(h.Aux)
	if r.assembly.active() || first.Length > m.eagerBytes || len(body) > first.Length ||
		len(body) == 0 && first.Length > 0 {
		return fmt.Errorf("eager message %v with %d bytes: %w", first, len(body), wire.ErrInvalid)
	}
	switch {
	case len(body) < first.Length:
		m.firstArrived(r, h, first, body, unexpected)
	case unexpected:
		m.unexpected(r, bmi.Class(first.Class), bmi.Tag(h.Bits.Tag()), body)
	default:
		m.expected(r, h.Bits.Tag(), body)
	}
	return nil
}

// expected delivers a whole expected message, or keeps it.
func (m *method) expected(r *remote, tag uint32, body []byte) {
	w, ok := m.match.Arrive(r.key | matchbits.Bits(tag))
	if !ok {
		m.keepMessage(r, tag, body)
		return
	}
	r.count.receivedEager(len(body))
	s := w.recv
	if len(body) > s.op.Size {
		m.truncated(s, len(body))
		return
	}
	scatter(s.op.Bufs, 0, body)
	m.finish(s, len(body), nil)
}

// truncated ends a receive that is shorter than its message.
func (m *method) truncated(s *opState, size int) {
	m.finish(s, size, s.r.truncation(size, s.op.Size))
}

// firstArrived begins an assembly.
func (m *method) firstArrived(r *remote, h wire.Header, first wire.EagerFirst, body []byte, unexpected bool) {
	a := assembly{
		length: first.Length, arrived: len(body),
		unexpected: unexpected, class: bmi.Class(first.Class), tag: h.Bits.Tag(),
	}
	if unexpected {
		a.buf = append(m.buffers.Take(first.Length), body...)
		r.assembly = a
		return
	}
	if w, ok := m.match.Arrive(r.key | matchbits.Bits(a.tag)); ok {
		s := w.recv
		if first.Length > s.op.Size {
			m.truncated(s, first.Length)
		} else {
			scatter(s.op.Bufs, 0, body)
			s.phase = phaseAssembling
			a.recv = s
		}
	} else {
		a.early = m.keepFirst(r, a.tag, first.Length, body)
	}
	r.assembly = a
}

// nextArrived continues an assembly.
func (m *method) nextArrived(r *remote, h wire.Header, body []byte, unexpected bool) error {
	a := &r.assembly
	next := wire.ParseEagerNext(h.Aux)
	if !a.active() || a.unexpected != unexpected || next.Offset != a.arrived ||
		h.Bits.Tag() != a.tag || len(body) == 0 || len(body) > a.length-a.arrived {
		return fmt.Errorf("eager packet %v with %d bytes: %w", next, len(body), wire.ErrInvalid)
	}
	switch {
	case unexpected:
		a.buf = append(a.buf, body...)
	case a.recv != nil:
		scatter(a.recv.op.Bufs, a.arrived, body)
	case a.early != nil:
		a.early.data = append(a.early.data, body...)
	}
	if a.arrived += len(body); a.arrived == a.length {
		m.assembled(r)
	}
	return nil
}

// assembled ends an assembly whose last packet came.
func (m *method) assembled(r *remote) {
	a := r.assembly
	r.assembly = assembly{}
	switch {
	case a.unexpected:
		m.unexpectedWhole(r, a)
	case a.recv != nil:
		r.count.receivedEager(a.length)
		m.finish(a.recv, a.length, nil)
	case a.early != nil:
		m.completeEarly(r, a.early)
	}
}
