package group

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// A Range is the ranks First, First+Stride, First+2·Stride and so on, as far as they do not pass
// Last (MPI-4.1, 7.3.2). Stride may be negative.
type Range struct{ First, Last, Stride int }

// Incl returns the group in which the process with rank ranks[i] of g has rank i (MPI_Group_incl;
// MPI-4.1, 7.3.2). A rank that is not in g, or that occurs twice, is an error of class Rank.
func (g *Group[P]) Incl(ranks []int) (*Group[P], error) {
	if _, err := g.mark(ranks); err != nil {
		return nil, err
	}
	list := make([]int32, len(ranks))
	for i, rank := range ranks {
		list[i] = int32(g.sel.at(rank))
	}
	return g.selected(selectList(list)), nil
}

// Excl returns g without the processes of some ranks, in the order of g (MPI_Group_excl; MPI-4.1,
// 7.3.2). Errors are those of Incl.
func (g *Group[P]) Excl(ranks []int) (*Group[P], error) {
	named, err := g.mark(ranks)
	if err != nil {
		return nil, err
	}
	return g.keep(func(rank int) bool { return !named.has(rank) }), nil
}

// RangeIncl is Incl for the ranks of all ranges, one after another (MPI_Group_range_incl; MPI-4.1,
// 7.3.2). A Stride of 0, or one that leads away from Last, is an error of class Arg.
func (g *Group[P]) RangeIncl(ranges []Range) (*Group[P], error) {
	if err := notNull(g); err != nil {
		return nil, err
	}
	if len(ranges) == 1 {
		n, err := g.count(ranges[0])
		if err != nil {
			return nil, err
		}
		return g.every(ranges[0].First, ranges[0].Stride, n), nil
	}
	ranks, err := g.expand(ranges)
	if err != nil {
		return nil, err
	}
	return g.Incl(ranks)
}

// RangeExcl is Excl for the ranks of all ranges (MPI_Group_range_excl; MPI-4.1, 7.3.2). Errors are
// those of RangeIncl.
func (g *Group[P]) RangeExcl(ranges []Range) (*Group[P], error) {
	if err := notNull(g); err != nil {
		return nil, err
	}
	ranks, err := g.expand(ranges)
	if err != nil {
		return nil, err
	}
	return g.Excl(ranks)
}

// every returns the group of n ranks of g from first on, stride apart.
func (g *Group[P]) every(first, stride, n int) *Group[P] {
	if g.sel.list == nil {
		return g.selected(selectEvery(g.sel.at(first), stride*g.sel.step, n))
	}
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(g.sel.at(first + i*stride))
	}
	return g.selected(selectList(list))
}

// count returns the number of ranks in a range, which is at least one, after checking that all of
// them are in g. Differences are computed without sign, because Last may be any number.
func (g *Group[P]) count(r Range) (int, error) {
	switch {
	case r.Stride == 0:
		return 0, errclass.New(errclass.Arg, "the stride of ranks %d to %d is 0: take 1 for each, or -1 downwards", r.First, r.Last)
	case r.First < r.Last && r.Stride < 0, r.First > r.Last && r.Stride > 0:
		return 0, errclass.New(errclass.Arg, "from rank %d a stride of %d leads away from %d: change its sign", r.First, r.Stride, r.Last)
	}
	if err := g.check(r.First); err != nil {
		return 0, err
	}
	room, steps := uint(g.Size()-1-r.First), uint(0)
	if r.Stride > 0 {
		steps = (uint(r.Last) - uint(r.First)) / uint(r.Stride)
		room /= uint(r.Stride)
	} else {
		steps = (uint(r.First) - uint(r.Last)) / -uint(r.Stride)
		room = uint(r.First) / -uint(r.Stride)
	}
	if steps > room {
		return 0, errclass.New(errclass.Rank, "ranks %d to %d in steps of %d leave a group of %d processes", r.First, r.Last, r.Stride, g.Size())
	}
	return int(steps) + 1, nil
}

// expand returns the ranks of all ranges. It stops when there are more than g has; then one occurs
// twice, which Incl and Excl report.
func (g *Group[P]) expand(ranges []Range) ([]int, error) {
	var ranks []int
	for _, r := range ranges {
		n, err := g.count(r)
		if err != nil {
			return nil, err
		}
		for i := range n {
			ranks = append(ranks, r.First+i*r.Stride)
		}
		if len(ranks) > g.Size() {
			break
		}
	}
	return ranks, nil
}

// marks is a set of ranks, one bit for each.
type marks []uint64

func (m marks) has(rank int) bool { return m[rank/64]>>(rank%64)&1 != 0 }

func (m marks) add(rank int) { m[rank/64] |= 1 << (rank % 64) }

// mark returns the set of ranks, or an error unless they are different ranks of g.
func (g *Group[P]) mark(ranks []int) (marks, error) {
	if err := notNull(g); err != nil {
		return nil, err
	}
	named := make(marks, (g.Size()+63)/64)
	for _, rank := range ranks {
		if err := g.check(rank); err != nil {
			return nil, err
		}
		if named.has(rank) {
			return nil, errclass.New(errclass.Rank, "rank %d is named twice: name each process once", rank)
		}
		named.add(rank)
	}
	return named, nil
}
