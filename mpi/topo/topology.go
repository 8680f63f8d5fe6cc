package topo

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

//go:generate go tool stringer -type=Kind -linecomment -output=kind_string.go

const (
	// Undefined is the new rank of a process that is not in a topology (MPI_UNDEFINED).
	Undefined = -32766
	// ProcNull is the neighbour beyond the border of a grid (MPI_PROC_NULL; MPI-4.1, 3.11).
	ProcNull = -2
)

// A Kind is the result of MPI_Topo_test (MPI-4.1, 8.5.5).
type Kind int

// Kinds of topologies. KindNone means that a communicator has none.
const (
	KindNone  Kind = iota // MPI_UNDEFINED
	KindCart              // MPI_CART
	KindGraph             // MPI_GRAPH
	KindDist              // MPI_DIST_GRAPH
)

// A Topology is the topology of a communicator: a *Cart, a *Graph or a *DistGraph.
type Topology interface {
	Kind() Kind
	// Size returns the number of processes in the topology.
	Size() int
	// Neighborhood returns the neighbours of a rank, in the order of neighbourhood collective
	// operations.
	Neighborhood(rank int) (Neighborhood, error)
}

// A Neighborhood is the ranks that a process receives from and sends to in a neighbourhood
// collective operation. Receive buffer i is for Sources[i], and send buffer i for Destinations[i]
// (MPI-4.1, 8.6). A rank may occur more than once, and ProcNull means that nothing is sent or
// received.
type Neighborhood struct {
	Sources, Destinations []int
	// Crossed is set in a grid, where data for the negative neighbour of a dimension arrive from
	// the positive one. See Recv.
	Crossed bool
}

// Recv returns the index in Sources of the i-th message to receive, 0 ≤ i < len(Sources), if
// messages are sent in the order of Destinations. That is i, except in grids: two processes that
// are each other's neighbour on both sides send downwards first, so the first of the two messages
// between them comes from above.
func (n *Neighborhood) Recv(i int) int {
	if n.Crossed {
		return i ^ 1
	}
	return i
}

// checkRank returns an error unless rank is one of size ranks.
func checkRank(rank, size int) error {
	if rank < 0 || rank >= size {
		return errclass.New(errclass.Rank, "rank %d is not one of the %d of the topology, which count from 0", rank, size)
	}
	return nil
}
