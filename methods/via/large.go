package via

import (
	"github.com/viaduct-hpc/viaduct/methods/via/bulk"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// large is the part of an opState that only a large message uses.
type large struct {
	transfer bulk.Transfer
	id       uint64 // of this operation, in packets from the peer
	theirs   uint64 // of the peer's operation, in packets to it

	remote []wire.Piece   // the peer's memory for this side's part
	memory []*vipl.Memory // this side's, registered while the message moves, one for each piece that is not empty

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
	*l = large{remote: l.remote[:0], memory: l.memory[:0]}
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
func (m *method) open(s *opState, access nic.Access, fixed int) bool {
	if !m.register(s, access, RDMAPiecesMax) {
		return false
	}
	if fixed+len(s.large.memory)*wire.PieceLen > s.r.packetBytes {
		m.withdraw(s)
		return false
	}
	return true
}

// register makes the memory of an operation known to the NIC under the link's
// protection tag, if it has no more than limit pieces. It reports false if that
// cannot be done; nothing is registered then.
func (m *method) register(s *opState, access nic.Access, limit int) bool {
	l := s.large
	for _, b := range s.op.Bufs {
		if len(b) == 0 {
			continue
		}
		if len(l.memory) == limit {
			m.withdraw(s)
			return false
		}
		mem, err := m.nic.RegisterMem(b, vipl.MemAttributes{
			Tag:         s.r.link.tag,
			RemoteRead:  access&nic.AccessRemoteRead != 0,
			RemoteWrite: access&nic.AccessRemoteWrite != 0,
		})
		if err != nil {
			m.withdraw(s)
			return false
		}
		l.memory = append(l.memory, mem)
	}
	return true
}

// withdraw closes the memory of an operation to the peer. It reports false
// while an access of the peer is under way.
func (m *method) withdraw(s *opState) bool {
	l := s.large
	for n := len(l.memory); n > 0; n = len(l.memory) {
		if err := l.memory[n-1].Deregister(); err != nil {
			return false
		}
		l.memory[n-1] = nil
		l.memory = l.memory[:n-1]
	}
	return true
}

// pieces appends the list that the peer needs to access the bytes from off on.
func (l *large) pieces(to []wire.Piece, off int) []wire.Piece {
	for _, mem := range l.memory {
		if off >= len(mem.Data) {
			off -= len(mem.Data)
			continue
		}
		r := mem.Remote(off)
		to = append(to, wire.Piece{Addr: r.Addr, Handle: uint64(r.Handle), Len: uint64(len(mem.Data) - off)})
		off = 0
	}
	return to
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
	if !m.withdraw(s) {
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
