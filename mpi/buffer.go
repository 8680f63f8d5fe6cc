package mpi

import (
	"unsafe"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Buffer is the memory of a message: elements of a datatype (MPI-4.1, 3.2.2). Slice, Value and
// Typed make one, without copying, and Parts and Each divide memory among the ranks of a collective
// operation. What is wrong with the arguments of these functions is found by the call that gets the
// Buffer, which returns the error.
type Buffer struct {
	// The memory, which contains all elements, and is nothing but them if more is nil. A slice would
	// have a capacity as well, and the compiler keeps structures of at most four words in registers.
	first *byte
	bytes int

	t    *datatype.Type // of the elements; nil only in InPlace
	more *more          // nil if the buffer is all elements of a slice
}

// more describes a Buffer that is not simply a slice.
type more struct {
	origin, count int // the first element's place in the memory; the elements
	err           error

	split          bool     // made by Parts: counts and displs divide the elements
	counts, displs []int    // of Parts
	parts          []Buffer // of Each
}

// InPlace stands for memory that a process passes elsewhere in the same call (MPI_IN_PLACE), and for
// memory that does not matter in this process.
var InPlace Buffer

// Slice returns the memory of xs: numbers, or arrays or structures of numbers. For other elements
// the error has class ErrType.
func Slice[T any](xs []T) Buffer {
	t := frequent[T]()
	if t == nil {
		return unusual(xs)
	}
	return Buffer{first: startOf(xs), bytes: len(xs) * sizeOf[T](), t: t}
}

// frequent returns the datatype of T if T is one of the most frequent types. For these it takes a
// tenth of the time of reflection.
func frequent[T any]() *datatype.Type {
	switch any((*T)(nil)).(type) {
	case *byte:
		return datatype.Uint8
	case *float64:
		return datatype.Float64
	case *int:
		return datatype.Int
	case *int64:
		return datatype.Int64
	case *int32:
		return datatype.Int32
	case *float32:
		return datatype.Float32
	}
	return nil
}

// unusual is Slice for other types.
func unusual[T any](xs []T) Buffer {
	t, err := datatype.Of[T]()
	if err != nil {
		return wrongBuffer(err)
	}
	return Buffer{first: startOf(xs), bytes: len(xs) * sizeOf[T](), t: t}
}

// Value returns the memory of *x, one element: a number, or an array or structure of numbers.
func Value[T any](x *T) Buffer {
	if x == nil {
		return wrongBuffer(errclass.New(errclass.Buffer, "the pointer to the value is nil"))
	}
	return Slice(unsafe.Slice(x, 1))
}

// Typed returns the memory of count elements of t in xs, the first at xs[origin]. Displacements in t
// are in bytes, and may be negative, so an element may begin before the origin. All elements lie in
// xs; if not, the error has class ErrBuffer. A bad count or type has class ErrCount or ErrType.
func Typed[T any](xs []T, origin, count int, t *datatype.Type) Buffer {
	if _, err := datatype.Of[T](); err != nil {
		return wrongBuffer(err)
	}
	if origin < 0 || origin > len(xs) {
		return wrongBuffer(errclass.New(errclass.Buffer, "element %d, the origin, is not in a slice of %d", origin, len(xs)))
	}
	if t == nil {
		return wrongBuffer(errclass.New(errclass.Type, "the datatype is nil: give one of package datatype"))
	}
	mem, at := bytesOf(xs), origin*sizeOf[T]()
	if err := fits(t, len(mem), at, count); err != nil {
		return wrongBuffer(err)
	}
	return Buffer{first: startOf(xs), bytes: len(mem), t: t, more: &more{origin: at, count: count}}
}

// Parts divides the elements of a buffer among ranks, as the calls do that end in v in other
// languages: rank i has counts[i] elements, from element displs[i] on. With nil displs the parts
// are contiguous.
func (b Buffer) Parts(counts, displs []int) Buffer {
	if counts == nil {
		counts = []int{} // which fit no ranks, while nil means equal parts
	}
	m := b.detail()
	m.split, m.counts, m.displs = true, counts, displs
	b.more = &m
	return b
}

// Each makes a Buffer of several, one for each rank, which may have different datatypes, as for
// MPI_Alltoallw. parts[i] is the memory of rank i.
func Each(parts ...Buffer) Buffer {
	if parts == nil {
		parts = []Buffer{}
	}
	return Buffer{t: datatype.Byte, more: &more{parts: parts}}
}

// Memory returns what a buffer describes: count elements of type t, the first at mem[origin]. It is
// for libraries above this one. Buffers that Parts and Each made have no such description.
func (b Buffer) Memory() (mem []byte, origin, count int, t *datatype.Type, err error) {
	if err := b.whole(); err != nil {
		return nil, 0, 0, nil, err
	}
	return b.mem(), b.origin(), b.count(), b.t, nil
}

func wrongBuffer(err error) Buffer { return Buffer{t: datatype.Byte, more: &more{err: err}} }

func sizeOf[T any]() int {
	var x T
	return int(unsafe.Sizeof(x))
}

// startOf returns the first byte of xs.
func startOf[T any](xs []T) *byte { return (*byte)(unsafe.Pointer(unsafe.SliceData(xs))) }

// bytesOf returns the memory of xs.
func bytesOf[T any](xs []T) []byte {
	return unsafe.Slice(startOf(xs), len(xs)*sizeOf[T]())
}

// mem returns the memory.
func (b *Buffer) mem() []byte { return unsafe.Slice(b.first, b.bytes) }

// isInPlace tells whether b is InPlace.
func (b *Buffer) isInPlace() bool { return b.t == nil }

// isPlain tells whether the memory can be sent as it is: one slice of a contiguous datatype.
func (b *Buffer) isPlain() bool { return b.more == nil && b.t != nil && b.t.Contiguous() }

// whole returns an error unless b is one piece of memory.
func (b *Buffer) whole() error {
	switch m := b.more; {
	case m == nil:
		return nil
	case m.err != nil:
		return m.err
	case m.split || m.parts != nil:
		return errDivided
	}
	return nil
}

var errDivided = errclass.New(errclass.Buffer, "the buffer is divided among ranks, which only some collective operations take: give the whole one")

// origin returns the place of the first element in the memory.
func (b *Buffer) origin() int {
	if b.more == nil {
		return 0
	}
	return b.more.origin
}

// count returns the number of elements.
func (b *Buffer) count() int {
	if b.more != nil {
		return b.more.count
	}
	if b.t == nil {
		return 0
	}
	_, extent := b.t.Extent()
	if extent == 0 {
		return 0
	}
	return b.bytes / extent
}

// size returns the number of bytes of data: the size of the buffer's packed form.
func (b *Buffer) size() int {
	if b.t == nil {
		return 0
	}
	return b.count() * b.t.Size()
}

// detail returns b.more, or what it would be for a slice.
func (b *Buffer) detail() more {
	if b.more == nil {
		return more{count: b.count()}
	}
	return *b.more
}

// core returns the engine's form of a buffer in one piece.
func (b *Buffer) core() core.Buffer {
	if b.isPlain() {
		return core.Buffer{Mem: b.mem()}
	}
	return core.Buffer{Mem: b.mem(), Origin: b.origin(), Type: b.t, Count: b.count()}
}

// fits returns an error unless count elements of t, the first at an origin, lie in memory of some
// bytes, and their size in bytes fits an int.
func fits(t *datatype.Type, bytes, origin, count int) error {
	if count < 0 {
		return errclass.New(errclass.Count, "%d elements: give 0 or more", count)
	}
	if err := t.Fits(bytes, origin, count); err != nil {
		return err
	}
	_, err := t.PackSize(count)
	return err
}
