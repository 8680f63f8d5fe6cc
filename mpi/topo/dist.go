package topo

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A DistGraph is one process's part of a directed graph: the edges that lead to it and those that
// leave it (MPI-4.1, 8.5.4).
type DistGraph struct {
	procs, rank int
	weighted    bool
	in, out     links
}

// links are the edges on one side of a process, in the order of its neighbourhood.
type links struct {
	ranks   []int
	weights []int // one for each of ranks, or none if the graph has no weights
}

var _ Topology = (*DistGraph)(nil)

// NewDistAdjacent makes process rank's part of a graph of procs processes, each of which passes its
// own edges (MPI_Dist_graph_create_adjacent; MPI-4.1, 8.5.4). A neighbour may occur more than once.
//
// Weights are not negative, one for each neighbour. Nil weights mean that the graph has none
// (MPI_UNWEIGHTED); they must then be nil on both sides, except on a side without neighbours. On a
// side without neighbours, an empty slice that is not nil means that the graph has weights
// (MPI_WEIGHTS_EMPTY). An invalid rank of a neighbour is an error of class Rank; other errors have
// class Arg.
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

// Kind returns KindDist.
func (d *DistGraph) Kind() Kind { return KindDist }

// Size returns the number of processes in the graph.
func (d *DistGraph) Size() int { return d.procs }

// Weighted tells whether edges have weights (MPI_Dist_graph_neighbors_count; MPI-4.1, 8.5.5).
func (d *DistGraph) Weighted() bool { return d.weighted }

// Sources returns new slices with the neighbours that edges come from, and the weights of those
// edges, or nil (MPI_Dist_graph_neighbors; MPI-4.1, 8.5.5).
func (d *DistGraph) Sources() (ranks, weights []int) {
	return slices.Clone(d.in.ranks), slices.Clone(d.in.weights)
}

// Destinations is Sources for the edges that leave the process.
func (d *DistGraph) Destinations() (ranks, weights []int) {
	return slices.Clone(d.out.ranks), slices.Clone(d.out.weights)
}

// Neighborhood is only known for the process whose part this is; another rank is an error of class
// Rank.
func (d *DistGraph) Neighborhood(rank int) (Neighborhood, error) {
	if rank != d.rank {
		return Neighborhood{}, errclass.New(errclass.Rank, "of a distributed graph rank %d knows its own neighbours only, not those of %d", d.rank, rank)
	}
	return Neighborhood{Sources: slices.Clone(d.in.ranks), Destinations: slices.Clone(d.out.ranks)}, nil
}
