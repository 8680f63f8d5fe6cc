package core

import (
	"slices"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Scope is the part of a communicator that matters to messages: a context, and the processes of
// the ranks that sends go to and receives come from. For an inter-communicator these are the
// processes of the remote group.
type Scope struct {
	e     *Engine
	id    ContextID
	rank  int
	peers []*Proc

	// Guarded by Engine.mu.
	closed         bool
	revoked        bool
	broken         error          // why no common operation can succeed; nil if there is no failure
	unacknowledged int            // peers that failed since the last Acknowledge
	with           []*Scope       // scopes that are revoked or broken with this one
	anys           queue.List[op] // posted receives from any source
	server         Server         // executes calls; nil if there is none

	doing atomic.Pointer[string] // see Doing
}

// Doing notes the name of the operation that the scope's messages belong to from now on, for Engine.Blocked.
// The names of repeated operations should be the same strings: then it costs a look.
func (s *Scope) Doing(name *string) {
	if s.doing.Load() != name {
		s.doing.Store(name)
	}
}

// OpenScope makes a scope. rank is this process's rank in its group, which its sends carry.
// Messages that arrived before were kept for it.
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
			delete(p.broken, id) // a later scope with this context is a different one
		}
	}
	e.scopes[id] = s
	e.aware = e.aware || id == Recovery
	return s, nil
}

// Close refuses further posts; posted operations complete as usual. The id may be used again.
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

// quiet tells whether no receive from any source is posted.
func (s *Scope) quiet() bool { return s.anys.Len() == 0 }

// Context returns the scope's id.
func (s *Scope) Context() ContextID { return s.id }

// Acknowledge allows receives from AnySource to be posted although peers failed, and returns the
// peers that are known to have failed.
func (s *Scope) Acknowledge() []*Proc {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	var failed []*Proc
	for _, p := range s.peers {
		if p.err != nil {
			s.e.aware = true
			failed = append(failed, p)
		}
	}
	s.unacknowledged = 0
	return failed
}

// failAnys ends the receives from any source.
func (s *Scope) failAnys(err error) {
	s.e.join()
	for o := s.anys.First(); o != nil; {
		next := o.links.Next()
		s.e.aware = true
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

// isRank tells whether a process has the rank that its message carries.
func (s *Scope) isRank(p *Proc, rank int) bool {
	if p == s.e.self {
		return true
	}
	return rank < len(s.peers) && s.peers[rank] == p
}

func (s *Scope) isFrom(m *early) bool {
	return s.isRank(m.p, int(wire.SourceOf(uint64(m.bits))))
}

// peer returns the process of a rank, or nil for ProcNull.
func (s *Scope) peer(rank int) (*Proc, error) {
	if uint(rank) < uint(len(s.peers)) {
		return s.peers[rank], nil
	}
	if rank == ProcNull {
		return nil, nil
	}
	return nil, errclass.New(errclass.Rank, "rank %d, the communicator has 0 to %d", rank, len(s.peers)-1)
}

// envelope returns what a receive matches: the match bits, a mask of the bits to ignore, and the
// process if it names one.
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
