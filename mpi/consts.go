package mpi

import "github.com/viaduct-hpc/viaduct/mpi/core"

// Ranks and tags that are none.
const (
	// AnySource as the source of a receive or probe stands for all (MPI-4.1, 3.2.4).
	AnySource = core.AnySource
	// AnyTag as the tag of a receive or probe stands for all (MPI-4.1, 3.2.4).
	AnyTag = core.AnyTag
	// ProcNull is the process that is none: messages to it vanish, receives from it end at
	// once with nothing (MPI-4.1, 3.11).
	ProcNull = core.ProcNull
	// Root is what the root of a collective operation on an inter-communicator names as
	// root (MPI-4.1, 6.2.2).
	Root = -3
	// Undefined is an integer that is not known, or not there (MPI_UNDEFINED).
	Undefined = -32766
	// TagUB is the largest tag (MPI_TAG_UB; MPI-4.1, 9.1.2).
	TagUB = core.TagMax
)
