package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// TypedIn is Typed for memory that is a slice: count elements of t, the first at xs[origin].
// Displacements in t are in bytes, as for Typed. The error has class ErrBuffer if the origin or
// some elements do not lie in xs, and ErrType if the elements of xs have no datatype.
func TypedIn[T any](xs []T, origin, count int, t *datatype.Type) (Buffer, error) {
	if _, err := datatype.Of[T](); err != nil {
		return Buffer{}, err
	}
	if origin < 0 || origin > len(xs) {
		return Buffer{}, errclass.New(errclass.Buffer, "element %d, the origin, is not in a slice of %d", origin, len(xs))
	}
	return Typed(bytesOf(xs), origin*sizeOf[T](), count, t)
}
