package ops

import (
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
)

// open registers the memory of an operation for the peer to access. It reports
// false if that fails, or if a packet with fixed other bytes has no room for the
// list of pieces.
func (s *opState) open(access link.Access, fixed int) bool {
	mem := &s.large.memory
	if !s.r.Link.Register(mem, s.op.Bufs, access, RDMAPiecesMax) {
		return false
	}
	if fixed+mem.Regions()*wire.PieceLen > s.r.Link.PacketBytes() {
		mem.Withdraw()
		return false
	}
	return true
}

// settle completes an operation in phaseEnding once its memory is free: the NIC gave back every descriptor, and the memory is closed to
// the peer.
func (o *Ops) settle(s *opState) {
	l := s.large
	switch {
	case s.inflight > 0:
		return
	case l == nil:
		o.finish(s, 0, s.err)
		return
	case l.waiting || l.settling:
		return // the next Poll comes back to it
	case !l.memory.Withdraw():
		l.settling = true
		o.settling.Add(s)
		return
	}
	size := 0
	if s.err == nil {
		size = l.transfer.Size()
	}
	o.finish(s, size, s.err)
}

// settleAll tries again what could not be withdrawn.
func (o *Ops) settleAll() {
	o.settling.Each(func(s *opState) {
		s.large.settling = false
		o.settle(s)
	})
}
