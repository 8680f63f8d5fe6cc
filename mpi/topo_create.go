package mpi

import (
	"context"
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// A communicator with a topology is made from another one and has its own contexts. If the caller
// allows it, the processes of a grid or of a graph that all know get other ranks, so that neighbours
// are on one host. Those of a distributed graph keep their ranks: nobody knows the whole graph.

// CartCreate makes a communicator whose processes form a grid of dims[0] by dims[1] and so on.
// Dimension i is a ring if periods[i] is true (MPI_Cart_create; MPI-4.1, 8.5.1). Processes beyond
// the grid get nil. With reorder, ranks may change so that each host has a compact part of the grid.
// All processes of c must call it with the same arguments.
func (c *Comm) CartCreate(ctx context.Context, dims []int, periods []bool, reorder bool) (cart *Comm, err error) {
	defer c.call("MPI_Cart_create", &err)()
	if err := c.checkIntra(); err != nil {
		return nil, err
	}
	grid, err := topo.NewCart(c.Size(), dims, periods)
	if err != nil {
		return nil, err
	}
	err = c.making(ctx, c.arrange(&cart, grid, reorder), &cart)
	return cart, err
}

// GraphCreate makes a communicator whose processes are the nodes of a graph. All processes pass the
// whole graph: the neighbours of node i are edges[index[i-1]:index[i]], where index[-1] counts as 0
// (MPI_Graph_create; MPI-4.1, 8.5.3). Processes beyond the graph get nil. With reorder, ranks may
// change so that many neighbours are on one host.
func (c *Comm) GraphCreate(ctx context.Context, index, edges []int, reorder bool) (graph *Comm, err error) {
	defer c.call("MPI_Graph_create", &err)()
	if err := c.checkIntra(); err != nil {
		return nil, err
	}
	g, err := topo.NewGraph(c.Size(), index, edges)
	if err != nil {
		return nil, err
	}
	err = c.making(ctx, c.arrange(&graph, g, reorder), &graph)
	return graph, err
}

// DistGraphCreateAdjacent makes a communicator with a graph. Every process passes its own
// neighbours (MPI_Dist_graph_create_adjacent; MPI-4.1, 8.5.4). nil weights, on both sides and in
// all processes, mean MPI_UNWEIGHTED.
func (c *Comm) DistGraphCreateAdjacent(ctx context.Context, sources, sourceWeights, destinations, destWeights []int, hints *Info, reorder bool) (graph *Comm, err error) {
	defer c.call("MPI_Dist_graph_create_adjacent", &err)()
	if err := c.checkIntra(); err != nil {
		return nil, err
	}
	g, err := topo.NewDistAdjacent(c.Size(), c.rank, sources, sourceWeights, destinations, destWeights)
	if err != nil {
		return nil, err
	}
	err = c.making(ctx, c.arrange(&graph, g, false), &graph)
	return graph, err
}

// DistGraphCreate makes a communicator with a graph. Every process may pass any edges: sources[i]
// has degrees[i] edges, to the next degrees[i] elements of destinations, with as many of weights
// (MPI_Dist_graph_create; MPI-4.1, 8.5.4). nil weights, in all processes, mean MPI_UNWEIGHTED.
func (c *Comm) DistGraphCreate(ctx context.Context, sources, degrees, destinations, weights []int, hints *Info, reorder bool) (graph *Comm, err error) {
	defer c.call("MPI_Dist_graph_create", &err)()
	if err := c.checkIntra(); err != nil {
		return nil, err
	}
	edges, err := topo.Edges(c.Size(), sources, degrees, destinations, weights)
	if err != nil {
		return nil, err
	}
	var g *topo.DistGraph
	err = c.run(ctx, program{do: func(v *view) error {
		sent, weighted, err := v.spreadEdges(topo.Route(v.size, edges), weights != nil, len(edges) > 0)
		if err != nil {
			return err
		}
		g, err = topo.NewDistGraph(v.size, v.rank, weighted, sent)
		return err
	}})
	if err != nil {
		return nil, err
	}
	err = c.making(ctx, c.arrange(&graph, g, false), &graph)
	return graph, err
}

// checkIntra returns an error for inter-communicators, which cannot have a topology (MPI-4.1, 8.1).
func (c *Comm) checkIntra() error {
	if err := c.checkLive(); err != nil {
		return err
	}
	if c.IsInter() {
		return errclass.New(errclass.Comm, "an inter-communicator has two groups: merge it first")
	}
	return nil
}

// arrange returns the program that makes a communicator of the first processes with a topology, in
// their own order or in a better one. All processes find the same order.
func (c *Comm) arrange(made **Comm, t topo.Topology, reorder bool) program {
	n := t.Size()
	var order []int
	if hosts := c.hosts(); reorder && hosts != nil {
		var err error
		if order, err = topo.Arrange(t, hosts.Of()); err != nil {
			return program{err: err}
		}
	}
	return program{do: func(v *view) error {
		ids, err := c.contexts(v, 1)
		if err != nil {
			return err
		}
		var local *Group
		switch {
		case c.rank >= n:
		case order != nil:
			local, err = c.group.Incl(order)
		default:
			local, err = c.group.RangeIncl([]Range{{First: 0, Last: n - 1, Stride: 1}})
		}
		if err != nil {
			return err
		}
		if *made, err = c.p.open(v, ids, local, nil, c); *made != nil {
			(*made).parts.topology = t
		}
		return err
	}}
}

// edgeBytes is the size of an edge in a message.
const edgeBytes = 24

// spreadEdges sends every process the edges that concern it, and returns the edges that concern
// this one, by sender. The graph is weighted if a process passed weights and none passed edges
// without weights.
func (v *view) spreadEdges(routed [][]topo.Edge, weights, given bool) (sent [][]topo.Edge, weighted bool, err error) {
	out, sizes := make([][]byte, v.size), make([]byte, 8*v.size)
	for r, edges := range routed {
		for _, e := range edges {
			for _, n := range [...]int{e.Source, e.Destination, e.Weight} {
				out[r] = binary.LittleEndian.AppendUint64(out[r], uint64(n))
			}
		}
		told := uint64(len(edges)) << toldBits
		switch {
		case weights:
			told |= toldWeights
		case given:
			told |= toldNoWeights
		}
		binary.LittleEndian.PutUint64(sizes[8*r:], told)
	}
	theirs := make([]byte, 8*v.size)
	if err := v.ended(coll.Alltoall(v, sizes, theirs, &v.scratch, coll.Auto)); err != nil {
		return nil, false, err
	}
	in := make([][]byte, v.size)
	var said uint64
	for r := range in {
		told := binary.LittleEndian.Uint64(theirs[8*r:])
		said |= told
		n := told >> toldBits
		if n > edgesMax {
			return nil, false, errclass.New(errclass.Topology, "rank %d wants to send %d edges, at most %d make sense", r, n, edgesMax)
		}
		in[r] = make([]byte, edgeBytes*int(n))
	}
	if err := v.ended(coll.Alltoallv(v, out, in, &v.scratch, coll.Auto)); err != nil {
		return nil, false, err
	}
	sent = make([][]topo.Edge, v.size)
	for r, b := range in {
		for ; len(b) > 0; b = b[edgeBytes:] {
			at := func(i int) int { return int(int64(binary.LittleEndian.Uint64(b[8*i:]))) }
			sent[r] = append(sent[r], topo.Edge{Source: at(0), Destination: at(1), Weight: at(2)})
		}
	}
	return sent, said&toldWeights != 0 && said&toldNoWeights == 0, nil
}

// Flags below the number of edges in a message.
const (
	toldWeights   = 1 << iota // its edges have weights
	toldNoWeights             // it has edges, without
	toldBits      = iota
)

// edgesMax limits the edges that one process takes from another: 96 MiB.
const edgesMax = 1 << 22
