// Package shared keeps what the processes of a file share: the shared file pointer, and locks for
// atomic accesses to files that have none of their own. Rank 0 has it (state.go, pure), and serves
// the others through messages (desk.go), one request after another. So every request sees those
// before it, in any order in which the processes run
// (docs/internals/decisions/0037-the-shared-pointer-is-a-service.md).
package shared

import (
	"math"
	"slices"
)

// A state is the pointer and the locks.
type state struct {
	pointer int64
	held    []claim
	waiting []claim // in the order of their requests
}

// A claim is a lock, held or waited for, on bytes off to end-1.
type claim struct {
	off, end int64
	shared   bool
	owner    owner
}

// An owner identifies a claim: a rank, and a number that it chose.
type owner struct {
	rank   int
	number int64
}

func (c claim) conflicts(o claim) bool {
	return c.off < o.end && o.off < c.end && !(c.shared && o.shared)
}

// add moves the pointer and returns its old value. It refuses to go beyond what an offset can be.
func (s *state) add(delta int64) (old int64, ok bool) {
	if delta < 0 || s.pointer > math.MaxInt64-delta {
		return s.pointer, false
	}
	old = s.pointer
	s.pointer += delta
	return old, true
}

// lock claims a lock. It returns whether the claimant has it now.
func (s *state) lock(c claim) bool {
	if slices.ContainsFunc(s.held, c.conflicts) || slices.ContainsFunc(s.waiting, c.conflicts) {
		s.waiting = append(s.waiting, c)
		return false
	}
	s.held = append(s.held, c)
	return true
}

// unlock ends the claims of the owners that is selects, and returns the owners that get their locks
// now. No claim overtakes an earlier one with which it conflicts.
func (s *state) unlock(is func(owner) bool) (granted []owner) {
	ended := func(c claim) bool { return is(c.owner) }
	s.held = slices.DeleteFunc(s.held, ended)
	s.waiting = slices.DeleteFunc(s.waiting, ended)
	old := s.waiting
	s.waiting = nil
	for _, c := range old {
		if s.lock(c) {
			granted = append(granted, c.owner)
		}
	}
	return granted
}
