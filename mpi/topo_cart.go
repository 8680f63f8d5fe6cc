package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// A Topology is the grid or graph of a communicator: a *topo.Cart, *topo.Graph or *topo.DistGraph,
// whose methods describe it.
type Topology = topo.Topology

// DimsCreate chooses the number of processes in each dimension of a grid; entries of dims that are
// not 0 are kept (MPI_Dims_create; MPI-4.1, 8.5.2).
func DimsCreate(processes int, dims []int) ([]int, error) { return topo.DimsCreate(processes, dims) }

// Topology returns the communicator's topology, or nil if it has none (MPI_Topo_test; MPI-4.1,
// 8.5.5).
func (c *Comm) Topology() Topology {
	if c == nil {
		return nil
	}
	return c.parts.topology
}

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

// CartCoords returns the coordinates of a process in the grid (MPI_Cart_coords; MPI-4.1, 8.5.5).
func (c *Comm) CartCoords(rank int) (coords []int, err error) {
	defer c.call("MPI_Cart_coords", &err)()
	cart, err := c.Cart()
	if err != nil {
		return nil, err
	}
	return cart.Coords(rank)
}

// CartRank returns the rank of the process at some coordinates (MPI_Cart_rank; MPI-4.1, 8.5.5).
func (c *Comm) CartRank(coords []int) (rank int, err error) {
	defer c.call("MPI_Cart_rank", &err)()
	cart, err := c.Cart()
	if err != nil {
		return Undefined, err
	}
	return cart.Rank(coords)
}

// CartShift returns the ranks that this process receives from and sends to when every process sends
// to the one disp steps further along a dimension (MPI_Cart_shift; MPI-4.1, 8.5.6).
func (c *Comm) CartShift(dim, disp int) (source, dest int, err error) {
	defer c.call("MPI_Cart_shift", &err)()
	cart, err := c.Cart()
	if err != nil {
		return ProcNull, ProcNull, err
	}
	return cart.Shift(c.rank, dim, disp)
}

// CartSub divides the grid into sub-grids of the dimensions that remain (MPI_Cart_sub; MPI-4.1,
// 8.5.7). All processes of c must call it with the same remain.
func (c *Comm) CartSub(remain []bool) (sub *Comm, err error) {
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
	if err = c.run(c.split(&sub, color, key)); err == nil {
		sub.parts.topology = grid
	}
	return sub, err
}

// GraphNeighbors returns the neighbours of a process in the graph (MPI_Graph_neighbors; MPI-4.1,
// 8.5.5).
func (c *Comm) GraphNeighbors(rank int) (ranks []int, err error) {
	defer c.call("MPI_Graph_neighbors", &err)()
	graph, err := c.Graph()
	if err != nil {
		return nil, err
	}
	return graph.Neighbors(rank)
}
