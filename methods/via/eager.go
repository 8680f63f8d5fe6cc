package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/inbox"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// assembly is an eager message of several packets that is arriving. Its packets
// follow each other, so a peer has one at most.
type assembly struct {
	length, arrived int32 // 0 ≤ arrived < length; both are at most EagerBytesMax
	tag             uint32
	msg             *inbox.Message // an expected message; nil: an unexpected one
	class           bmi.Class
	buf             []byte // of an unexpected message
}

// keepAssembly keeps an assembly until the next packet of the peer.
func (m *method) keepAssembly(r *remote, a assembly) {
	if last := len(m.assemblies) - 1; last >= 0 {
		r.assembly = m.assemblies[last]
		m.assemblies = m.assemblies[:last]
	} else {
		r.assembly = new(assembly)
	}
	*r.assembly = a
}

// endAssembly gives back the record of an assembly that its peer does not have any more.
func (m *method) endAssembly(a *assembly) {
	*a = assembly{}
	m.assemblies = append(m.assemblies, a)
}

// partArrived handles an EXPECTED or UNEXPECTED packet that is not a whole message.
func (m *method) partArrived(r *remote, h wire.Header, body []byte, unexpected bool) error {
	if wire.IsNext(h.Aux) {
		return m.nextArrived(r, h, body, unexpected)
	}
	first := wire.ParseEagerFirst(h.Aux)
	if r.assembly != nil || first.Length > m.eagerBytes || len(body) >= first.Length || len(body) == 0 {
		return fmt.Errorf("eager message %v with %d bytes: %w", first, len(body), wire.ErrInvalid)
	}
	a := assembly{length: int32(first.Length), arrived: int32(len(body)), class: bmi.Class(first.Class), tag: h.Bits.Tag()}
	if unexpected {
		a.buf = append(m.buffers.Take(first.Length), body...)
	} else {
		a.msg = m.inbox.Begin(&r.inbox, a.tag, first.Length, nil)
		if a.msg.Waits() {
			m.inbox.Buffer(a.msg)
		}
		a.msg.Write(body)
	}
	m.keepAssembly(r, a)
	return nil
}

// nextArrived continues an assembly.
func (m *method) nextArrived(r *remote, h wire.Header, body []byte, unexpected bool) error {
	a := r.assembly
	next := wire.ParseEagerNext(h.Aux)
	if a == nil || unexpected != (a.msg == nil) || next.Offset != int(a.arrived) ||
		h.Bits.Tag() != a.tag || len(body) == 0 || len(body) > int(a.length-a.arrived) {
		return fmt.Errorf("eager packet %v with %d bytes: %w", next, len(body), wire.ErrInvalid)
	}
	if unexpected {
		a.buf = append(a.buf, body...)
	} else {
		a.msg.Write(body)
	}
	if a.arrived += int32(len(body)); a.arrived == a.length {
		m.assembled(r)
	}
	return nil
}

// assembled ends an assembly whose last packet came.
func (m *method) assembled(r *remote) {
	a := r.assembly
	r.assembly = nil
	if a.msg != nil {
		m.inbox.End(a.msg)
	} else {
		m.inbox.OfferBuffer(&r.inbox, a.class, bmi.Tag(a.tag), a.buf)
	}
	m.endAssembly(a)
}

// abandonAssembly ends an assembly whose rest will not come.
func (m *method) abandonAssembly(r *remote, err error) {
	a := r.assembly
	if a == nil {
		return
	}
	r.assembly = nil
	if a.msg != nil {
		m.inbox.Cut(a.msg, err)
	} else {
		m.buffers.Give(a.buf)
	}
	m.endAssembly(a)
}
