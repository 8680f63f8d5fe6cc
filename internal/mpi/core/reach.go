package core

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Memory that a process exposes to another one, which then reads and writes it without calls, where
// the method of their connection can do that (bmi.RemoteAccessor).

// ReachKeyBytes is the size of a key.
const ReachKeyBytes = bmi.RemoteKeyBytes

// Expose opens memory to the process that made the call. It returns the key that the process needs,
// and what closes the memory again, once. A Server calls it within Serve.
func (r Reply) Expose(mem []byte) (key []byte, withdraw func(), err error) {
	if r.l == nil {
		return nil, nil, errclass.New(errclass.Intern, "a process reaches its own memory without a key")
	}
	x, err := r.l.e.ep.Expose(r.l.addr, mem)
	if err != nil {
		return nil, nil, errclass.Wrap(errclass.Other, err, "exposing memory")
	}
	k := x.Key()
	return k[:], x.Withdraw, nil
}

// A Reach is memory that another process has exposed to this one.
type Reach struct {
	ep   *bmi.Endpoint
	addr bmi.Addr
	key  bmi.RemoteKey
}

// MayReach tells whether a rank may be able to expose memory to this process.
func (s *Scope) MayReach(rank int) bool {
	_, ok := s.reach(rank)
	return ok
}

// Reach returns the memory that a rank has exposed with a key. The key belongs to the connection of
// calls to the rank.
func (s *Scope) Reach(rank int, key []byte) (Reach, bool) {
	addr, ok := s.reach(rank)
	if !ok || len(key) != ReachKeyBytes {
		return Reach{}, false
	}
	return Reach{ep: s.e.ep, addr: addr, key: bmi.RemoteKey(key)}, true
}

// reach returns the connection of calls to a rank, if its method has remote access.
func (s *Scope) reach(rank int) (_ bmi.Addr, ok bool) {
	p, err := s.peer(rank)
	if err != nil || p == nil || p == s.e.self {
		return bmi.Addr{}, false
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.e.closed || p.gone() != nil {
		return bmi.Addr{}, false
	}
	l, err := p.via()
	if err != nil || !s.e.ep.RemoteAccess(l.addr) {
		return bmi.Addr{}, false
	}
	return l.addr, true
}

// ErrReachBusy: other messages are on their way to the process, and the key is as good as before.
var ErrReachBusy = errors.New("other messages are on their way")

// Write writes to the memory, from byte off of it on. After an error, which does not say that the
// process has failed, the bytes must go another way, and any part of them may have been written.
func (r Reach) Write(off uint64, from []byte) error {
	return busy(r.ep.RemoteWrite(r.addr, r.key, off, from))
}

// Read reads from the memory, in the same way.
func (r Reach) Read(off uint64, to []byte) error {
	return busy(r.ep.RemoteRead(r.addr, r.key, off, to))
}

func busy(err error) error {
	if errors.Is(err, bmi.ErrAgain) {
		return ErrReachBusy
	}
	return err
}
