package ops

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
)

// partArrived handles an EXPECTED or UNEXPECTED packet that is not a whole message.
func (o *Ops) partArrived(r *Peer, h wire.Header, body []byte, unexpected bool) error {
	if wire.IsNext(h.Aux) {
		return o.nextArrived(r, h, body, unexpected)
	}
	first := wire.ParseEagerFirst(h.Aux)
	if r.arriving != nil || first.Length > o.eagerBytes || len(body) >= first.Length || len(body) == 0 {
		return fmt.Errorf("eager message %v with %d bytes: %w", first, len(body), wire.ErrInvalid)
	}
	var a *parts
	if last := len(o.freeParts) - 1; last >= 0 {
		a, o.freeParts = o.freeParts[last], o.freeParts[:last]
	} else {
		a = new(parts)
	}
	*a = parts{length: int32(first.Length), arrived: int32(len(body)), class: bmi.Class(first.Class), tag: h.Bits.Tag()}
	r.arriving = a
	if unexpected {
		a.buf = append(o.buffers.Take(first.Length), body...)
		return nil
	}
	a.msg = o.inbox.Begin(&r.inbox, a.tag, first.Length, nil)
	if a.msg.Waits() {
		o.inbox.Buffer(a.msg)
	}
	a.msg.Write(body)
	return nil
}

// nextArrived continues a message.
func (o *Ops) nextArrived(r *Peer, h wire.Header, body []byte, unexpected bool) error {
	a := r.arriving
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
	if a.arrived += int32(len(body)); a.arrived < a.length {
		return nil
	}
	if whole := o.endParts(r); whole.msg != nil {
		o.inbox.End(whole.msg)
	} else {
		o.inbox.OfferBuffer(&r.inbox, whole.class, bmi.Tag(whole.tag), whole.buf)
	}
	return nil
}

// abandonParts ends a message whose rest will not come.
func (o *Ops) abandonParts(r *Peer, err error) {
	if r.arriving == nil {
		return
	}
	if begun := o.endParts(r); begun.msg != nil {
		o.inbox.Cut(begun.msg, err)
	} else {
		o.buffers.Give(begun.buf)
	}
}

// endParts frees the record of a message of several packets, and returns what was in it.
func (o *Ops) endParts(r *Peer) parts {
	a := r.arriving
	ended := *a
	*a = parts{}
	o.freeParts = append(o.freeParts, a)
	r.arriving = nil
	return ended
}
