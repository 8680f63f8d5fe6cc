package topo

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Graph is a graph that every process knows completely (MPI-4.1, 8.5.3). A process may be its own
// neighbour, or a neighbour of another more than once, and neighbours need not be mutual.
type Graph struct {
	index []int // number of neighbours of the processes up to and including each
	edges []int
}

var _ Topology = (*Graph)(nil)

// NewGraph makes a graph for at most procs processes. It has len(index) processes, and the
// neighbours of process i are edges[index[i-1]:index[i]], where index[-1] counts as 0
// (MPI_Graph_create; MPI-4.1, 8.5.3). Lists that do not describe a graph, and a graph of more than
// procs processes, are errors of class Topology.
func NewGraph(procs int, index, edges []int) (*Graph, error) {
	if len(index) > procs {
		return nil, errclass.New(errclass.Topology, "a graph of %d nodes does not fit a group of %d processes", len(index), procs)
	}
	last := 0
	for i, x := range index {
		if x < last || x > len(edges) {
			return nil, errclass.New(errclass.Topology, "index %d of the graph is %d, outside %d (the one before) to %d (the edges)", i, x, last, len(edges))
		}
		last = x
	}
	if last != len(edges) {
		return nil, errclass.New(errclass.Topology, "the nodes of the graph have %d neighbours, but %d edges are given", last, len(edges))
	}
	for i, to := range edges {
		if to < 0 || to >= len(index) {
			return nil, errclass.New(errclass.Topology, "edge %d of the graph leads to %d, which is not one of its %d nodes", i, to, len(index))
		}
	}
	return &Graph{index: slices.Clone(index), edges: slices.Clone(edges)}, nil
}

// Kind returns KindGraph.
func (g *Graph) Kind() Kind { return KindGraph }

// Size returns the number of nodes (MPI_Graphdims_get; MPI-4.1, 8.5.5).
func (g *Graph) Size() int { return len(g.index) }

// NEdges returns the number of edges, each counted at the node that it leaves.
func (g *Graph) NEdges() int { return len(g.edges) }

// Index and Edges return new slices with the arguments of NewGraph (MPI_Graph_get; MPI-4.1, 8.5.5).
func (g *Graph) Index() []int { return slices.Clone(g.index) }

// Edges returns the neighbours of all nodes, one node after another.
func (g *Graph) Edges() []int { return slices.Clone(g.edges) }

// Neighbors returns a new slice with the neighbours of a process, in their given order
// (MPI_Graph_neighbors, MPI_Graph_neighbors_count; MPI-4.1, 8.5.5).
func (g *Graph) Neighbors(rank int) ([]int, error) {
	if err := checkRank(rank, len(g.index)); err != nil {
		return nil, err
	}
	from := 0
	if rank > 0 {
		from = g.index[rank-1]
	}
	return slices.Clone(g.edges[from:g.index[rank]]), nil
}

// Neighborhood returns the neighbours in a graph: a process both receives from them and sends to
// them (MPI-4.1, 8.6).
func (g *Graph) Neighborhood(rank int) (Neighborhood, error) {
	ranks, err := g.Neighbors(rank)
	if err != nil {
		return Neighborhood{}, err
	}
	return Neighborhood{Sources: ranks, Destinations: slices.Clone(ranks)}, nil
}

// Map returns the best rank for a process in a communicator with this graph: its own, or Undefined
// if it is not in the graph (MPI_Graph_map; MPI-4.1, 8.5.8).
func (g *Graph) Map(rank int) int { return mapped(rank, len(g.index)) }
