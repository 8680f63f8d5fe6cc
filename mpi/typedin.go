package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// TypedIn is Typed for memory that is a slice: count elements of t, the first of which lies
// at xs[origin]. Displacements in t are in bytes where Typed's are. The class of errors is
// ErrBuffer if the elements do not all lie in xs, or the origin does not; ErrType if xs holds
// what has no datatype.
func TypedIn[T any](xs []T, origin, count int, t *datatype.Type) (Buffer, error) {
	if _, err := datatype.Of[T](); err != nil {
		return Buffer{}, err
	}
	if origin < 0 || origin > len(xs) {
		return Buffer{}, errclass.New(errclass.Buffer, "element %d, the origin, is not in a slice of %d", origin, len(xs))
	}
	return Typed(bytesOf(xs), origin*sizeOf[T](), count, t)
}
