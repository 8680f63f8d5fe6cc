package coretest

import (
	"context"
	"maps"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// firstContext is the id of the first communicator of the first program. A program has up to
// commsMax; the others follow.
const (
	firstContext = 6
	commsMax     = 8
)

// An enginePort is an engine as a Blocking. The scope of a communicator opens with its first use;
// earlier messages are kept for it.
type enginePort struct {
	e      *core.Engine
	first  int // id of communicator 0
	rank   int
	peers  []*core.Proc
	scopes map[int]*core.Scope
}

func newEnginePort(e *core.Engine, first, rank int, peers []*core.Proc) *enginePort {
	return &enginePort{e: e, first: first, rank: rank, peers: peers, scopes: make(map[int]*core.Scope)}
}

func (p *enginePort) scope(comm int) (*core.Scope, error) {
	if s := p.scopes[comm]; s != nil {
		return s, nil
	}
	s, err := p.e.OpenScope(core.ContextID(p.first+comm), p.rank, p.peers)
	if err == nil {
		p.scopes[comm] = s
	}
	return s, err
}

// post calls do with a scope.
func post[T any](p *enginePort, comm int, do func(s *core.Scope) (T, error)) (T, error) {
	s, err := p.scope(comm)
	if err != nil {
		var none T
		return none, err
	}
	return do(s)
}

func (p *enginePort) Isend(comm int, mode core.Mode, buf core.Buffer, dst, tag int) (Request, error) {
	return post(p, comm, func(s *core.Scope) (Request, error) { return s.Isend(mode, buf, dst, tag) })
}

func (p *enginePort) Irecv(comm int, buf core.Buffer, src, tag int) (Request, error) {
	return post(p, comm, func(s *core.Scope) (Request, error) { return s.Irecv(buf, src, tag) })
}

func (p *enginePort) SendInit(comm int, mode core.Mode, buf core.Buffer, dst, tag int) (Persistent, error) {
	return post(p, comm, func(s *core.Scope) (Persistent, error) { return s.SendInit(mode, buf, dst, tag) })
}

func (p *enginePort) RecvInit(comm int, buf core.Buffer, src, tag int) (Persistent, error) {
	return post(p, comm, func(s *core.Scope) (Persistent, error) { return s.RecvInit(buf, src, tag) })
}

func (p *enginePort) Iprobe(comm int, src, tag int) (st core.Status, ok bool, err error) {
	_, err = post(p, comm, func(s *core.Scope) (any, error) {
		st, ok, err = s.Iprobe(src, tag)
		return nil, err
	})
	return st, ok, err
}

// A taken is a core.Message as a Message.
type taken struct{ *core.Message }

func (m taken) Irecv(buf core.Buffer) (Request, error) { return m.Message.Irecv(buf) }

func (p *enginePort) Improbe(comm int, src, tag int) (Message, bool, error) {
	var found bool
	m, err := post(p, comm, func(s *core.Scope) (m *core.Message, err error) {
		m, found, err = s.Improbe(src, tag)
		return m, err
	})
	return taken{m}, found, err
}

// list returns the engine's requests.
func list(rs []Request) []core.Request {
	all := make([]core.Request, len(rs))
	for i, r := range rs {
		if r != nil {
			all[i] = r.(core.Request)
		}
	}
	return all
}

func (p *enginePort) TestAny(rs []Request) (int, core.Status, bool, error) {
	return p.e.TestAny(list(rs))
}

func (p *enginePort) TestAll(rs []Request, statuses []core.Status, errs []error) (bool, error) {
	return p.e.TestAll(list(rs), statuses, errs)
}

func (p *enginePort) TestSome(rs []Request, indices []int, statuses []core.Status, errs []error) ([]int, error) {
	return p.e.TestSome(list(rs), indices, statuses, errs)
}

func (p *enginePort) Send(comm int, mode core.Mode, buf core.Buffer, dst, tag int) error {
	_, err := post(p, comm, func(s *core.Scope) (any, error) { return nil, s.Send(mode, buf, dst, tag) })
	return err
}

func (p *enginePort) Recv(comm int, buf core.Buffer, src, tag int) (core.Status, error) {
	return post(p, comm, func(s *core.Scope) (core.Status, error) { return s.Recv(buf, src, tag) })
}

func (p *enginePort) Exchange(comm int, out core.Buffer, dst, sendTag int, in core.Buffer, src, recvTag int) (core.Status, error) {
	return post(p, comm, func(s *core.Scope) (core.Status, error) {
		return s.Exchange(out, dst, sendTag, in, src, recvTag)
	})
}

func (p *enginePort) Probe(ctx context.Context, comm int, src, tag int) (core.Status, error) {
	return post(p, comm, func(s *core.Scope) (core.Status, error) { return s.Probe(ctx, src, tag) })
}

func (p *enginePort) Mprobe(ctx context.Context, comm int, src, tag int) (Message, error) {
	return post(p, comm, func(s *core.Scope) (Message, error) {
		m, err := s.Mprobe(ctx, src, tag)
		return taken{m}, err
	})
}

func (p *enginePort) WaitAny(ctx context.Context, rs []Request) (int, core.Status, error) {
	return p.e.WaitAny(ctx, list(rs))
}

func (p *enginePort) WaitAll(ctx context.Context, rs []Request, statuses []core.Status, errs []error) error {
	return p.e.WaitAll(ctx, list(rs), statuses, errs)
}

func (p *enginePort) WaitSome(ctx context.Context, rs []Request, indices []int, statuses []core.Status, errs []error) ([]int, error) {
	return p.e.WaitSome(ctx, list(rs), indices, statuses, errs)
}

// openAll opens the first n communicators.
func (p *enginePort) openAll(n int) error {
	for comm := range n {
		if _, err := p.scope(comm); err != nil {
			return err
		}
	}
	return nil
}

// revokeAll revokes all open communicators.
func (p *enginePort) revokeAll() {
	for _, comm := range slices.Sorted(maps.Keys(p.scopes)) {
		p.scopes[comm].Revoke()
	}
}

// close closes every scope.
func (p *enginePort) close() error {
	for _, s := range p.scopes {
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}
