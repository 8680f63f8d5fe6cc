package core

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// CommonTags separates tags: tags below it are those of operations in which all processes of a
// scope take part. If such an operation fails in one process, another process that waits for the
// first could wait for ever. Break ends the operation in all of them.
const CommonTags = 1 << 26

// Revoke ends every operation of the scope with errclass.Revoked, here and at every peer.
func (s *Scope) Revoke() {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.revoke()
}

// Break ends all operations of the scope whose tag is below CommonTags, and lets no other begin.
// They end with cause here, and with errclass.ProcFailed at every peer. Break does nothing unless a
// peer of this scope, or of one that ends with it, is gone: then all operations end by themselves.
func (s *Scope) Break(cause error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.lost() {
		s.breakUp(cause)
	}
}

// lost tells whether a process is gone that collective operations may wait for.
func (s *Scope) lost() bool {
	gone := func(p *Proc) bool { return p.gone() != nil }
	return slices.ContainsFunc(s.peers, gone) || slices.ContainsFunc(s.with, (*Scope).lost)
}

// EndWith makes other scopes of the process end with this one: they are revoked or broken, here and
// at their peers, when this one is. An inter-communicator needs this because its operations also
// wait for the local group, which has its own scopes.
func (s *Scope) EndWith(others ...*Scope) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.with = append(s.with, others...)
}

// Revoked tells whether the scope is revoked.
func (s *Scope) Revoked() bool {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return s.revoked
}

func (s *Scope) revoke() {
	if s.revoked || s.closed {
		return
	}
	s.revoked, s.e.aware = true, true
	s.e.tell(Event{Kind: ScopeRevoked, Context: s.id})
	s.end(errRevoked(s))
	for _, other := range s.with {
		other.revoke()
	}
}

func (s *Scope) breakUp(cause error) {
	if s.revoked || s.closed || s.broken != nil {
		return
	}
	s.broken, s.e.aware = cause, true
	s.end(cause)
	for _, other := range s.with {
		other.breakUp(cause)
	}
}

func errRevoked(s *Scope) error {
	return errclass.New(errclass.Revoked, "the communicator with context %d was revoked: agree on what is left, and shrink it", s.id)
}

// errBroken returns the error of a scope that a peer reported as broken.
func errBroken(p *Proc) error {
	return errclass.New(errclass.ProcFailed, "a process of the communicator has failed, says process %s: no collective operation on it ends any more, revoke and shrink it", p)
}

// bars tells whether operations with these bits are forbidden: new ones must not begin, and pending
// ones must end.
func (s *Scope) bars(bits matchbits.Bits) bool {
	return s.revoked || s.broken != nil && wire.TagOf(uint64(bits)) < CommonTags
}

// barred returns the reason, or nil if such operations are allowed.
func (s *Scope) barred(bits matchbits.Bits) error {
	switch {
	case !s.bars(bits):
		return nil
	case s.revoked:
		return errRevoked(s)
	}
	return s.broken
}

// end ends the operations that are barred now. It informs every peer, so that all learn of it even
// if the process that started this fails.
func (s *Scope) end(err error) {
	e := s.e
	s.dropEarlies()
	for _, p := range s.peers {
		if p == e.self || p.gone() != nil {
			continue
		}
		if l, err := p.via(); err == nil {
			r := wire.Revoke{Credit: p.tell(), Context: uint16(s.id), Failure: !s.revoked}
			l.post(wire.KindRevoke, r.Append(e.packetBuffer()))
		}
		s.answerTaken(p)
	}
	e.join()
	for o := s.anys.First(); o != nil; {
		next := o.links.Next()
		if s.bars(o.bits) {
			o.fail(err)
		}
		o = next
	}
	for _, p := range s.peers {
		for o := p.ops.First(); o != nil; {
			next := o.links.Next()
			if o.scope == s && s.bars(o.bits) {
				o.revoke(err)
			}
			if p.err != nil {
				break // its connection ended when it was asked, and all operations with it
			}
			o = next
		}
	}
	e.arrivals.Add(1)
	e.changed()
}

// arriveRevoke handles the news that a scope is revoked or broken. A revoked scope that is not open
// here was freed already: no process can revoke a communicator before all processes have it. But a
// process may fail before all have it, so broken scopes that are not open yet are recorded.
func (e *Engine) arriveRevoke(p *Proc, r wire.Revoke) {
	id := ContextID(r.Context)
	switch s := e.scopes[id]; {
	case s == nil && r.Failure:
		if p.broken == nil {
			p.broken = make(map[ContextID]struct{})
		}
		p.broken[id] = struct{}{}
	case s == nil || !s.has(p):
	case r.Failure:
		s.breakUp(errBroken(p))
	default:
		s.revoke()
	}
}

// bars tells whether a message can match no receive any more.
func (e *Engine) bars(bits matchbits.Bits) bool {
	s := e.scopes[ContextID(wire.ContextOf(uint64(bits)))]
	return s != nil && s.bars(bits)
}

// dropEarlies drops the messages of a scope that no receive will take, if their senders expect no
// answer. The senders take back the others.
func (s *Scope) dropEarlies() {
	e := s.e
	for _, p := range s.peers {
		room := uint32(0)
		for m := p.earlies.First(); m != nil; {
			next := m.links.Next()
			if wire.ContextOf(uint64(m.bits)) == uint16(s.id) && s.bars(m.bits) && m.unasked() {
				room += m.charge
				e.drop(m)
			}
			m = next
		}
		if room > 0 {
			p.consume(room)
		}
	}
}
