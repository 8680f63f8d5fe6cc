package epoch

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Machine is the epochs of a process in one window. A process accesses the parts of others in an
// access epoch, and lets others access its own in an exposure epoch:
//
//	access                                          exposure
//	none ── Fence ──> fenced                        none ── Post ──> posted
//	none ── Start ──> started ── Complete ──> none  posted ── Wait ──> none
//	none ── Lock ──> locked ── last Unlock ──> none
//	none ── LockAll ──> lockedAll ── UnlockAll ──> none
//
// A fence ends the epochs that the one before it began, and begins new ones; until an operation
// uses it, another epoch may begin instead. A passive target has no exposure epoch. The zero value
// has no epoch.
type Machine struct {
	access  access
	used    bool  // an operation was begun since the fence
	started []int // the ranks that Start named
	posted  []int // the ranks that Post named
	exposed bool
	locks   map[int]Hold // by rank
	all     Hold         // of LockAll
}

// A Hold says how a process has locked a rank.
type Hold uint8

// Holds.
const (
	Shared    Hold = iota + 1
	Exclusive      // no other process has locked the rank
	Unchecked      // the program says that no other lock conflicts, so none was taken
)

type access uint8

const (
	none access = iota
	fenced
	started
	locked
	lockedAll
)

var accessNames = [...]string{"no access epoch", "an access epoch of a fence", "an access epoch of Start", "a lock", "the lock of LockAll"}

func (m *Machine) become(a access) {
	m.access, m.used = a, false
}

// inTheWay returns the error of a call that cannot begin an epoch beside the one that is open.
func (m *Machine) inTheWay(call string) error {
	return errclass.New(errclass.RMASync, "%s in %s: end that first", call, accessNames[m.access])
}

// free tells whether an access epoch can begin.
func (m *Machine) free() bool { return m.access == none || m.access == fenced && !m.used }

// MayFence returns an error if a fence is not allowed now.
func (m *Machine) MayFence() error {
	switch {
	case m.access != none && m.access != fenced:
		return m.inTheWay("a fence")
	case m.exposed:
		return errclass.New(errclass.RMASync, "a fence in an exposure epoch of Post: end it by Wait first")
	}
	return nil
}

// Fence ends and begins epochs; if nothing follows, it only ends them.
func (m *Machine) Fence(nothingFollows bool) {
	if nothingFollows {
		m.become(none)
	} else {
		m.become(fenced)
	}
}

// MayStart returns an error if Start is not allowed now.
func (m *Machine) MayStart() error {
	if !m.free() {
		return m.inTheWay("Start")
	}
	return nil
}

// Start begins an access epoch to ranks.
func (m *Machine) Start(ranks []int) {
	m.become(started)
	m.started = ranks
}

// Started returns the ranks that Complete is for, or an error if there is nothing to complete.
func (m *Machine) Started() ([]int, error) {
	if m.access != started {
		return nil, errclass.New(errclass.RMASync, "Complete in %s: it only ends an epoch that Start began", accessNames[m.access])
	}
	return m.started, nil
}

// Complete ends the epoch of Start.
func (m *Machine) Complete() {
	m.become(none)
	m.started = nil
}

// Post begins an exposure epoch for ranks.
func (m *Machine) Post(ranks []int) error {
	if m.exposed {
		return errclass.New(errclass.RMASync, "Post in an exposure epoch: end it by Wait first")
	}
	m.exposed, m.posted = true, ranks
	return nil
}

// Posted returns the ranks that Wait is for, or an error if there is nothing to wait for.
func (m *Machine) Posted() ([]int, error) {
	if !m.exposed {
		return nil, errclass.New(errclass.RMASync, "there is no exposure epoch: only Post begins one")
	}
	return m.posted, nil
}

// Wait ends the exposure epoch of Post.
func (m *Machine) Wait() { m.exposed, m.posted = false, nil }

// MayLock returns an error if a rank cannot be locked now.
func (m *Machine) MayLock(rank int) error {
	switch _, held := m.locks[rank]; {
	case held:
		return errclass.New(errclass.RMASync, "rank %d is locked by this process already", rank)
	case m.access != locked && !m.free():
		return m.inTheWay("Lock")
	}
	return nil
}

// Lock records a lock.
func (m *Machine) Lock(rank int, h Hold) {
	if m.locks == nil {
		m.locks = make(map[int]Hold)
	}
	m.locks[rank] = h
	m.become(locked)
}

// Locked tells how a rank is locked, or returns an error if it is not.
func (m *Machine) Locked(rank int) (Hold, error) {
	h, held := m.locks[rank]
	if !held {
		return 0, errclass.New(errclass.RMASync, "rank %d is not locked by this process: Lock first", rank)
	}
	return h, nil
}

// Unlock removes a lock.
func (m *Machine) Unlock(rank int) {
	delete(m.locks, rank)
	if len(m.locks) == 0 {
		m.become(none)
	}
}

// MayLockAll returns an error if LockAll is not allowed now.
func (m *Machine) MayLockAll() error {
	if !m.free() {
		return m.inTheWay("LockAll")
	}
	return nil
}

// LockAll records that all ranks are locked.
func (m *Machine) LockAll(h Hold) {
	m.become(lockedAll)
	m.all = h
}

// LockedAll tells how LockAll locked, or returns an error unless it did.
func (m *Machine) LockedAll() (Hold, error) {
	if m.access != lockedAll {
		return 0, errclass.New(errclass.RMASync, "UnlockAll in %s: it only ends an epoch that LockAll began", accessNames[m.access])
	}
	return m.all, nil
}

// UnlockAll ends LockAll.
func (m *Machine) UnlockAll() { m.become(none) }

// MayAccess returns an error unless an operation may be begun at a rank now.
func (m *Machine) MayAccess(rank int) error {
	switch m.access {
	case fenced:
		m.used = true
		return nil
	case lockedAll:
		return nil
	case locked:
		if _, held := m.locks[rank]; held {
			return nil
		}
	case started:
		if slices.Contains(m.started, rank) {
			return nil
		}
	}
	return errclass.New(errclass.RMASync, "no epoch to access rank %d is open: begin one by Fence, Start, Lock or LockAll", rank)
}

// MayFlush returns an error unless a flush is allowed now: in a passive-target epoch.
func (m *Machine) MayFlush(rank int) error {
	switch m.access {
	case lockedAll:
		return nil
	case locked:
		if _, held := m.locks[rank]; held || rank == AllRanks {
			return nil
		}
	}
	return errclass.New(errclass.RMASync, "a flush in %s: it needs Lock of its rank, or LockAll", accessNames[m.access])
}

// Everywhere returns whether MayAccess allows operations at all ranks, whether the first such
// operation changes the machine, and whether MayFlush allows flushes of all ranks.
func (m *Machine) Everywhere() (access, first, flush bool) {
	flush = m.access == lockedAll
	return flush || m.access == fenced, m.access == fenced && !m.used, flush
}

// Used notes that an operation was begun in an epoch that allows them everywhere.
func (m *Machine) Used() { m.used = true }

// AllRanks stands for all ranks in MayFlush.
const AllRanks = -1

// Idle returns an error if an epoch is open in which something may still happen; a window cannot be
// freed then.
func (m *Machine) Idle() error {
	switch {
	case m.access != none && m.access != fenced:
		return m.inTheWay("Free")
	case m.exposed:
		return errclass.New(errclass.RMASync, "Free in an exposure epoch of Post: end it by Wait first")
	}
	return nil
}
