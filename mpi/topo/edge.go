package topo

import (
	"cmp"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// An Edge is an edge of a distributed graph, as processes send it. MPI_Dist_graph_create takes
// edges from any process (MPI-4.1, 8.5.4): each makes a list of its edges (Edges), sends every
// process those that concern it (Route), and makes its part of the graph from the edges that it
// receives (NewDistGraph).
type Edge struct{ Source, Destination, Weight int }

// Edges returns the edges that one process passes: node sources[i] has degrees[i] edges, which lead
// to the next degrees[i] elements of destinations, with as many of weights, or all of weight 1 if
// weights is nil (MPI_UNWEIGHTED). A process outside the graph is an error of class Rank; a
// negative weight or degree, or lists of the wrong length, are errors of class Arg.
func Edges(procs int, sources, degrees, destinations, weights []int) ([]Edge, error) {
	if len(degrees) != len(sources) {
		return nil, errclass.New(errclass.Arg, "%d sources have %d degrees: give one for each", len(sources), len(degrees))
	}
	if weights != nil && len(weights) != len(destinations) {
		return nil, errclass.New(errclass.Arg, "%d destinations have %d weights: give one for each, or none at all", len(destinations), len(weights))
	}
	edges := make([]Edge, 0, len(destinations))
	for i, source := range sources {
		if degrees[i] < 0 || degrees[i] > len(destinations)-len(edges) {
			return nil, errclass.New(errclass.Arg, "source %d has degree %d, but %d destinations are left", i, degrees[i], len(destinations)-len(edges))
		}
		for range degrees[i] {
			e := Edge{Source: source, Destination: destinations[len(edges)], Weight: 1}
			if weights != nil {
				e.Weight = weights[len(edges)]
			}
			if err := e.check(procs); err != nil {
				return nil, err
			}
			edges = append(edges, e)
		}
		if err := checkRank(source, procs); err != nil {
			return nil, err
		}
	}
	if len(edges) != len(destinations) {
		return nil, errclass.New(errclass.Arg, "the degrees add up to %d, but %d destinations are given", len(edges), len(destinations))
	}
	return edges, nil
}

func (e Edge) check(procs int) error {
	if err := checkRank(e.Source, procs); err != nil {
		return err
	}
	if err := checkRank(e.Destination, procs); err != nil {
		return err
	}
	if e.Weight < 0 {
		return errclass.New(errclass.Arg, "the edge from %d to %d has weight %d: give none below 0", e.Source, e.Destination, e.Weight)
	}
	return nil
}

// Route returns, for each process, the edges that begin or end at it, in their order. Use edges
// that Edges returned for a graph of procs processes.
func Route(procs int, edges []Edge) [][]Edge {
	to := make([][]Edge, procs)
	for _, e := range edges {
		to[e.Source] = append(to[e.Source], e)
		if e.Destination != e.Source {
			to[e.Destination] = append(to[e.Destination], e)
		}
	}
	return to
}

// NewDistGraph makes process rank's part of a graph of procs processes from the edges that each
// process sent it, by rank of the sender (MPI_Dist_graph_create; MPI-4.1, 8.5.4). An edge that is
// invalid or does not concern this process is an error of class Topology.
//
// Neighbours are in rank order, whichever process passed the edges. Edges between the same two
// processes are in the order of the processes that passed them. This order is the same at both
// ends, so it pairs the edges in neighbourhood collective operations.
func NewDistGraph(procs, rank int, weighted bool, sent [][]Edge) (*DistGraph, error) {
	if err := checkRank(rank, procs); err != nil {
		return nil, err
	}
	var in, out []Edge
	for sender, edges := range sent {
		for _, e := range edges {
			if err := e.check(procs); err != nil {
				return nil, errclass.Wrap(errclass.Topology, err, "rank %d sent an edge that is none", sender)
			}
			if e.Source != rank && e.Destination != rank {
				return nil, errclass.New(errclass.Topology, "rank %d sent rank %d the edge from %d to %d, which is not its", sender, rank, e.Source, e.Destination)
			}
			if e.Source == rank {
				out = append(out, e)
			}
			if e.Destination == rank {
				in = append(in, e)
			}
		}
	}
	slices.SortStableFunc(in, func(a, b Edge) int { return cmp.Compare(a.Source, b.Source) })
	slices.SortStableFunc(out, func(a, b Edge) int { return cmp.Compare(a.Destination, b.Destination) })
	d := &DistGraph{procs: procs, rank: rank, weighted: weighted}
	d.in.fill(in, weighted, func(e Edge) int { return e.Source })
	d.out.fill(out, weighted, func(e Edge) int { return e.Destination })
	return d, nil
}

func (l *links) fill(edges []Edge, weighted bool, neighbour func(Edge) int) {
	if weighted {
		l.weights = []int{}
	}
	for _, e := range edges {
		l.ranks = append(l.ranks, neighbour(e))
		if weighted {
			l.weights = append(l.weights, e.Weight)
		}
	}
}
