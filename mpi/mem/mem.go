// Package mem has memory for messages that moves more cheaply than Go's own (MPI_Alloc_mem; MPI-4.1,
// 9.2). What it saves depends on the method: over a plugin, which is another process, large messages
// in other memory are copied to where both see them; within a host, via+shm has it in huge pages.
// Methods that gain nothing give Go's memory, and so do communicators of one process.
//
//	m, err := mem.Alloc[float64](w, 1<<20, nil)
//	err = w.Send(ctx, mpi.Slice(m.Slice()), to, tag)
//	err = m.Free()
package mem

import (
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/info"
	"github.com/viaduct-hpc/viaduct/mpi/internal/bridge"
)

// within is the inside of package mpi.
var within = bridge.Take[mpi.Comm, mpi.Request, mpi.Call]()

// KeyAlignment is the hint that asks for an alignment, in bytes: a power of two up to AlignmentMax
// (MPI-4.1, 9.2).
const (
	KeyAlignment = "mpi_minimum_memory_alignment"
	AlignmentMax = 1 << 30
)

// A Memory is n elements of type T. It is the program's until Free or the process's Finalize, and
// gone after that, unlike Go's own memory.
type Memory[T any] struct {
	c     *mpi.Comm
	xs    []T
	free  func() error // nil: the garbage collector
	freed atomic.Bool
}

// Alloc returns zeroed memory of n elements for messages between the processes of a communicator
// (MPI_Alloc_mem; MPI-4.1, 9.2). It tries the methods in the order of the ranks that they reach, and
// takes memory of the first that has some. T must have no pointers. hints may be nil; unknown hints
// are ignored.
func Alloc[T any](c *mpi.Comm, n int, hints *info.Info) (*Memory[T], error) {
	if err := within.Live(c); err != nil {
		return nil, err
	}
	m := &Memory[T]{c: c}
	size := int(unsafe.Sizeof(*new(T)))
	call := within.Enter(c, "MPI_Alloc_mem", mpi.Undefined, max(0, n)*size)
	err := m.alloc(n, size, hints)
	if err != nil {
		err = within.Fail(c, err)
	}
	within.Leave(c, call, err)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Slice returns the elements.
func (m *Memory[T]) Slice() []T { return m.xs }

// Free gives the memory back (MPI_Free_mem; MPI-4.1, 9.2). No operation may use it any more, and
// neither may the program.
func (m *Memory[T]) Free() error {
	call := within.Enter(m.c, "MPI_Free_mem", mpi.Undefined, 0)
	err := m.giveBack()
	if err != nil {
		err = within.Fail(m.c, err)
	}
	within.Leave(m.c, call, err)
	return err
}

func (m *Memory[T]) giveBack() error {
	if m.freed.Swap(true) {
		return errclass.New(errclass.Base, "the memory has been freed already: free it once")
	}
	m.xs = nil
	if m.free == nil {
		return nil
	}
	if err := m.free(); err != nil {
		return errclass.Wrap(errclass.Base, err, "freeing memory")
	}
	return nil
}

func (m *Memory[T]) alloc(n, size int, hints *info.Info) error {
	if _, err := datatype.Of[T](); err != nil {
		return err
	}
	align, err := alignment(hints)
	switch {
	case err != nil:
		return err
	case n < 0:
		return errclass.New(errclass.Arg, "the number of elements is %d, give 0 or more", n)
	case n == 0 || size == 0:
		m.xs = make([]T, n)
		return nil
	case n > (bytesMax-align)/size:
		return errclass.New(errclass.NoMem, "%d elements of %d bytes do not fit into memory", n, size)
	}
	align = max(align, int(unsafe.Alignof(*new(T))))
	mem, free, err := bytesFor(m.c, n*size, align)
	if err != nil {
		return errclass.Wrap(errclass.NoMem, err, "allocating %d bytes", n*size)
	}
	clear(mem)
	m.xs, m.free = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n), free
	return nil
}

// bytesMax limits an allocation.
const bytesMax = 1 << 46

// alignment returns the alignment that hints ask for, 1 if none.
func alignment(hints *info.Info) (int, error) {
	value, ok := hints.Get(KeyAlignment)
	if !ok {
		return 1, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > AlignmentMax || n&(n-1) != 0 {
		return 0, errclass.New(errclass.InfoValue, "%s is %q: give a power of two up to %d", KeyAlignment, value, AlignmentMax)
	}
	return n, nil
}

// bytesFor returns aligned memory. free is nil if it is Go's.
func bytesFor(c *mpi.Comm, size, align int) (mem []byte, free func() error, err error) {
	mem, free, err = moved(c, size)
	if err != nil || free != nil && misaligned(mem, align) == 0 {
		return mem, free, err
	}
	if free != nil { // too little luck
		if err := free(); err != nil {
			return nil, nil, err
		}
		if mem, free, err = moved(c, size+align-1); err != nil {
			return nil, nil, err
		}
	}
	if free == nil {
		mem = make([]byte, size+align-1)
	}
	skip := misaligned(mem, align)
	return mem[skip : skip+size : skip+size], free, nil
}

// misaligned returns how many bytes lie before the first aligned one.
func misaligned(mem []byte, align int) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) % uintptr(align))
}

// moved returns memory of a method that has some; free is nil if none has.
func moved(c *mpi.Comm, size int) (mem []byte, free func() error, err error) {
	for _, g := range []*mpi.Group{c.RemoteGroup(), c.Group()} {
		if g == nil {
			continue
		}
		for rank, p := range g.All() {
			if rank == ranksMax {
				break
			}
			if mem, free, ok, err := p.Memory(size); ok || err != nil {
				return mem, free, err
			}
		}
	}
	return nil, nil, nil
}

// ranksMax is how many ranks of a group are looked at for a method that has memory.
const ranksMax = 64
