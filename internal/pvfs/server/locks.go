package server

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// locks are locks of objects by handle. A lock exists while a goroutine holds it or waits for it. The zero value is ready.
//
// An operation of one transaction shares the lock of the dirdata object that it changes. An operation of several steps (a
// division, the removal of a spread directory) holds it alone. No goroutine waits for a second lock while it holds one, except
// for a dirdata object after its directory.
type locks struct {
	shards [64]lockShard
}

type lockShard struct {
	mu   sync.Mutex
	held map[proto.Handle]*objectLock
}

type objectLock struct {
	sync.RWMutex
	users int // goroutines that hold it or wait
}

func (l *locks) shard(h proto.Handle) *lockShard { return &l.shards[h%proto.Handle(len(l.shards))] }

func (l *locks) take(h proto.Handle) *objectLock {
	sh := l.shard(h)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	o := sh.held[h]
	if o == nil {
		if sh.held == nil {
			sh.held = map[proto.Handle]*objectLock{}
		}
		o = &objectLock{}
		sh.held[h] = o
	}
	o.users++
	return o
}

func (l *locks) give(h proto.Handle, o *objectLock) {
	sh := l.shard(h)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if o.users--; o.users == 0 {
		delete(sh.held, h)
	}
}

// share takes an object's lock shared. The result gives it back.
func (l *locks) share(h proto.Handle) func() {
	o := l.take(h)
	o.RLock()
	return func() { o.RUnlock(); l.give(h, o) }
}

// tryAlone takes an object's lock alone if it is free; otherwise it returns nil.
func (l *locks) tryAlone(h proto.Handle) func() {
	o := l.take(h)
	if !o.TryLock() {
		l.give(h, o)
		return nil
	}
	return func() { o.Unlock(); l.give(h, o) }
}

// mayWait is how many handlers may wait for a lock that another handler holds alone.
func (s *Server) mayWait() int32 {
	if n := s.cfg.RPC.Workers; n > 0 {
		return int32(min(waitersMax, (n-1)/2))
	}
	return waitersMax
}

// enter is share for a handler. EAGAIN: too many handlers wait already.
func (s *Server) enter(h proto.Handle) (leave func(), err error) {
	o := s.locks.take(h)
	if !o.TryRLock() {
		defer s.waiters.Add(-1)
		if s.waiters.Add(1) > s.mayWait() {
			s.locks.give(h, o)
			return nil, proto.EAGAIN
		}
		o.RLock()
	}
	return func() { o.RUnlock(); s.locks.give(h, o) }, nil
}

// alone takes an object's lock alone. The result gives it back.
func (l *locks) alone(h proto.Handle) func() {
	o := l.take(h)
	o.Lock()
	return func() { o.Unlock(); l.give(h, o) }
}
