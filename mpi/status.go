package mpi

import (
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A Status tells of a message that was received (MPI-4.1, 3.2.5): Source and Tag are what it
// had, Bytes its data, those that did not fit included, and Cancelled tells whether the
// operation was cancelled in time. GetCount, Count and Elements tell its length in elements.
// The error of the operation is returned beside the Status.
type Status core.Status

// emptyStatus is that of what has nothing to tell (MPI-4.1, 3.7.3).
var emptyStatus = Status(core.Empty)

// coreStatuses is the same memory as the engine sees it.
func coreStatuses(sts []Status) []core.Status {
	return unsafe.Slice((*core.Status)(unsafe.Pointer(unsafe.SliceData(sts))), len(sts))
}

// GetCount is how many elements of type T the message has, Undefined if it is not a whole
// number of them, or T is no type for messages (MPI_Get_count; MPI-4.1, 3.2.5).
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

// Count is how many elements of datatype t the message has, Undefined if it is not a whole
// number of them (MPI_Get_count; MPI-4.1, 3.2.5).
func (st Status) Count(t *datatype.Type) int {
	if t == nil {
		return Undefined
	}
	return count(st.Bytes, t.Size())
}

// Elements is how many basic elements, of which datatype t is made, the message has, when t
// may be there in part; Undefined if the last of them is not whole (MPI_Get_elements;
// MPI-4.1, 5.1.11).
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
