package mpi

import (
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A Status describes a message that was received (MPI-4.1, 3.2.5). GetCount, Count and Elements
// return its length in elements.
type Status struct {
	Source, Tag int // of the message
	Bytes       int // of its data, including bytes that did not fit
	// Cancelled tells whether the operation was cancelled in time.
	Cancelled bool
	// Err is the error of the operation. Only calls on several requests set it.
	Err error
}

// emptyStatus is the Status of an operation without a message (MPI-4.1, 3.7.3).
var emptyStatus = statusOf(core.Empty)

// statusOf returns the engine's status.
func statusOf(st core.Status) Status {
	return Status{Source: st.Source, Tag: st.Tag, Bytes: st.Bytes, Cancelled: st.Cancelled}
}

// core returns the status as the engine's.
func (st *Status) core() core.Status {
	return core.Status{Source: st.Source, Tag: st.Tag, Bytes: st.Bytes, Cancelled: st.Cancelled}
}

// GetCount returns how many elements of type T the message has. It returns Undefined if that is not
// a whole number, or T has no datatype (MPI_Get_count; MPI-4.1, 3.2.5).
func GetCount[T any](st Status) int {
	t, _ := datatype.Of[T]() // nil if it has none
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
