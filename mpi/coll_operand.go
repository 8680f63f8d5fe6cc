package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// An operand is a buffer that a collective operation was given, whether as a slice or as a
// Buffer, and what is wrong with it.
type operand struct {
	Buffer
	null bool // it is nil, or the zero Buffer: MPI_IN_PLACE where the standard allows that
	err  error
}

// slice is the operand of a slice.
func slice[T any](xs []T) operand {
	t, err := datatype.Of[T]()
	if err != nil {
		return operand{null: xs == nil, err: err}
	}
	return operand{Buffer: Buffer{Mem: bytesOf(xs), Type: t, Count: len(xs)}, null: xs == nil}
}

// typed is the operand of a Buffer.
func typed(b Buffer) operand {
	return operand{Buffer: b, null: inPlace(b), err: checkBuffer(b)}
}

// wrong is the first thing that is wrong with some operands.
func wrong(xs ...operand) error {
	for _, x := range xs {
		if x.err != nil {
			return x.err
		}
	}
	return nil
}

// A layout says where in a buffer the pieces of several ranks are, as the v-forms of
// collective operations have it: counts[i] elements, from element displs[i] on. nil displs
// stand for one piece behind the other.
type layout struct{ counts, displs []int }

// pieces are the buffers of n ranks in an operand. Each lies in the operand's memory.
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

// piece is count elements of a buffer, from element at on.
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

// packedAll is packed of several buffers.
func packedAll(bs []Buffer) [][]byte {
	list := make([][]byte, len(bs))
	for i, b := range bs {
		list[i] = packed(&b)
	}
	return list
}

// roomAll is room of several buffers, with their elements in it already if keep is set.
func roomAll(bs []Buffer, keep bool) [][]byte {
	list := make([][]byte, len(bs))
	for i, b := range bs {
		list[i] = room(&b, keep)
	}
	return list
}

// unpackAll is unpack of several buffers.
func unpackAll(bs []Buffer, list [][]byte) {
	for i, b := range bs {
		unpack(&b, list[i])
	}
}
