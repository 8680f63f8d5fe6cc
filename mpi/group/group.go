package group

import (
	"iter"
	"math"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

const (
	// Undefined is the rank of a process that is not in the group (MPI_UNDEFINED; MPI-4.1, 7.3.1).
	Undefined = -32766
	// ProcNull is the rank of the null process (MPI_PROC_NULL; MPI-4.1, 3.11), in every group.
	ProcNull = -2
)

// membersMax limits a group, so that a place takes four bytes.
const membersMax = math.MaxInt32

// A Group is an ordered set of processes, with ranks 0 to Size()-1 (MPI-4.1, 7.2.1). It is
// immutable and safe for concurrent use. The zero value is the empty group (MPI_GROUP_EMPTY). A nil
// *Group is MPI_GROUP_NULL: it has no members, and operations on it return errors of class Group.
type Group[P comparable] struct {
	table *table[P] // nil only if the group is empty
	sel   selection
}

// New makes the group in which members[i] has rank i. It keeps a copy. A process that occurs twice
// is an error of class Group.
func New[P comparable](members []P) (*Group[P], error) {
	if len(members) > membersMax {
		return nil, errclass.New(errclass.Group, "a group has at most %d processes, not %d", membersMax, len(members))
	}
	if len(members) == 0 {
		return Empty[P](), nil
	}
	t := &table[P]{members: slices.Clone(members)}
	if earlier, later, found := t.twice(); found {
		return nil, errclass.New(errclass.Group, "ranks %d and %d are the same process: a group has each once", earlier, later)
	}
	return &Group[P]{table: t, sel: selectEvery(0, 1, len(members))}, nil
}

// Empty returns the group without processes (MPI_GROUP_EMPTY).
func Empty[P comparable]() *Group[P] { return &Group[P]{} }

// Size returns the number of processes (MPI_Group_size; MPI-4.1, 7.3.1).
func (g *Group[P]) Size() int {
	if g == nil {
		return 0
	}
	return g.sel.n
}

// Rank returns the rank of a process, or Undefined (MPI_Group_rank; MPI-4.1, 7.3.1). The time does
// not depend on the size of the group, except that the first call in a large group builds an index.
func (g *Group[P]) Rank(p P) int {
	if rank := g.rank(p); rank >= 0 {
		return rank
	}
	return Undefined
}

// rank is Rank, but returns -1 if there is none.
func (g *Group[P]) rank(p P) int {
	if g.Size() == 0 {
		return -1
	}
	return g.sel.rank(g.table.place(p))
}

// Contains tells whether a process is in the group.
func (g *Group[P]) Contains(p P) bool { return g.rank(p) >= 0 }

// At returns the process with a rank. A rank outside 0 to Size()-1 is an error of class Rank.
func (g *Group[P]) At(rank int) (P, error) {
	if err := g.check(rank); err != nil {
		var none P
		return none, err
	}
	return g.member(rank), nil
}

// member is At for a valid rank.
func (g *Group[P]) member(rank int) P { return g.table.members[g.sel.at(rank)] }

// check returns an error unless a rank is one of the group.
func (g *Group[P]) check(rank int) error {
	if rank < 0 || rank >= g.Size() {
		return errclass.New(errclass.Rank, "rank %d is not one of a group of %d processes, which count from 0", rank, g.Size())
	}
	return nil
}

// All iterates over the ranks and processes, in order.
func (g *Group[P]) All() iter.Seq2[int, P] {
	return func(yield func(int, P) bool) {
		for rank := range g.Size() {
			if !yield(rank, g.member(rank)) {
				return
			}
		}
	}
}

// Members returns a new slice with the process of each rank.
func (g *Group[P]) Members() []P {
	members := make([]P, g.Size())
	for rank := range members {
		members[rank] = g.member(rank)
	}
	return members
}

// selected returns a group of the same table.
func (g *Group[P]) selected(sel selection) *Group[P] {
	if sel.n == 0 {
		return Empty[P]()
	}
	return &Group[P]{table: g.table, sel: sel}
}

// notNull returns an error if a group is MPI_GROUP_NULL.
func notNull[P comparable](groups ...*Group[P]) error {
	for _, g := range groups {
		if g == nil {
			return errclass.New(errclass.Group, "a group is nil: take MPI_GROUP_EMPTY for one without processes")
		}
	}
	return nil
}
