package datatype

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Struct returns blocks of blockLengths[i] elements of types[i], displacements[i] bytes behind the
// buffer's address (MPI_Type_create_struct, MPI-4.1, 5.1.2). Its extent is rounded up to the
// largest alignment of its leaves. For Go structs use Of, which knows Go's layout.
func Struct(blockLengths, displacements []int, types []*Type) (*Type, error) {
	if len(blockLengths) != len(displacements) || len(types) != len(displacements) {
		return nil, errclass.New(errclass.Arg, "%d block lengths and %d types for %d displacements: give one of each for each block",
			len(blockLengths), len(types), len(displacements))
	}
	for i, t := range types {
		if err := checkCounts(t, blockLengths[i]); err != nil {
			return nil, err
		}
	}
	var c sums
	l := newCollector(&c, !sameGrains(types))
	for i, t := range types {
		l.add(t.shape.repeat(&c, blockLengths[i], t.extent).shift(&c, displacements[i]))
	}
	ints := slices.Concat([]int{len(types)}, blockLengths)
	return newType(l.done(), &c, Contents{CombinerStruct, ints, slices.Clone(displacements), slices.Clone(types)})
}

// sameGrains reports whether all data of the types have one grain.
func sameGrains(types []*Type) bool {
	first := mixed
	for _, t := range types {
		g := t.shape.grain
		switch {
		case t.shape.size == 0:
		case g == mixed || first != mixed && g != first:
			return false
		default:
			first = g
		}
	}
	return true
}
