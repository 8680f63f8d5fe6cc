package via

import (
	"github.com/viaduct-hpc/viaduct/methods/via/bulk"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// large is the part of an opState that only a large message uses.
type large struct {
	transfer bulk.Transfer
	id       uint64 // of this operation, in packets from the peer
	theirs   uint64 // of the peer's operation, in packets to it

	remote []wire.Piece // the peer's memory for this side's part
	memory link.Memory  // this side's, registered while the message moves

	waiting  bool // in method.moving or remote.movers
	settling bool // in method.settling: its memory could not be withdrawn yet
}

// beginLarge gives an operation its large part.
func (m *method) beginLarge(s *opState) *large {
	l := &large{}
	if n := len(m.freeLarges); n > 0 {
		l = m.freeLarges[n-1]
		m.freeLarges = m.freeLarges[:n-1]
	}
	l.id = m.movers.add(s)
	s.large = l
	return l
}

// endLarge puts the large part of an operation back.
func (m *method) endLarge(s *opState) {
	l := s.large
	m.movers.remove(l.id)
	*l = large{remote: l.remote[:0], memory: l.memory}
	s.large = nil
	m.freeLarges = append(m.freeLarges, l)
}

// movers is a table of the large operations, by the ids that peers use for them.
// An id is an index and a generation, so that a late or invented one finds
// nothing.
type movers struct {
	entries []moverEntry
	free    []uint32
}

type moverEntry struct {
	state      *opState
	generation uint32
}

func (t *movers) add(s *opState) uint64 {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		t.entries[i].state = s
		return uint64(t.entries[i].generation)<<32 | uint64(i)
	}
	t.entries = append(t.entries, moverEntry{state: s, generation: 1})
	return 1<<32 | uint64(len(t.entries)-1)
}

// find returns the operation that a peer means, or nil.
func (t *movers) find(r *remote, id uint64) *opState {
	i := uint32(id)
	if int(i) >= len(t.entries) {
		return nil
	}
	e := &t.entries[i]
	if e.state == nil || e.state.r != r || e.generation != uint32(id>>32) {
		return nil
	}
	return e.state
}

func (t *movers) remove(id uint64) {
	e := &t.entries[uint32(id)]
	e.state = nil
	e.generation++
	t.free = append(t.free, uint32(id))
}

// open registers the memory of an operation for the peer to access. It reports
// false if that fails, or if a packet with fixed other bytes has no room for the
// list of pieces.
func (m *method) open(s *opState, access link.Access, fixed int) bool {
	mem := &s.large.memory
	if !s.r.link.Register(mem, s.op.Bufs, access, RDMAPiecesMax) {
		return false
	}
	if fixed+mem.Regions()*wire.PieceLen > s.r.link.PacketBytes() {
		mem.Withdraw()
		return false
	}
	return true
}

// settle completes an operation in phaseEnding once its memory is free: the NIC gave back every descriptor, and the memory is closed to
// the peer.
func (m *method) settle(s *opState) {
	l := s.large
	if s.inflight > 0 {
		return
	}
	if l == nil {
		m.finish(s, 0, s.err)
		return
	}
	if l.waiting || l.settling {
		// The next Poll comes back to it.
		return
	}
	if !l.memory.Withdraw() {
		l.settling = true
		m.settling = append(m.settling, s)
		return
	}
	size := 0
	if s.err == nil {
		size = l.transfer.Size()
	}
	m.finish(s, size, s.err)
}

// settleAll tries again what could not be withdrawn.
func (m *method) settleAll() (did bool) {
	again := m.settling
	m.settling = m.settlingNext[:0]
	for _, s := range again {
		s.large.settling = false
		did = true
		m.settle(s)
	}
	clear(again)
	m.settlingNext = again[:0]
	return did
}
