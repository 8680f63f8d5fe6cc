package topo

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A DistGraph is a directed graph as one process knows it: the edges that lead to it and those
// that leave it (MPI-4.1, 8.5.4).
type DistGraph struct {
	procs, rank int
	weighted    bool
	in, out     links
}

// links are the edges on one side of a process, in the order of the neighbourhood.
type links struct {
	ranks   []int
	weights []int // one for each of ranks, or none if the graph has no weights
}

var _ Topology = (*DistGraph)(nil)

// NewDistAdjacent makes process rank's part of a graph of procs processes, each of which gives
// its own edges (MPI_Dist_graph_create_adjacent; MPI-4.1, 8.5.4). A neighbour may be given
// more than once.
//
// Weights are not negative, one for each neighbour. Nil weights say that the graph has none
// (MPI_UNWEIGHTED), on both sides unless a side has no neighbours; an empty slice that is not
// nil says that it has, where there are no neighbours (MPI_WEIGHTS_EMPTY). A neighbour that is
// no rank is an error of class Rank, all else one of class Arg.
func NewDistAdjacent(procs, rank int, sources, sourceWeights, destinations, destinationWeights []int) (*DistGraph, error) {
	if err := checkRank(rank, procs); err != nil {
		return nil, err
	}
	d := &DistGraph{procs: procs, rank: rank, weighted: sourceWeights != nil || destinationWeights != nil}
	for _, side := range []struct {
		what           string
		links          *links
		ranks, weights []int
	}{
		{"source", &d.in, sources, sourceWeights},
		{"destination", &d.out, destinations, destinationWeights},
	} {
		if err := checkLinks(procs, side.what, side.ranks, side.weights, d.weighted); err != nil {
			return nil, err
		}
		side.links.ranks = slices.Clone(side.ranks)
		if d.weighted {
			side.links.weights = append([]int{}, side.weights...)
		}
	}
	return d, nil
}

func checkLinks(procs int, what string, ranks, weights []int, weighted bool) error {
	if weighted && len(weights) != len(ranks) {
		return errclass.New(errclass.Arg, "%d %ss have %d weights: give one for each, or none for the whole graph", len(ranks), what, len(weights))
	}
	for i, rank := range ranks {
		if err := checkRank(rank, procs); err != nil {
			return errclass.Wrap(errclass.Rank, err, "%s %d of the graph", what, i)
		}
		if weighted && weights[i] < 0 {
			return errclass.New(errclass.Arg, "the weight of %s %d is %d: give none below 0", what, i, weights[i])
		}
	}
	return nil
}

// Kind is KindDist.
func (d *DistGraph) Kind() Kind { return KindDist }

// Size is the number of processes in the graph.
func (d *DistGraph) Size() int { return d.procs }

// Weighted tells whether edges have weights (MPI_Dist_graph_neighbors_count; MPI-4.1, 8.5.5).
func (d *DistGraph) Weighted() bool { return d.weighted }

// Sources are new slices with the neighbours that edges come from, and the weights of those
// edges, or nil (MPI_Dist_graph_neighbors; MPI-4.1, 8.5.5).
func (d *DistGraph) Sources() (ranks, weights []int) {
	return slices.Clone(d.in.ranks), slices.Clone(d.in.weights)
}

// Destinations are what Sources are, for the edges that leave the process.
func (d *DistGraph) Destinations() (ranks, weights []int) {
	return slices.Clone(d.out.ranks), slices.Clone(d.out.weights)
}

// Neighborhood of a distributed graph is known for the process whose part it is only; another
// rank is an error of class Rank.
func (d *DistGraph) Neighborhood(rank int) (Neighborhood, error) {
	if rank != d.rank {
		return Neighborhood{}, errclass.New(errclass.Rank, "of a distributed graph rank %d knows its own neighbours only, not those of %d", d.rank, rank)
	}
	return Neighborhood{Sources: slices.Clone(d.in.ranks), Destinations: slices.Clone(d.out.ranks)}, nil
}
