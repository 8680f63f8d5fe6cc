package mpi

import (
	"context"
	"hash/fnv"
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The process sets that every session has (MPI-4.1, 11.3.2), and one of this library.
const (
	WorldSet = "mpi://WORLD"    // the processes that were started together
	SelfSet  = "mpi://SELF"     // this process
	HostSet  = "viaduct://HOST" // the processes of World that share memory with this one
)

// A Session is a way to the processes of a job that does not need World: libraries within one
// program each open their own, and make communicators of sets of processes (MPI-4.1, 11.3).
type Session struct {
	p    *Process
	owns bool // OpenSession has made the process

	mu    sync.Mutex
	ended bool // guarded by mu
}

// OpenSession begins a process's part in its job, as Init does, and opens a session
// (MPI_Session_init; MPI-4.1, 11.3.1). Session.Finalize ends both. A program that has a Process
// calls Process.OpenSession.
func OpenSession(ctx context.Context, o Options) (*Session, error) {
	p, err := Init(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Session{p: p, owns: true}, nil
}

// OpenSession opens a session of a process that Init has made (MPI_Session_init; MPI-4.1, 11.3.1).
func (p *Process) OpenSession() (s *Session, err error) {
	defer p.call("MPI_Session_init", &err)()
	if err := p.self.checkLive(); err != nil {
		return nil, err
	}
	return &Session{p: p}, nil
}

// Finalize ends the session (MPI_Session_finalize; MPI-4.1, 11.3.1). Communicators that were made
// from it go on, unless OpenSession has opened it: then it acts as Process.Finalize.
func (s *Session) Finalize(ctx context.Context) error {
	if err := s.use("MPI_Session_finalize", func() error { s.ended = true; return nil }); err != nil || !s.owns {
		return err
	}
	return s.p.Finalize(ctx)
}

// use does something with a session that has not ended.
func (s *Session) use(name string, do func() error) (err error) {
	if s == nil {
		return errclass.New(errclass.Session, "the session is nil: open one")
	}
	defer s.p.call(name, &err)()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errclass.New(errclass.Session, "the session has been finalized: open another")
	}
	return do()
}

// PSets returns the names of the process sets (MPI_Session_get_num_psets,
// MPI_Session_get_nth_pset; MPI-4.1, 11.3.3).
func (s *Session) PSets() (names []string, err error) {
	err = s.use("MPI_Session_get_num_psets", func() error {
		names = []string{WorldSet, SelfSet, HostSet}
		return nil
	})
	return names, err
}

// Group returns the group of a process set (MPI_Group_from_session_pset; MPI-4.1, 7.3.2).
func (s *Session) Group(pset string) (g *Group, err error) {
	err = s.use("MPI_Group_from_session_pset", func() error {
		w := s.p.world.group
		switch pset {
		case WorldSet:
			g = w
		case SelfSet:
			g = s.p.self.group
		case HostSet:
			host := s.p.engine.Self().Card().Host
			var ranks []int
			for rank, q := range w.All() {
				if q.Card().Host == host {
					ranks = append(ranks, rank)
				}
			}
			var err error
			g, err = w.Incl(ranks)
			return err
		default:
			return errclass.New(errclass.Arg, "there is no process set %q: PSets returns the names", pset)
		}
		return nil
	})
	return g, err
}

// CreateFromGroup makes a communicator of a group of processes of World, which all call it with the
// same group and tag (MPI_Comm_create_from_group; MPI-4.1, 7.4.2). Several goroutines may do so at
// once with different tags.
func (s *Session) CreateFromGroup(ctx context.Context, g *Group, tag string) (made *Comm, err error) {
	err = s.use("MPI_Comm_create_from_group", func() error {
		if g == nil {
			return errclass.New(errclass.Group, "the group is nil: take one of Session.Group")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.p.world.CreateGroup(ctx, g, numberOf(tag))
}

// IntercommFromGroups makes an inter-communicator of two disjoint groups of processes of World, which
// all call it with the same tag: with their own group and the rank of its leader, and with the other
// group and the rank of its leader (MPI_Intercomm_create_from_groups; MPI-4.1, 7.6.2).
func (s *Session) IntercommFromGroups(ctx context.Context, own *Group, leader int, other *Group, otherLeader int, tag string) (made *Comm, err error) {
	q, err := other.At(otherLeader)
	if err != nil {
		return nil, s.p.self.fail(err)
	}
	local, err := s.CreateFromGroup(ctx, own, tag)
	if err != nil || local == nil {
		return nil, err
	}
	defer func() { _ = local.Free() }() // cannot fail: it has no attributes
	return local.IntercommCreate(ctx, leader, s.p.world, s.p.world.group.Rank(q), numberOf(tag))
}

// numberOf returns the number that stands for a text in tags of World.
func numberOf(tag string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tag)) // never fails
	return int(h.Sum32()) & userTagMax
}
