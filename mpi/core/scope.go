package core

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Scope is a communicator as messages see it: a context and the processes behind the
// ranks that sends go to and receives come from, of an inter-communicator those of the
// remote group.
type Scope struct {
	e     *Engine
	id    ContextID
	rank  int
	peers []*Proc

	// Guarded by Engine.mu.
	closed         bool
	revoked        bool
	broken         error               // why no operation of all can end well; nil while all is well
	unacknowledged int                 // peers that failed and that no Acknowledge has seen
	with           []*Scope            // are revoked or broken with this one
	anys           queue.List[op, *op] // posted receives from any source
}

// OpenScope makes a scope. rank is this process's own in its group, which its sends carry.
// Messages that came before are kept for it.
func (e *Engine) OpenScope(id ContextID, rank int, peers []*Proc) (*Scope, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, errFinalized
	case len(peers) > SizeMax || rank < 0 || rank >= SizeMax:
		return nil, errclass.New(errclass.Group, "a group of %d processes, at most %d can be told apart", len(peers), SizeMax)
	case e.scopes[id] != nil:
		return nil, errclass.New(errclass.Intern, "context %d is in use", id)
	}
	s := &Scope{e: e, id: id, rank: rank, peers: append([]*Proc(nil), peers...)}
	for _, p := range peers {
		if p.err != nil {
			s.unacknowledged++
		}
		if _, ok := p.broken[id]; ok {
			s.broken = errBroken(p)
			delete(p.broken, id) // a later scope with this context is another one
		}
	}
	e.scopes[id] = s
	return s, nil
}

// Close refuses further posts; what is posted ends as it would. The id may then be agreed
// on again.
func (s *Scope) Close() error {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.closed {
		return errclass.New(errclass.Comm, "the communicator was freed already")
	}
	s.closed = true
	delete(s.e.scopes, s.id)
	s.e.join()
	s.e.freed = slices.DeleteFunc(append(s.e.freed, s), (*Scope).quiet)
	return nil
}

// quiet tells whether no receive waits for any source.
func (s *Scope) quiet() bool { return s.anys.Len() == 0 }

// Context is the scope's id.
func (s *Scope) Context() ContextID { return s.id }

// Acknowledge lets receives from AnySource be posted although peers failed, and returns
// all that are known to have.
func (s *Scope) Acknowledge() []*Proc {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	var failed []*Proc
	for _, p := range s.peers {
		if p.err != nil {
			failed = append(failed, p)
		}
	}
	s.unacknowledged = 0
	return failed
}

// failAnys ends the receives that wait for any source.
func (s *Scope) failAnys(err error) {
	s.e.join()
	for o := s.anys.First(); o != nil; {
		next := s.anys.Next(o)
		o.fail(err)
		o = next
	}
}

// has tells whether a process is one of the peers.
func (s *Scope) has(p *Proc) bool {
	for _, q := range s.peers {
		if p == q {
			return true
		}
	}
	return false
}

// isRank tells whether a process has the rank that its message says.
func (s *Scope) isRank(p *Proc, rank int) bool {
	if p == s.e.self {
		return true
	}
	return rank < len(s.peers) && s.peers[rank] == p
}

func (s *Scope) isFrom(m *early) bool {
	return s.isRank(m.p, int(wire.SourceOf(uint64(m.bits))))
}

// peer is the process of a rank; nil for ProcNull.
func (s *Scope) peer(rank int) (*Proc, error) {
	if uint(rank) < uint(len(s.peers)) {
		return s.peers[rank], nil
	}
	if rank == ProcNull {
		return nil, nil
	}
	return nil, errclass.New(errclass.Rank, "rank %d, the communicator has 0 to %d", rank, len(s.peers)-1)
}

// envelope is what a receive looks for: match bits, those of them that do not matter, and
// the process if there is only one.
func (s *Scope) envelope(src, tag int) (bits, mask matchbits.Bits, p *Proc, err error) {
	source := uint32(0)
	switch src {
	case AnySource:
		mask |= matchbits.Bits(wire.MaskSource)
	case ProcNull:
	default:
		if p, err = s.peer(src); err != nil {
			return 0, 0, nil, err
		}
		source = uint32(src)
	}
	if tag == AnyTag {
		mask |= matchbits.Bits(wire.MaskTag)
		tag = 0
	} else if uint(tag) > TagMax {
		return 0, 0, nil, errTag(tag)
	}
	return matchbits.Bits(wire.MakeBits(uint16(s.id), source, uint32(tag))), mask, p, nil
}

var errFreed = errclass.New(errclass.Comm, "the communicator was freed")

func errTag(tag int) error {
	return errclass.New(errclass.Tag, "tag %d, give 0 to %d", tag, TagMax)
}
