package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

var (
	neighborAllgatherNames = collective{"MPI_Neighbor_allgather", "MPI_Ineighbor_allgather", "MPI_Neighbor_allgather_init"}
	neighborAlltoallNames  = collective{"MPI_Neighbor_alltoall", "MPI_Ineighbor_alltoall", "MPI_Neighbor_alltoall_init"}
)

// NeighborAllgather sends in to every destination neighbour, and stores the data of source
// neighbour i in part i of out, in the order of the topology. The parts are equal, unless Parts or
// Each divides out (MPI_Neighbor_allgather, MPI_Neighbor_allgatherv; MPI-4.1, 8.6.1). A part whose
// neighbour is ProcNull does not change.
func (c *Comm) NeighborAllgather(ctx context.Context, in, out Buffer) error {
	return c.now(ctx, &neighborAllgatherNames, Undefined, &in, c.neighborAllgather(in, out))
}

// IneighborAllgather is the non-blocking or persistent NeighborAllgather (MPI_Ineighbor_allgather;
// MPI-4.1, 8.7.1 and 8.8.1).
func (c *Comm) IneighborAllgather(in, out Buffer, how ...Mode) Request {
	return c.later(&neighborAllgatherNames, Undefined, &in, c.neighborAllgather(in, out), how)
}

// NeighborAlltoall divides in into one part for each destination neighbour, and out into one for
// each source neighbour. It sends part i of in to destination i, and stores the data of source i in
// part i of out. The parts are equal, unless Parts or Each divides the buffers
// (MPI_Neighbor_alltoall, MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallw; MPI-4.1, 8.6.2). A part
// whose neighbour is ProcNull does not change.
func (c *Comm) NeighborAlltoall(ctx context.Context, in, out Buffer) error {
	return c.now(ctx, &neighborAlltoallNames, Undefined, &in, c.neighborAlltoall(in, out))
}

// IneighborAlltoall is the non-blocking or persistent NeighborAlltoall (MPI_Ineighbor_alltoall;
// MPI-4.1, 8.7.2 and 8.8.2).
func (c *Comm) IneighborAlltoall(in, out Buffer, how ...Mode) Request {
	return c.later(&neighborAlltoallNames, Undefined, &in, c.neighborAlltoall(in, out), how)
}

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

// Parts whose neighbour is ProcNull must not change. So the functions below call out.room(true).

func (c *Comm) neighborAllgather(in, out Buffer) program {
	nb, err := c.neighbors()
	if err == nil {
		err = memory(&in)
	}
	if err != nil {
		return failed(err)
	}
	if !out.isDivided() {
		return program{start: func(v *view) func() error {
			mem := out.room(true)
			return landing(coll.NeighborAllgather(v, in.packed(), mem, nb, &v.scratch), func() { out.unpack(mem) })
		}, err: evenMemory(&out, len(nb.Sources))}
	}
	parts, err := out.divided(len(nb.Sources))
	return program{start: func(v *view) func() error {
		mem := roomAll(parts, true)
		return landing(coll.NeighborAllgatherv(v, in.packed(), mem, nb, &v.scratch), func() { unpackAll(parts, mem) })
	}, err: err}
}

func (c *Comm) neighborAlltoall(in, out Buffer) program {
	nb, err := c.neighbors()
	if err != nil {
		return failed(err)
	}
	if in.isDivided() || out.isDivided() {
		return exchangeWith(nb, &in, &out)
	}
	if err = evenMemory(&in, len(nb.Destinations)); err == nil {
		err = evenMemory(&out, len(nb.Sources))
	}
	return program{start: func(v *view) func() error {
		mem := out.room(true)
		return landing(coll.NeighborAlltoall(v, in.packed(), mem, nb, &v.scratch), func() { out.unpack(mem) })
	}, err: err}
}

// evenMemory returns an error unless a buffer is memory that can be divided evenly.
func evenMemory(b *Buffer, neighbors int) error {
	if err := memory(b); err != nil {
		return err
	}
	return b.evenly(neighbors)
}

// exchangeWith sends part i of in to destination i, and receives the data of source i into part i
// of out.
func exchangeWith(nb coll.Neighbors, in, out *Buffer) program {
	gives, err := in.divided(len(nb.Destinations))
	if err != nil {
		return failed(err)
	}
	gets, err := out.divided(len(nb.Sources))
	return program{start: func(v *view) func() error {
		mem := roomAll(gets, true)
		return landing(coll.NeighborAlltoallv(v, packedAll(gives), mem, nb, &v.scratch), func() { unpackAll(gets, mem) })
	}, err: err}
}

// landing waits for the messages of an operation on neighbours, and then unpacks them.
func landing(f coll.Flight, unpack func()) (end func() error) {
	return func() error {
		err := f.Land()
		if err == nil {
			unpack()
		}
		return err
	}
}
