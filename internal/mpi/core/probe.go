package core

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Message is a message that a matched probe removed from matching (MPI-4.1, 3.8.2). It is
// received once.
type Message struct {
	status Status
	scope  *Scope
	early  *early // nil for ProcNull or after it was received
	null   bool
}

// Status returns the status of the message.
func (m *Message) Status() Status { return m.status }

// Iprobe tells whether there is a message that a receive would match, and leaves it there (MPI-4.1,
// 3.8.1).
func (s *Scope) Iprobe(src, tag int) (Status, bool, error) {
	st, ok, err := s.look(src, tag)
	if ok || err != nil {
		return st, ok, err
	}
	s.e.Progress()
	return s.look(src, tag)
}

// Probe waits for a message that a receive would match, and leaves it there.
func (s *Scope) Probe(ctx context.Context, src, tag int) (Status, error) {
	var st Status
	err := s.await(ctx, func() (ok bool, err error) {
		st, ok, err = s.look(src, tag)
		return ok, err
	})
	return st, err
}

// Improbe removes a message from matching if there is one.
func (s *Scope) Improbe(src, tag int) (*Message, bool, error) {
	m, ok, err := s.extract(src, tag)
	if ok || err != nil {
		return m, ok, err
	}
	s.e.Progress()
	return s.extract(src, tag)
}

// Mprobe waits for a message and removes it from matching.
func (s *Scope) Mprobe(ctx context.Context, src, tag int) (*Message, error) {
	var m *Message
	err := s.await(ctx, func() (ok bool, err error) {
		m, ok, err = s.extract(src, tag)
		return ok, err
	})
	return m, err
}

// await waits until look succeeds, calling look again after each message that found no receive.
func (s *Scope) await(ctx context.Context, look func() (bool, error)) error {
	e := s.e
	for {
		seen := e.arrivals.Load()
		ok, err := look()
		if ok || err != nil {
			return err
		}
		if err := e.await(ctx, func() bool { return e.arrivals.Load() != seen }); err != nil {
			return err
		}
	}
}

// look finds the message that a receive would match.
func (s *Scope) look(src, tag int) (Status, bool, error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if src == ProcNull {
		return Status{Source: ProcNull, Tag: AnyTag}, true, nil
	}
	m, err := s.peek(src, tag)
	if m == nil {
		return Status{}, false, err
	}
	return m.status(), true, nil
}

func (s *Scope) extract(src, tag int) (*Message, bool, error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if src == ProcNull {
		return &Message{status: Status{Source: ProcNull, Tag: AnyTag}, scope: s, null: true}, true, nil
	}
	m, err := s.peek(src, tag)
	if m == nil {
		return nil, false, err
	}
	s.e.taken(m)
	return &Message{status: m.status(), scope: s, early: m}, true, nil
}

// peek returns the oldest message that a receive would match. If there is none and none can come,
// it returns the reason as an error.
func (s *Scope) peek(src, tag int) (*early, error) {
	bits, mask, p, err := s.envelope(src, tag)
	if err != nil {
		return nil, err
	}
	for {
		m, ok := s.e.match.Peek(bits, mask)
		if !ok || s.revoked {
			o := op{e: s.e, scope: s, proc: p, bits: bits}
			return nil, o.hopeless()
		}
		if s.isFrom(m) {
			return m, nil
		}
		s.e.match.RemoveKept(m.ref)
		s.e.imposter(m)
	}
}

// Irecv receives the message.
func (m *Message) Irecv(buf Buffer) (Request, error) { return m.irecv(buf, false) }

// irecv is Irecv; if staged is set, the message is received through staging memory.
func (m *Message) irecv(buf Buffer, staged bool) (Request, error) {
	s := m.scope
	if err := buf.checkRoom(); err != nil {
		return Request{}, err
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if m.early == nil && !m.null {
		return Request{}, errclass.New(errclass.Request, "the message was received already")
	}
	o := s.e.acquire(opRecv, s)
	o.fillRecv(nil, 0, 0)
	o.fill(&buf)
	o.staged = staged
	o.activate()
	if m.null {
		o.st = m.status
		o.complete()
	} else {
		s.e.receive(o, m.early)
		m.early = nil
	}
	return Request{o, o.life}, nil
}
