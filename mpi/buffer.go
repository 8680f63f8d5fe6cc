package mpi

import (
	"reflect"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Buffer is the memory of a message: Count elements of datatype Type, the first at Mem[Origin]
// (MPI-4.1, 3.2.2). With a nil Type it is the bytes of Mem. Typed and BufferOf make one. The zero
// Buffer has no bytes; in collective operations it means MPI_IN_PLACE.
type Buffer = core.Buffer

// Typed returns a Buffer of count elements of t, the first at mem[origin]. Displacements in t may
// be negative, so an element may begin before the origin. Typed and every call check that all
// elements lie in mem; if not, the error has class ErrBuffer. A bad count or type has class
// ErrCount or ErrType.
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

// BufferOf returns a Buffer of the elements of xs, without copying them. T is a number, or an array
// or structure of numbers; any other type is an error of class ErrType.
func BufferOf[T any](xs []T) (Buffer, error) {
	t, err := datatype.Of[T]()
	if err != nil {
		return Buffer{}, err
	}
	return Buffer{Mem: bytesOf(xs), Type: t, Count: len(xs)}, nil
}

// bufferOf is BufferOf for calls that only move data. It treats numbers as bytes, which saves
// looking up their datatype.
func bufferOf[T any](xs []T) (core.Buffer, error) {
	if isScalar[T]() {
		return core.Buffer{Mem: bytesOf(xs)}, nil
	}
	return BufferOf(xs)
}

// isScalar tells whether T is one of Go's number types, under whatever name. Trying the types
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

// bytesOf returns the memory of xs.
func bytesOf[T any](xs []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(xs))), len(xs)*sizeOf[T]())
}

// dataBytes returns the number of data bytes of a buffer that has not been checked, for a hook.
func dataBytes(b core.Buffer) int {
	if b.Type == nil {
		return len(b.Mem)
	}
	return b.Count * b.Type.Size()
}
