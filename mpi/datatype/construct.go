package datatype

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Constructors check their arguments. Errors have class Type for a nil type, Count for a negative
// count or block length, Arg for lists of different lengths, and ValueTooLarge for sizes or bounds
// that overflow an int.

// Dup returns a copy of t, made by Dup, with the attributes that their copy functions give it
// (MPI_Type_dup, MPI-4.1, 5.1.10).
func Dup(t *Type) (*Type, error) {
	if t == nil {
		return nil, errNil()
	}
	dup, err := newType(t.shape, new(sums), Contents{CombinerDup, nil, nil, []*Type{t}})
	if err != nil {
		return nil, err
	}
	return dup, t.attrs.CopyTo(t, dup.attrs, dup)
}

// Contiguous returns count contiguous elements of t (MPI_Type_contiguous, MPI-4.1, 5.1.2).
func Contiguous(count int, t *Type) (*Type, error) {
	if err := checkCounts(t, count); err != nil {
		return nil, err
	}
	var c sums
	return newType(t.shape.repeat(&c, count, t.extent), &c, Contents{CombinerContiguous, []int{count}, nil, []*Type{t}})
}

// Vector returns count blocks of blockLength elements of t; blocks begin stride extents of t apart
// (MPI_Type_vector, MPI-4.1, 5.1.2).
func Vector(count, blockLength, stride int, t *Type) (*Type, error) {
	if err := checkCounts(t, count, blockLength); err != nil {
		return nil, err
	}
	var c sums
	s := t.shape.repeat(&c, blockLength, t.extent).repeat(&c, count, c.mul(stride, t.extent))
	return newType(s, &c, Contents{CombinerVector, []int{count, blockLength, stride}, nil, []*Type{t}})
}

// Hvector is Vector with a stride in bytes (MPI_Type_create_hvector, MPI-4.1, 5.1.2).
func Hvector(count, blockLength, stride int, t *Type) (*Type, error) {
	if err := checkCounts(t, count, blockLength); err != nil {
		return nil, err
	}
	var c sums
	s := t.shape.repeat(&c, blockLength, t.extent).repeat(&c, count, stride)
	return newType(s, &c, Contents{CombinerHvector, []int{count, blockLength}, []int{stride}, []*Type{t}})
}

// Indexed returns blocks of blockLengths[i] elements of t, displacements[i] extents of t behind the
// buffer's address (MPI_Type_indexed, MPI-4.1, 5.1.2).
func Indexed(blockLengths, displacements []int, t *Type) (*Type, error) {
	if err := checkBlocks(t, blockLengths, displacements); err != nil {
		return nil, err
	}
	var c sums
	s := indexed(&c, t, len(displacements),
		func(i int) int { return blockLengths[i] },
		func(i int) int { return c.mul(displacements[i], t.extent) })
	ints := slices.Concat([]int{len(displacements)}, blockLengths, displacements)
	return newType(s, &c, Contents{CombinerIndexed, ints, nil, []*Type{t}})
}

// Hindexed is Indexed with displacements in bytes (MPI_Type_create_hindexed, MPI-4.1,
// 5.1.2).
func Hindexed(blockLengths, displacements []int, t *Type) (*Type, error) {
	if err := checkBlocks(t, blockLengths, displacements); err != nil {
		return nil, err
	}
	var c sums
	s := indexed(&c, t, len(displacements),
		func(i int) int { return blockLengths[i] },
		func(i int) int { return displacements[i] })
	ints := slices.Concat([]int{len(displacements)}, blockLengths)
	return newType(s, &c, Contents{CombinerHindexed, ints, slices.Clone(displacements), []*Type{t}})
}

// IndexedBlock is Indexed with blocks of one length (MPI_Type_create_indexed_block,
// MPI-4.1, 5.1.2).
func IndexedBlock(blockLength int, displacements []int, t *Type) (*Type, error) {
	if err := checkCounts(t, blockLength); err != nil {
		return nil, err
	}
	var c sums
	s := indexed(&c, t, len(displacements),
		func(int) int { return blockLength },
		func(i int) int { return c.mul(displacements[i], t.extent) })
	ints := slices.Concat([]int{len(displacements), blockLength}, displacements)
	return newType(s, &c, Contents{CombinerIndexedBlock, ints, nil, []*Type{t}})
}

// HindexedBlock is IndexedBlock with displacements in bytes
// (MPI_Type_create_hindexed_block, MPI-4.1, 5.1.2).
func HindexedBlock(blockLength int, displacements []int, t *Type) (*Type, error) {
	if err := checkCounts(t, blockLength); err != nil {
		return nil, err
	}
	var c sums
	s := indexed(&c, t, len(displacements),
		func(int) int { return blockLength },
		func(i int) int { return displacements[i] })
	ints := []int{len(displacements), blockLength}
	return newType(s, &c, Contents{CombinerHindexedBlock, ints, slices.Clone(displacements), []*Type{t}})
}

// indexed returns n blocks of t, each with length(i) elements, at byte at(i).
func indexed(c *sums, t *Type, n int, length, at func(i int) int) shape {
	if n == 0 {
		return t.shape.empty()
	}
	l := newCollector(c, !t.shape.uniform())
	last, block := -1, shape{}
	for i := range n {
		// Consecutive blocks of one length share a node, so that patterns are found.
		if k := length(i); k != last {
			last, block = k, t.shape.repeat(c, k, t.extent)
		}
		l.add(block.shift(c, at(i)))
	}
	return l.done()
}

// Resized returns t with other bounds: lb, and lb + extent (MPI_Type_create_resized, MPI-4.1,
// 5.1.7). The extent may be negative.
func Resized(t *Type, lb, extent int) (*Type, error) {
	if t == nil {
		return nil, errNil()
	}
	var c sums
	return newType(t.shape.resized(&c, lb, extent), &c, Contents{CombinerResized, nil, []int{lb, extent}, []*Type{t}})
}

func (s shape) resized(c *sums, lb, extent int) shape {
	s.marked, s.lb, s.ub = true, lb, c.add(lb, extent)
	return s
}

func checkCounts(t *Type, counts ...int) error {
	if t == nil {
		return errNil()
	}
	for _, n := range counts {
		if n < 0 {
			return errCount(n)
		}
	}
	return nil
}

func checkBlocks(t *Type, blockLengths, displacements []int) error {
	if len(blockLengths) != len(displacements) {
		return errclass.New(errclass.Arg, "%d block lengths for %d displacements: give one for each", len(blockLengths), len(displacements))
	}
	return checkCounts(t, blockLengths...)
}
