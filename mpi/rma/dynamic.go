package rma

import (
	"context"
	"math"
	"slices"
	"sort"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/info"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/apply"
)

// CreateDynamic makes a window without memory; Attach adds memory later. All processes of c call it
// (MPI_Win_create_dynamic; MPI-4.1, 12.2.4).
func CreateDynamic(ctx context.Context, c *mpi.Comm, hints *info.Info) (*Win, error) {
	return create(ctx, c, recipe{name: "MPI_Win_create_dynamic", flavor: Dynamic, unit: 1, hints: hints})
}

// Attach adds memory to a dynamic window, and returns the displacement at which the other processes
// find it; a program sends it to them. The memory must not overlap other attached memory
// (MPI_Win_attach; MPI-4.1, 12.2.4).
func (w *Win) Attach(b mpi.Buffer) (disp int, err error) {
	err = w.call("MPI_Win_attach", mpi.Undefined, func() error {
		mem, err := w.attachable(b)
		if err != nil {
			return err
		}
		base := address(mem)
		s := &w.server
		s.mu.Lock()
		defer s.mu.Unlock()
		i := sort.Search(len(s.attached), func(i int) bool { return s.attached[i].base >= base })
		if i > 0 && s.attached[i-1].base+uint64(len(s.attached[i-1].mem)) > base ||
			i < len(s.attached) && base+uint64(len(mem)) > s.attached[i].base {
			return errclass.New(errclass.RMAAttach, "a part of the memory is attached already: detach that first")
		}
		s.attached = slices.Insert(s.attached, i, attachment{base, mem})
		disp = int(base)
		return nil
	})
	return disp, err
}

// Detach removes memory that Attach added; b begins where the memory did. No process can access it any
// more when Detach returns (MPI_Win_detach; MPI-4.1, 12.2.4).
func (w *Win) Detach(b mpi.Buffer) error {
	return w.call("MPI_Win_detach", mpi.Undefined, func() error {
		mem, err := w.attachable(b)
		if err != nil {
			return err
		}
		s := &w.server
		s.mu.Lock()
		defer s.mu.Unlock()
		i := s.find(address(mem))
		if i < 0 || s.attached[i].base != address(mem) {
			return errclass.New(errclass.RMAAttach, "the memory is not attached: give the one that Attach got")
		}
		s.withdraw(s.attached[i].base)
		s.attached = slices.Delete(s.attached, i, i+1)
		return nil
	})
}

// attachable returns the memory of a buffer that can be attached.
func (w *Win) attachable(b mpi.Buffer) ([]byte, error) {
	if w.flavor != Dynamic {
		return nil, errclass.New(errclass.RMAFlavor, "memory can be attached only to a window of CreateDynamic")
	}
	m, err := memoryOf(b)
	if err != nil {
		return nil, err
	}
	mem, ok := m.whole()
	if !ok || len(mem) == 0 {
		return nil, errclass.New(errclass.RMAAttach, "the memory to attach is empty, or not elements one behind the other, as those of a slice are")
	}
	return mem, nil
}

func address(mem []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }

// find returns the index of the attachment that an address is in, or -1. s.mu is held.
func (s *server) find(at uint64) int {
	i := sort.Search(len(s.attached), func(i int) bool { return s.attached[i].base > at }) - 1
	if i >= 0 && at-s.attached[i].base < uint64(len(s.attached[i].mem)) {
		return i
	}
	return -1
}

// performDynamic does an accumulate whose runs may be in several attachments.
func (s *server) performDynamic(op apply.Op, elem datatype.Kind, data, old []byte, lock apply.Locker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := elem.Size()
	for first := 0; first < len(s.runs); {
		i := s.find(uint64(s.runs[first].Off))
		if i < 0 {
			return nil // detached meanwhile
		}
		a := &s.attached[i]
		last, n := first, 0
		for ; last < len(s.runs); last++ {
			r := &s.runs[last]
			in := uint64(r.Off) - a.base
			if uint64(r.Off) < a.base || in > uint64(len(a.mem)) || uint64(r.Len) > uint64(len(a.mem))-in || in > math.MaxInt {
				break
			}
			r.Off = int(in)
			n += r.Len
		}
		if n%size != 0 || last == first {
			return errMalformed // an element in two attachments
		}
		if err := apply.Do(op, elem, a.mem, s.runs[first:last], head(data, n), head(old, n), lock); err != nil {
			return err
		}
		data, old = tail(data, n), tail(old, n)
		first = last
	}
	return nil
}

func head(b []byte, n int) []byte {
	if b == nil {
		return nil
	}
	return b[:n]
}

func tail(b []byte, n int) []byte {
	if b == nil {
		return nil
	}
	return b[n:]
}
