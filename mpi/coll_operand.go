package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// An operand is a buffer argument of a collective operation, made from a slice or a Buffer, with
// the error that its check found.
type operand struct {
	Buffer
	null bool // it is nil, or the zero Buffer: MPI_IN_PLACE where the standard allows that
	err  error
}

// slice returns the operand of a slice.
func slice[T any](xs []T) operand {
	t, err := datatype.Of[T]()
	if err != nil {
		return operand{null: xs == nil, err: err}
	}
	return operand{Buffer: Buffer{Mem: bytesOf(xs), Type: t, Count: len(xs)}, null: xs == nil}
}

// slicePair returns the operands of two slices with elements of one type, which is looked up once.
func slicePair[T any](in, out []T) (x, y operand) {
	x = slice(in)
	return x, operand{Buffer: Buffer{Mem: bytesOf(out), Type: x.Type, Count: len(out)}, null: out == nil, err: x.err}
}

// typed returns the operand of a Buffer.
func typed(b Buffer) operand {
	return operand{Buffer: b, null: inPlace(b), err: checkBuffer(b)}
}

// wrong returns the first error of some operands.
func wrong(xs ...operand) error {
	for _, x := range xs {
		if x.err != nil {
			return x.err
		}
	}
	return nil
}

// A layout says where in a buffer the pieces of several ranks are, as in the v-forms of collective
// operations: counts[i] elements, from element displs[i] on. With nil displs the pieces are
// contiguous.
type layout struct{ counts, displs []int }

// pieces returns the buffers of n ranks in an operand. Each lies in the operand's memory.
func pieces(x operand, l layout, n int) ([]Buffer, error) {
	if len(l.counts) != n {
		return nil, errclass.New(errclass.Count, "%d counts for %d ranks: give one for each", len(l.counts), n)
	}
	if l.displs != nil && len(l.displs) != n {
		return nil, errclass.New(errclass.Arg, "%d displacements for %d ranks: give one for each, or nil", len(l.displs), n)
	}
	t := elementType(&x.Buffer)
	_, extent := t.Extent()
	list := make([]Buffer, n)
	at := 0
	for i, count := range l.counts {
		if l.displs != nil {
			at = l.displs[i]
		}
		b, err := piece(x.Buffer, t, extent, at, count)
		if err != nil {
			return nil, errclass.Wrap(errclass.Of(err), err, "the piece of rank %d, %d elements from element %d on, is not in the buffer", i, count, at)
		}
		list[i] = b
		at += count
	}
	return list, nil
}

// piece returns count elements of a buffer, from element at on.
func piece(b Buffer, t *datatype.Type, extent, at, count int) (Buffer, error) {
	limit := len(b.Mem) + 1
	if count < 0 || count > limit && t.Size() > 0 {
		return Buffer{}, errclass.New(errclass.Count, "a count of %d", count)
	}
	if count == 0 {
		return Buffer{Mem: []byte{}, Type: t}, nil
	}
	if extent != 0 && (at > limit || at < -limit) {
		return Buffer{}, errclass.New(errclass.Arg, "a displacement of %d elements", at)
	}
	p := Buffer{Mem: b.Mem, Origin: b.Origin + at*extent, Type: t, Count: count}
	return p, checkBuffer(p)
}

// packedAll is packed for several buffers.
func packedAll(bs []Buffer) [][]byte {
	list := make([][]byte, len(bs))
	for i, b := range bs {
		list[i] = packed(&b)
	}
	return list
}

// roomAll is room for several buffers, which already holds their elements if keep is set.
func roomAll(bs []Buffer, keep bool) [][]byte {
	list := make([][]byte, len(bs))
	for i, b := range bs {
		list[i] = room(&b, keep)
	}
	return list
}

// unpackAll is unpack for several buffers.
func unpackAll(bs []Buffer, list [][]byte) {
	for i, b := range bs {
		unpack(&b, list[i])
	}
}
