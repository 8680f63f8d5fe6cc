package datatype

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// An Order says which index of an array varies fastest in memory.
type Order int

// The orders.
const (
	OrderC       Order = iota // the last: MPI_ORDER_C
	OrderFortran              // the first: MPI_ORDER_FORTRAN
)

// fastest calls f for each of n dimensions, beginning with the one that varies fastest.
func (o Order) fastest(n int, f func(dim int)) {
	for i := range n {
		if o == OrderC {
			i = n - 1 - i
		}
		f(i)
	}
}

func (o Order) check() error {
	if o != OrderC && o != OrderFortran {
		return errclass.New(errclass.Arg, "order %d is neither OrderC nor OrderFortran", int(o))
	}
	return nil
}

// Subarray returns the part of an array of the given sizes that begins at index starts and has
// subsizes. The array's elements have type t. The extent is that of the whole array, so the
// buffer's address is that of the array (MPI_Type_create_subarray, MPI-4.1, 5.1.3). If the part
// does not fit in a dimension, the error has class Arg.
func Subarray(sizes, subsizes, starts []int, order Order, t *Type) (*Type, error) {
	if err := checkCounts(t); err != nil {
		return nil, err
	}
	if err := checkSubarray(sizes, subsizes, starts, order); err != nil {
		return nil, err
	}
	var c sums
	s, step := t.shape, t.extent
	order.fastest(len(sizes), func(d int) {
		s = s.repeat(&c, subsizes[d], step).shift(&c, c.mul(starts[d], step))
		step = c.mul(step, sizes[d])
	})
	ints := slices.Concat([]int{len(sizes)}, sizes, subsizes, starts, []int{int(order)})
	return newType(s.resized(&c, 0, step), &c, Contents{CombinerSubarray, ints, nil, []*Type{t}})
}

func checkSubarray(sizes, subsizes, starts []int, order Order) error {
	if len(sizes) == 0 || len(subsizes) != len(sizes) || len(starts) != len(sizes) {
		return errclass.New(errclass.Arg, "%d sizes, %d subsizes and %d starts: give one of each for every dimension",
			len(sizes), len(subsizes), len(starts))
	}
	for i, size := range sizes {
		if subsizes[i] < 1 || subsizes[i] > size || starts[i] < 0 || starts[i] > size-subsizes[i] {
			return errclass.New(errclass.Arg, "dimension %d: %d elements from %d on are not in an array of %d", i, subsizes[i], starts[i], size)
		}
	}
	return order.check()
}
