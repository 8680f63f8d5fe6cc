package core

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A stateLock guards the state of an Engine. It is held in one of two ways.
//
// A long hold (Lock) may call bmi.
//
// A short hold (tryShort) is a hold of bmi's own lock of one method. So a small message is sent with
// one lock, and a quick handler, which is called with that lock held, needs no other. But a short
// hold must not call bmi, except as bmi.Guard allows.
//
// A long hold marks itself under bmi's lock, and no short one begins until it ends.
type stateLock struct {
	guard    bmi.Guard
	long     sync.Mutex // held by a long hold
	taken    bool       // by a long hold; guarded by guard
	borrowed bool       // guard was locked by the quick handler of another method; guarded by guard
}

// Lock begins a long hold.
func (m *stateLock) Lock() {
	m.long.Lock()
	m.guard.Lock()
	m.taken = true
	m.guard.UnlockUnsent()
}

// Unlock ends a long hold.
func (m *stateLock) Unlock() {
	m.guard.Lock()
	m.taken = false
	m.guard.UnlockUnsent()
	m.long.Unlock()
}

// tryShort begins a short hold, unless there is a long one.
func (m *stateLock) tryShort() bool { return m.guard.LockUnless(&m.taken) }

// endShort ends a short hold in which nothing was sent.
func (m *stateLock) endShort() { m.guard.UnlockUnsent() }

// lockShort begins a short hold, or a long one if another long one is under way. The caller must not
// call bmi. It passes the result to endUnsent.
func (m *stateLock) lockShort() (short bool) {
	if m.tryShort() {
		return true
	}
	m.Lock()
	return false
}

// endUnsent ends what lockShort began.
func (m *stateLock) endUnsent(short bool) {
	if short {
		m.guard.UnlockUnsent()
	} else {
		m.Unlock()
	}
}

// end ends a hold in which something may have been sent.
func (m *stateLock) end(short bool) {
	if short {
		m.guard.Unlock()
	} else {
		m.Unlock()
	}
}

// tryWithin begins a short hold within a quick handler, which is called with the lock of the method
// that a message comes from held.
func (m *stateLock) tryWithin(from bmi.Addr) bool {
	if m.guard.Guards(from) {
		return !m.taken
	}
	if !m.guard.TryLock() {
		return false
	}
	if m.taken {
		m.guard.UnlockUnsent()
		return false
	}
	m.borrowed = true
	return true
}

// endWithin ends what tryWithin began.
func (m *stateLock) endWithin() {
	if m.borrowed {
		m.borrowed = false
		m.guard.UnlockUnsent()
	}
}
