package mpi

import (
	"reflect"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Buffer is the memory of a message: Count elements of datatype Type, the first of which
// lies at Mem[Origin] (MPI-4.1, 3.2.2). With a nil Type it is the bytes of Mem. Typed and
// BufferOf make one; the zero Buffer is no bytes, and MPI_IN_PLACE in collective operations.
type Buffer = core.Buffer

// Typed is count elements of t, the first of which lies at mem[origin]. Displacements in t
// may be negative, so that elements begin before the origin. That all of them lie in mem is
// checked here and by every call: if not, the class is ErrBuffer; or ErrCount or ErrType if
// these are what is wrong.
func Typed(mem []byte, origin, count int, t *datatype.Type) (Buffer, error) {
	if t == nil {
		return Buffer{}, errclass.New(errclass.Type, "the datatype is nil: give one of package datatype")
	}
	if err := checkCount(count); err != nil {
		return Buffer{}, err
	}
	if err := t.Fits(len(mem), origin, count); err != nil {
		return Buffer{}, err
	}
	return Buffer{Mem: mem, Origin: origin, Type: t, Count: count}, nil
}

// BufferOf is the elements of xs where they are. T is a number, or an array or structure of
// numbers; anything else is of class ErrType.
func BufferOf[T any](xs []T) (Buffer, error) {
	t, err := datatype.Of[T]()
	if err != nil {
		return Buffer{}, err
	}
	return Buffer{Mem: bytesOf(xs), Type: t, Count: len(xs)}, nil
}

// bufferOf is BufferOf for calls that only move data: numbers are bytes to them, which
// saves looking their datatype up.
func bufferOf[T any](xs []T) (core.Buffer, error) {
	if isScalar[T]() {
		return core.Buffer{Mem: bytesOf(xs)}, nil
	}
	return BufferOf(xs)
}

// isScalar tells whether T is a number of Go's, under whatever name. To ask for the types
// themselves first costs a tenth of what reflection does.
func isScalar[T any]() bool {
	switch any((*T)(nil)).(type) {
	case *bool, *int8, *int16, *int32, *int64, *int, *uint8, *uint16, *uint32, *uint64, *uint,
		*float32, *float64, *complex64, *complex128:
		return true
	}
	kind := reflect.TypeFor[T]().Kind()
	return reflect.Bool <= kind && kind <= reflect.Complex128 && kind != reflect.Uintptr
}

func sizeOf[T any]() int {
	var x T
	return int(unsafe.Sizeof(x))
}

// bytesOf is the memory of xs.
func bytesOf[T any](xs []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(xs))), len(xs)*sizeOf[T]())
}

// dataBytes is how many bytes of data a buffer stands for, for a hook: nobody has checked
// it yet.
func dataBytes(b core.Buffer) int {
	if b.Type == nil {
		return len(b.Mem)
	}
	return b.Count * b.Type.Size()
}
