package datatype

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Distribution says how a dimension of an array is distributed over processes.
type Distribution int

// The distributions (MPI-4.1, 5.1.4).
const (
	DistributeNone   Distribution = iota // every process has all of it: MPI_DISTRIBUTE_NONE
	DistributeBlock                      // one block for each process: MPI_DISTRIBUTE_BLOCK
	DistributeCyclic                     // blocks in turn: MPI_DISTRIBUTE_CYCLIC
)

// DefaultArg lets Darray choose the length of blocks (MPI_DISTRIBUTE_DFLT_DARG): as equal as
// possible for DistributeBlock, one element for DistributeCyclic.
const DefaultArg = -1

// Darray returns the part of a global array that belongs to process rank of size processes.
// Dimension d of the array has gsizes[d] elements of type t, and is distributed by distribs[d], in
// blocks of dargs[d], over psizes[d] processes. The grid of processes is in row-major order,
// whatever the order of the array (MPI_Type_create_darray, MPI-4.1, 5.1.4). The extent is that of
// the whole array. Inconsistent arguments are errors of class Arg.
func Darray(size, rank int, gsizes []int, distribs []Distribution, dargs, psizes []int, order Order, t *Type) (*Type, error) {
	if err := checkCounts(t); err != nil {
		return nil, err
	}
	if err := checkDarray(size, rank, gsizes, distribs, dargs, psizes, order); err != nil {
		return nil, err
	}
	coords := make([]int, len(psizes))
	for d, r := len(psizes)-1, rank; d >= 0; d-- {
		coords[d], r = r%psizes[d], r/psizes[d]
	}
	var c sums
	s, step := t.shape, t.extent
	order.fastest(len(gsizes), func(d int) {
		b := blockOf(gsizes[d], psizes[d], distribs[d], dargs[d])
		s = dealt(&c, s, step, gsizes[d], psizes[d], coords[d], b)
		step = c.mul(step, gsizes[d])
	})
	ints := slices.Concat([]int{size, rank, len(gsizes)}, gsizes, asInts(distribs), dargs, psizes, []int{int(order)})
	return newType(s.resized(&c, 0, step), &c, Contents{CombinerDarray, ints, nil, []*Type{t}})
}

// blockOf returns the length of a block in a dimension of size elements. A block distribution is a
// cyclic one with a single round.
func blockOf(size, processes int, d Distribution, arg int) int {
	switch {
	case d == DistributeNone:
		return size
	case arg != DefaultArg:
		return min(arg, size)
	case d == DistributeBlock:
		return (size-1)/processes + 1
	}
	return 1
}

// dealt returns a process's part of a dimension of size elements of shape s, which are step bytes
// apart: blocks of b elements in turn.
func dealt(c *sums, s shape, step, size, processes, coord, b int) shape {
	round := c.mul(processes, b)
	first := c.mul(coord, b)
	if c.bad {
		return s.empty()
	}
	// A process beyond the end has no full block and no part of one.
	full := 0
	if size-first >= b {
		full = (size-first-b)/round + 1
	}
	l := newCollector(c, !s.uniform())
	l.add(s.repeat(c, b, step).repeat(c, full, c.mul(round, step)))
	if tail := min(b, size-first-full*round); tail > 0 {
		l.add(s.repeat(c, tail, step).shift(c, c.mul(full*round, step)))
	}
	return l.done().shift(c, c.mul(first, step))
}

func asInts(distribs []Distribution) []int {
	ints := make([]int, len(distribs))
	for i, d := range distribs {
		ints[i] = int(d)
	}
	return ints
}

func checkDarray(size, rank int, gsizes []int, distribs []Distribution, dargs, psizes []int, order Order) error {
	n := len(gsizes)
	if n == 0 || len(distribs) != n || len(dargs) != n || len(psizes) != n {
		return errclass.New(errclass.Arg, "%d sizes, %d distributions, %d arguments and %d process counts: give one of each for every dimension",
			n, len(distribs), len(dargs), len(psizes))
	}
	if rank < 0 || rank >= size {
		return errclass.New(errclass.Arg, "rank %d is not in 0 to %d", rank, size-1)
	}
	var c sums
	grid := 1
	for d := range n {
		if err := checkDealing(gsizes[d], psizes[d], distribs[d], dargs[d]); err != nil {
			return errclass.Wrap(errclass.Arg, err, "dimension %d", d)
		}
		grid = c.mul(grid, psizes[d])
	}
	if c.bad || grid != size {
		return errclass.New(errclass.Arg, "a grid of %v processes is not one of %d", psizes, size)
	}
	return order.check()
}

// checkDealing checks the arguments of one dimension.
func checkDealing(size, processes int, d Distribution, arg int) error {
	switch {
	case size < 1:
		return errclass.New(errclass.Arg, "%d elements: there must be at least one", size)
	case processes < 1:
		return errclass.New(errclass.Arg, "%d processes: there must be at least one", processes)
	case d == DistributeNone && processes != 1:
		return errclass.New(errclass.Arg, "a dimension that is not distributed belongs to 1 process, not to %d", processes)
	case d == DistributeNone:
		return nil
	case d != DistributeBlock && d != DistributeCyclic:
		return errclass.New(errclass.Arg, "there is no distribution %d", int(d))
	case arg != DefaultArg && arg < 1:
		return errclass.New(errclass.Arg, "blocks of %d elements: give a positive length or DefaultArg", arg)
	case d == DistributeBlock && arg != DefaultArg && arg < (size-1)/processes+1:
		return errclass.New(errclass.Arg, "%d blocks of %d elements are less than the %d that there are", processes, arg, size)
	}
	return nil
}
