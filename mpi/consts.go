package mpi

import "github.com/viaduct-hpc/viaduct/internal/mpi/core"

// Special ranks and tags.
const (
	// AnySource as the source of a receive or probe matches every source (MPI-4.1, 3.2.4).
	AnySource = core.AnySource
	// AnyTag as the tag of a receive or probe matches every tag (MPI-4.1, 3.2.4).
	AnyTag = core.AnyTag
	// ProcNull is the null process: messages to it vanish, and receives from it complete at once
	// without data (MPI-4.1, 3.11).
	ProcNull = core.ProcNull
	// Root is the value that the root of a collective operation on an inter-communicator passes as
	// root (MPI-4.1, 6.2.2).
	Root = -3
	// Undefined is a value that is unknown or does not exist (MPI_UNDEFINED).
	Undefined = -32766
	// TagUB is the largest tag (MPI_TAG_UB; MPI-4.1, 9.1.2).
	TagUB = core.TagMax
)
