package topo

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

//go:generate go tool stringer -type=Kind -linecomment -output=kind_string.go

const (
	// Undefined is the new rank of a process that has no place in a topology (MPI_UNDEFINED).
	Undefined = -32766
	// ProcNull is the neighbour beyond the border of a grid (MPI_PROC_NULL; MPI-4.1, 3.11).
	ProcNull = -2
)

// A Kind is what MPI_Topo_test says (MPI-4.1, 8.5.5).
type Kind int

// The kinds of topologies. KindNone is a communicator's that has none.
const (
	KindNone  Kind = iota // MPI_UNDEFINED
	KindCart              // MPI_CART
	KindGraph             // MPI_GRAPH
	KindDist              // MPI_DIST_GRAPH
)

// A Topology is one that a communicator can have: a *Cart, a *Graph or a *DistGraph.
type Topology interface {
	Kind() Kind
	// Size is the number of processes in the topology.
	Size() int
	// Neighborhood is that of a rank, in the order of the collectives among neighbours.
	Neighborhood(rank int) (Neighborhood, error)
}

// A Neighborhood is whom a process receives from and sends to in a collective among
// neighbours: buffer i of those received is for Sources[i], buffer i of those sent for
// Destinations[i] (MPI-4.1, 8.6). The same rank may occur more than once, and ProcNull where
// nothing is sent or received.
type Neighborhood struct {
	Sources, Destinations []int
	// Crossed is set in a grid, where what goes to the negative neighbour of a dimension
	// arrives from the positive one. See Recv.
	Crossed bool
}

// Recv is the index in Sources of the i-th message to be received, 0 ≤ i < len(Sources), if
// messages are sent in the order of Destinations. That is i but for grids: two processes which
// are each other's neighbour on both sides send downwards first, so the first of the two
// messages between them comes from above.
func (n *Neighborhood) Recv(i int) int {
	if n.Crossed {
		return i ^ 1
	}
	return i
}

// checkRank makes sure that rank is one of size.
func checkRank(rank, size int) error {
	if rank < 0 || rank >= size {
		return errclass.New(errclass.Rank, "rank %d is not one of the %d of the topology, which count from 0", rank, size)
	}
	return nil
}
