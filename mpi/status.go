package mpi

import (
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A Status describes a message that was received (MPI-4.1, 3.2.5). Source and Tag are the
// message's, Bytes is the length of its data, including bytes that did not fit, and Cancelled tells
// whether the operation was cancelled in time. GetCount, Count and Elements return the length in
// elements. The error of the operation is returned beside the Status.
type Status core.Status

// emptyStatus is the Status of an operation without a message (MPI-4.1, 3.7.3).
var emptyStatus = Status(core.Empty)

// coreStatuses returns the same memory as the engine's type.
func coreStatuses(sts []Status) []core.Status {
	return unsafe.Slice((*core.Status)(unsafe.Pointer(unsafe.SliceData(sts))), len(sts))
}

// GetCount returns how many elements of type T the message has. It returns Undefined if that is not
// a whole number, or T has no datatype (MPI_Get_count; MPI-4.1, 3.2.5).
func GetCount[T any](st Status) int {
	if isScalar[T]() {
		return count(st.Bytes, sizeOf[T]())
	}
	t, err := datatype.Of[T]()
	if err != nil {
		return Undefined
	}
	return st.Count(t)
}

// Count returns how many elements of datatype t the message has, or Undefined if that is not a
// whole number (MPI_Get_count; MPI-4.1, 3.2.5).
func (st Status) Count(t *datatype.Type) int {
	if t == nil {
		return Undefined
	}
	return count(st.Bytes, t.Size())
}

// Elements returns how many basic elements the message has, where its last element of datatype t
// may be incomplete. It returns Undefined if the last basic element is incomplete
// (MPI_Get_elements; MPI-4.1, 5.1.11).
func (st Status) Elements(t *datatype.Type) int {
	if t == nil {
		return Undefined
	}
	n, whole := t.ElementsIn(st.Bytes)
	if !whole {
		return Undefined
	}
	return n
}

func count(bytes, size int) int {
	switch {
	case bytes == 0:
		return 0
	case size == 0 || bytes%size != 0:
		return Undefined
	}
	return bytes / size
}
