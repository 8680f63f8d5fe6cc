package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// Cart returns the communicator's grid (MPI_Cart_get, MPI_Cartdim_get; MPI-4.1, 8.5.5). If it has
// none, the error has class ErrTopology.
func (c *Comm) Cart() (*topo.Cart, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	cart, ok := c.parts.topology.(*topo.Cart)
	if !ok {
		return nil, errclass.New(errclass.Topology, "the communicator has no Cartesian topology: make one with CartCreate")
	}
	return cart, nil
}

// Graph returns the communicator's graph (MPI_Graph_get, MPI_Graphdims_get; MPI-4.1, 8.5.5). If it
// has none, the error has class ErrTopology.
func (c *Comm) Graph() (*topo.Graph, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	graph, ok := c.parts.topology.(*topo.Graph)
	if !ok {
		return nil, errclass.New(errclass.Topology, "the communicator has no graph topology: make one with GraphCreate")
	}
	return graph, nil
}

// DistGraph returns this process's part of the communicator's distributed graph
// (MPI_Dist_graph_neighbors; MPI-4.1, 8.5.5). If it has none, the error has class ErrTopology.
func (c *Comm) DistGraph() (*topo.DistGraph, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	graph, ok := c.parts.topology.(*topo.DistGraph)
	if !ok {
		return nil, errclass.New(errclass.Topology, "the communicator has no distributed graph: make one with DistGraphCreate")
	}
	return graph, nil
}

// CartSub divides the grid into sub-grids of the dimensions that remain (MPI_Cart_sub; MPI-4.1,
// 8.5.7). All processes of c must call it with the same remain.
func (c *Comm) CartSub(ctx context.Context, remain []bool) (sub *Comm, err error) {
	defer c.call("MPI_Cart_sub", &err)()
	cart, err := c.Cart()
	if err != nil {
		return nil, err
	}
	grid, err := cart.Sub(remain)
	if err != nil {
		return nil, err
	}
	color, key, err := cart.SubPlace(c.rank, remain)
	if err != nil {
		return nil, err
	}
	if err = c.making(ctx, c.split(&sub, color, key), &sub); err == nil {
		sub.parts.topology = grid
	}
	return sub, err
}
