package group

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

//go:generate go tool stringer -type=Comparison -linecomment -output=comparison_string.go

// A Comparison tells how similar two groups, or communicators, are (MPI-4.1, 7.3.1 and 7.4.1).
type Comparison int

// Results of Compare. Congruent is for communicators only: same group, other context.
const (
	Ident     Comparison = iota // MPI_IDENT
	Congruent                   // MPI_CONGRUENT
	Similar                     // MPI_SIMILAR
	Unequal                     // MPI_UNEQUAL
)

// Compare returns Ident if a and b have the same processes in the same order, Similar if they have
// them in another order, else Unequal (MPI_Group_compare; MPI-4.1, 7.3.1).
func Compare[P comparable](a, b *Group[P]) (Comparison, error) {
	if err := notNull(a, b); err != nil {
		return Unequal, err
	}
	if a.Size() != b.Size() {
		return Unequal, nil
	}
	if a == b {
		return Ident, nil
	}
	result := Ident
	for rank := range a.Size() {
		switch a.in(b, rank) {
		case rank:
		case -1:
			return Unequal, nil
		default:
			result = Similar
		}
	}
	return result, nil
}

// in returns the rank in b of the process with a rank in g, or -1.
func (g *Group[P]) in(b *Group[P], rank int) int {
	if g.table == b.table {
		return b.sel.rank(g.sel.at(rank))
	}
	return b.rank(g.member(rank))
}

// TranslateRanks returns the ranks in b of processes given by their ranks in g: Undefined if b does
// not have the process, ProcNull for ProcNull (MPI_Group_translate_ranks; MPI-4.1, 7.3.1). A rank
// that is not in g is an error of class Rank.
func (g *Group[P]) TranslateRanks(ranks []int, b *Group[P]) ([]int, error) {
	if err := notNull(g, b); err != nil {
		return nil, err
	}
	out := make([]int, len(ranks))
	for i, rank := range ranks {
		if rank == ProcNull {
			out[i] = ProcNull
			continue
		}
		if err := g.check(rank); err != nil {
			return nil, err
		}
		if out[i] = g.in(b, rank); out[i] < 0 {
			out[i] = Undefined
		}
	}
	return out, nil
}

// Union returns the processes of a in their order, then those of b that are not in a in their order
// (MPI_Group_union; MPI-4.1, 7.3.2).
func Union[P comparable](a, b *Group[P]) (*Group[P], error) {
	if err := notNull(a, b); err != nil {
		return nil, err
	}
	if a.Size() == 0 {
		return b, nil
	}
	var added []int // ranks in b
	for rank := range b.Size() {
		if b.in(a, rank) < 0 {
			added = append(added, rank)
		}
	}
	switch {
	case len(added) == 0:
		return a, nil
	case a.table == b.table:
		list := make([]int32, 0, a.Size()+len(added))
		for rank := range a.Size() {
			list = append(list, int32(a.sel.at(rank)))
		}
		for _, rank := range added {
			list = append(list, int32(b.sel.at(rank)))
		}
		return a.selected(selectList(list)), nil
	}
	n := a.Size() + len(added)
	if n > membersMax {
		return nil, errclass.New(errclass.Group, "a group has at most %d processes, not %d", membersMax, n)
	}
	t := &table[P]{members: make([]P, 0, n)}
	for rank := range a.Size() {
		t.members = append(t.members, a.member(rank))
	}
	for _, rank := range added {
		t.members = append(t.members, b.member(rank))
	}
	return &Group[P]{table: t, sel: selectEvery(0, 1, n)}, nil
}

// Intersection returns the processes of a that are also in b, in the order of a
// (MPI_Group_intersection; MPI-4.1, 7.3.2).
func Intersection[P comparable](a, b *Group[P]) (*Group[P], error) {
	if err := notNull(a, b); err != nil {
		return nil, err
	}
	return a.keep(func(rank int) bool { return a.in(b, rank) >= 0 }), nil
}

// Difference returns the processes of a that are not in b, in the order of a (MPI_Group_difference;
// MPI-4.1, 7.3.2).
func Difference[P comparable](a, b *Group[P]) (*Group[P], error) {
	if err := notNull(a, b); err != nil {
		return nil, err
	}
	return a.keep(func(rank int) bool { return a.in(b, rank) < 0 }), nil
}

// keep returns the group of the ranks for which keeps returns true, in order.
func (g *Group[P]) keep(keeps func(rank int) bool) *Group[P] {
	var list []int32
	for rank := range g.Size() {
		if keeps(rank) {
			list = append(list, int32(g.sel.at(rank)))
		}
	}
	if len(list) == g.Size() {
		return g
	}
	return g.selected(selectList(list))
}
