package core

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// quickArrivals is arrive for whole messages that need no answer: nearly all small ones
// (bmi.QuickHandler). It is called with a lock of bmi held, so it must neither wait nor post. It
// leaves everything unusual, untouched, to arrive.
type quickArrivals struct{ e *Engine }

func (q quickArrivals) Begin(from bmi.Addr) bool { return q.e.mu.tryWithin(from) }
func (q quickArrivals) End()                     { q.e.mu.endWithin() }

func (q quickArrivals) Take(from bmi.Addr, _ bmi.Class, tag bmi.Tag, data []byte) bool {
	return wire.Kind(tag) == wire.KindEager && q.e.takeQuick(from, data)
}

// takeQuick takes the packet of an eager message.
func (e *Engine) takeQuick(from bmi.Addr, packet []byte) bool {
	l := e.recent
	if l == nil || l.addr != from {
		return false
	}
	h, data, err := wire.ParseEager(packet)
	p, n := l.proc, uint32(len(data))+chargeBytes
	if err != nil || h.ID != 0 || p.err != nil || p.left || l.bye || !p.backlog.Empty() {
		return false
	}
	window := uint32(e.cfg.Limits.WindowBytes)
	returned := h.Credit - p.returned
	if p.arrived-p.consumed+n > window || p.consumed-p.told+n >= window/2 ||
		int32(returned) > 0 && returned > p.charged-p.returned {
		return false
	}
	bits := matchbits.Bits(h.Bits)
	o, ok := e.arrival(p, bits)
	if !ok {
		return false
	}
	if int32(returned) > 0 {
		p.returned = h.Credit
	}
	p.arrived += n
	switch {
	case o != nil:
		p.consumed += n
	case e.bars(bits):
		p.consumed += n // no receive will take it
		return true
	default:
		e.keepEager(l, h, data)
		return true
	}
	o.matched(bits, len(data))
	o.buf.write(0, data[:min(len(data), o.size)])
	o.completeWithin()
	return true
}
