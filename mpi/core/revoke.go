package core

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// CommonTags: tags below it are those of operations that all processes of a scope have a part
// in, in a scope for these. When one of them fails in one process it can wait for ever in
// another, which waits for the first: Break ends it in all.
const CommonTags = 1 << 26

// Revoke ends every operation of the scope with errclass.Revoked, here and at every peer.
func (s *Scope) Revoke() {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.revoke()
}

// Break ends every operation of the scope that has one of CommonTags, here with cause, at every
// peer with an errclass.ProcFailed; nor does any other begin. It does nothing if no peer is gone,
// nor one of those scopes that end with this one: then all operations end as they would.
func (s *Scope) Break(cause error) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.lost() {
		s.breakUp(cause)
	}
}

// lost tells whether a process is gone that operations of all may wait for.
func (s *Scope) lost() bool {
	gone := func(p *Proc) bool { return p.gone() != nil }
	return slices.ContainsFunc(s.peers, gone) || slices.ContainsFunc(s.with, (*Scope).lost)
}

// EndWith has other scopes of the process revoked or broken, here and at their peers, as soon as
// this one is, by whomever. An inter-communicator's operations wait for their own group, too,
// which has scopes of its own.
func (s *Scope) EndWith(others ...*Scope) {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.with = append(s.with, others...)
}

// Revoked tells whether somebody has revoked the scope.
func (s *Scope) Revoked() bool {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return s.revoked
}

func (s *Scope) revoke() {
	if s.revoked || s.closed {
		return
	}
	s.revoked = true
	s.end(errRevoked(s))
	for _, other := range s.with {
		other.revoke()
	}
}

func (s *Scope) breakUp(cause error) {
	if s.revoked || s.closed || s.broken != nil {
		return
	}
	s.broken = cause
	s.end(cause)
	for _, other := range s.with {
		other.breakUp(cause)
	}
}

func errRevoked(s *Scope) error {
	return errclass.New(errclass.Revoked, "the communicator with context %d was revoked: agree on what is left, and shrink it", s.id)
}

// errBroken is why a scope is broken, as a peer says.
func errBroken(p *Proc) error {
	return errclass.New(errclass.ProcFailed, "a process of the communicator has failed, says process %s: no collective operation on it ends any more, revoke and shrink it", p)
}

// bars tells whether no operation with these bits may begin or go on.
func (s *Scope) bars(bits matchbits.Bits) bool {
	return s.revoked || s.broken != nil && wire.TagOf(uint64(bits)) < CommonTags
}

// barred is why none may; nil if one may.
func (s *Scope) barred(bits matchbits.Bits) error {
	switch {
	case !s.bars(bits):
		return nil
	case s.revoked:
		return errRevoked(s)
	}
	return s.broken
}

// end ends what is barred by now. It tells every peer once, so that all learn it even if who
// began it fails meanwhile.
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
		next := s.anys.Next(o)
		if s.bars(o.bits) {
			o.fail(err)
		}
		o = next
	}
	for _, p := range s.peers {
		for o := p.ops.First(); o != nil; {
			next := p.ops.Next(o)
			if o.scope == s && s.bars(o.bits) {
				o.revoke(err)
			}
			if p.err != nil {
				break // its connection ended when it was asked, and with it all that waits for it
			}
			o = next
		}
	}
	e.arrivals.Add(1)
	e.changed()
}

// arriveRevoke takes the news that a scope is revoked or broken. One that is not open here and
// revoked is freed already: who makes a communicator sees to it that all have it before anybody
// may revoke it. But a process can fail before all have it.
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

// bars tells whether nobody will receive a message.
func (e *Engine) bars(bits matchbits.Bits) bool {
	s := e.scopes[ContextID(wire.ContextOf(uint64(bits)))]
	return s != nil && s.bars(bits)
}

// dropEarlies forgets the messages of a scope that nobody will receive any more, and of which
// their senders expect nothing. The others are taken back by who sent them.
func (s *Scope) dropEarlies() {
	e := s.e
	for _, p := range s.peers {
		room := uint32(0)
		for m := p.earlies.First(); m != nil; {
			next := p.earlies.Next(m)
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
