package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// neighbors returns the neighbours of this process in a neighbourhood collective operation.
func (c *Comm) neighbors() (coll.Neighbors, error) {
	if err := c.checkLive(); err != nil {
		return coll.Neighbors{}, err
	}
	if c.parts.topology == nil {
		return coll.Neighbors{}, errclass.New(errclass.Topology, "the communicator has no topology, and so no neighbours: make one with CartCreate, GraphCreate or DistGraphCreate")
	}
	n, err := c.parts.topology.Neighborhood(c.rank)
	return coll.Neighbors{Sources: n.Sources, Destinations: n.Destinations, Cartesian: n.Crossed}, err
}

// neighborsOf is neighbors, after a check of the operands.
func (c *Comm) neighborsOf(xs ...operand) (coll.Neighbors, error) {
	nb, err := c.neighbors()
	if err == nil {
		err = wrong(xs...)
	}
	return nb, err
}

func (c *Comm) neighborAllgather(x, y operand) (program, error) {
	nb, err := c.neighborsOf(x, y)
	return func(v *view) error {
		// Parts whose neighbour is ProcNull do not change, here and below.
		out := room(&y.Buffer, true)
		err := coll.NeighborAllgather(v, packed(&x.Buffer), out, nb, &v.scratch)
		if err == nil {
			unpack(&y.Buffer, out)
		}
		return err
	}, evenly(err, y, len(nb.Sources))
}

func (c *Comm) neighborAllgatherv(x, y operand, counts, displs []int) (program, error) {
	nb, err := c.neighborsOf(x, y)
	if err != nil {
		return nil, err
	}
	parts, err := pieces(y, layout{counts, displs}, len(nb.Sources))
	return func(v *view) error {
		out := roomAll(parts, true)
		err := coll.NeighborAllgatherv(v, packed(&x.Buffer), out, nb, &v.scratch)
		if err == nil {
			unpackAll(parts, out)
		}
		return err
	}, err
}

func (c *Comm) neighborAlltoall(x, y operand) (program, error) {
	nb, err := c.neighborsOf(x, y)
	return func(v *view) error {
		out := room(&y.Buffer, true)
		err := coll.NeighborAlltoall(v, packed(&x.Buffer), out, nb, &v.scratch)
		if err == nil {
			unpack(&y.Buffer, out)
		}
		return err
	}, evenly(evenly(err, x, len(nb.Destinations)), y, len(nb.Sources))
}

func (c *Comm) neighborAlltoallv(x, y operand, inCounts, inDispls, outCounts, outDispls []int) (program, error) {
	nb, err := c.neighborsOf(x, y)
	if err != nil {
		return nil, err
	}
	gives, err := pieces(x, layout{inCounts, inDispls}, len(nb.Destinations))
	if err != nil {
		return nil, err
	}
	gets, err := pieces(y, layout{outCounts, outDispls}, len(nb.Sources))
	return exchangeWith(nb, gives, gets), err
}

// exchangeWith sends gives[i] to destination i, and receives the data of source i into gets[i].
func exchangeWith(nb coll.Neighbors, gives, gets []Buffer) program {
	return func(v *view) error {
		out := roomAll(gets, true)
		err := coll.NeighborAlltoallv(v, packedAll(gives), out, nb, &v.scratch)
		if err == nil {
			unpackAll(gets, out)
		}
		return err
	}
}

// NeighborAlltoallw is NeighborAlltoallvBuffer with a Buffer for every neighbour: in[i] is sent to
// destination i, and out[i] receives the data of source i (MPI_Neighbor_alltoallw; MPI-4.1, 8.6.2).
func (c *Comm) NeighborAlltoallw(in, out []Buffer) (err error) {
	defer c.call("MPI_Neighbor_alltoallw", &err)()
	return c.run(c.neighborAlltoallw(in, out))
}

// IneighborAlltoallw is the non-blocking NeighborAlltoallw (MPI_Ineighbor_alltoallw; MPI-4.1,
// 8.7.2).
func (c *Comm) IneighborAlltoallw(in, out []Buffer) (r Request, err error) {
	defer c.call("MPI_Ineighbor_alltoallw", &err)()
	return c.begin(c.neighborAlltoallw(in, out))
}

// NeighborAlltoallwInit is the persistent NeighborAlltoallw (MPI_Neighbor_alltoallw_init;
// MPI-4.1, 8.8.2).
func (c *Comm) NeighborAlltoallwInit(in, out []Buffer) (r Request, err error) {
	defer c.call("MPI_Neighbor_alltoallw_init", &err)()
	return c.prepare(c.neighborAlltoallw(in, out))
}

func (c *Comm) neighborAlltoallw(in, out []Buffer) (program, error) {
	nb, err := c.neighbors()
	if err != nil {
		return nil, err
	}
	if err := checkParts(in, len(nb.Destinations)); err != nil {
		return nil, err
	}
	return exchangeWith(nb, in, out), checkParts(out, len(nb.Sources))
}
