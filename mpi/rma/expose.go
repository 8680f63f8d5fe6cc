package rma

import (
	"encoding/binary"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// A process that asks for it gets a key to this process's part, or to one attachment of a dynamic
// window, if the method can do that: reach.go is the other side. The key is of use to that process
// alone, over the connection that it has asked over, until the memory is detached, the window is
// freed, or the process has gone.

// exposuresMax limits the attachments that are exposed to one rank. Operations on others are calls.
const exposuresMax = 64

// An exposed is memory that is exposed to a rank.
type exposed struct {
	base     uint64
	withdraw func()
}

// expose exposes the memory that contains a given byte, for RDMA.
func (s *server) expose(rank int, q *wire.Request, r core.Reply, answer []byte) ([]byte, error) {
	if len(q.Data) != wire.ExposeBytes || rank == s.w.me {
		return nil, errMalformed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	off := binary.LittleEndian.Uint64(q.Data)
	x := wire.Exposed{}
	mem := s.w.mem
	if s.w.flavor == Dynamic {
		i := s.find(off)
		if i < 0 {
			return append(answer, byte(wire.NoAttach)), nil
		}
		x.Off, mem = s.attached[i].base, s.attached[i].mem
	} else if off >= uint64(len(mem)) {
		return append(answer, byte(wire.NoRange)), nil
	}
	s.close(rank, x.Off) // an earlier key, which is of no use to the rank any more, or it would not ask
	if len(s.exposed[rank]) == exposuresMax {
		return append(answer, byte(wire.NotExposed)), nil
	}
	key, withdraw, err := r.Expose(mem)
	if err != nil {
		return append(answer, byte(wire.NotExposed)), nil // the rank goes on with calls
	}
	if s.exposed == nil {
		s.exposed = make(map[int][]exposed)
	}
	s.exposed[rank] = append(s.exposed[rank], exposed{x.Off, withdraw})
	x.Length = uint64(len(mem))
	copy(x.Key[:], key)
	return x.Append(append(answer, byte(wire.Done))), nil
}

// close withdraws memory from a rank, if it is exposed. s.mu is held.
func (s *server) close(rank int, base uint64) {
	all := s.exposed[rank]
	for i := range all {
		if all[i].base == base {
			all[i].withdraw()
			s.exposed[rank] = slices.Delete(all, i, i+1)
			return
		}
	}
}

// withdraw withdraws memory from all ranks. s.mu is held.
func (s *server) withdraw(base uint64) {
	for rank := range s.exposed {
		s.close(rank, base)
	}
}

// withdrawFrom withdraws all memory from a rank.
func (s *server) withdrawFrom(rank int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.exposed[rank] {
		x.withdraw()
	}
	delete(s.exposed, rank)
}
