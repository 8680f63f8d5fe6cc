package mpi

// NeighborAlltoall divides in into one equal part for each destination neighbour, and out into one
// for each source neighbour. It sends part i of in to destination i, and stores the data of source
// i in part i of out. A part whose neighbour is ProcNull does not change (MPI_Neighbor_alltoall;
// MPI-4.1, 8.6.2).
func NeighborAlltoall[T any](c *Comm, in, out []T) (err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Neighbor_alltoall", Undefined, &x, &err)()
	return c.run(c.neighborAlltoall(x, y))
}

// IneighborAlltoall is the non-blocking NeighborAlltoall (MPI_Ineighbor_alltoall; MPI-4.1,
// 8.7.2).
func IneighborAlltoall[T any](c *Comm, in, out []T) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Ineighbor_alltoall", Undefined, &x, &err)()
	return c.begin(c.neighborAlltoall(x, y))
}

// NeighborAlltoallInit is the persistent NeighborAlltoall (MPI_Neighbor_alltoall_init; MPI-4.1,
// 8.8.2).
func NeighborAlltoallInit[T any](c *Comm, in, out []T) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Neighbor_alltoall_init", Undefined, &x, &err)()
	return c.prepare(c.neighborAlltoall(x, y))
}

// NeighborAlltoallBuffer is NeighborAlltoall on Buffers.
func (c *Comm) NeighborAlltoallBuffer(in, out Buffer) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Neighbor_alltoall", Undefined, &x, &err)()
	return c.run(c.neighborAlltoall(x, y))
}

// IneighborAlltoallBuffer is IneighborAlltoall on Buffers.
func (c *Comm) IneighborAlltoallBuffer(in, out Buffer) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Ineighbor_alltoall", Undefined, &x, &err)()
	return c.begin(c.neighborAlltoall(x, y))
}

// NeighborAlltoallInitBuffer is NeighborAlltoallInit on Buffers.
func (c *Comm) NeighborAlltoallInitBuffer(in, out Buffer) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Neighbor_alltoall_init", Undefined, &x, &err)()
	return c.prepare(c.neighborAlltoall(x, y))
}

// NeighborAlltoallv is NeighborAlltoall with parts of any length. Destination i is sent inCounts[i]
// elements of in from element inDispls[i] on, and outCounts[i] elements from source i are stored in
// out from element outDispls[i] on. With nil displacements the parts are contiguous
// (MPI_Neighbor_alltoallv; MPI-4.1, 8.6.2).
func NeighborAlltoallv[T any](c *Comm, in, out []T, inCounts, inDispls, outCounts, outDispls []int) (err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Neighbor_alltoallv", Undefined, &x, &err)()
	return c.run(c.neighborAlltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// IneighborAlltoallv is the non-blocking NeighborAlltoallv (MPI_Ineighbor_alltoallv; MPI-4.1,
// 8.7.2).
func IneighborAlltoallv[T any](c *Comm, in, out []T, inCounts, inDispls, outCounts, outDispls []int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Ineighbor_alltoallv", Undefined, &x, &err)()
	return c.begin(c.neighborAlltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// NeighborAlltoallvInit is the persistent NeighborAlltoallv (MPI_Neighbor_alltoallv_init;
// MPI-4.1, 8.8.2).
func NeighborAlltoallvInit[T any](c *Comm, in, out []T, inCounts, inDispls, outCounts, outDispls []int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Neighbor_alltoallv_init", Undefined, &x, &err)()
	return c.prepare(c.neighborAlltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// NeighborAlltoallvBuffer is NeighborAlltoallv on Buffers; displacements count extents of the
// types.
func (c *Comm) NeighborAlltoallvBuffer(in, out Buffer, inCounts, inDispls, outCounts, outDispls []int) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Neighbor_alltoallv", Undefined, &x, &err)()
	return c.run(c.neighborAlltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// IneighborAlltoallvBuffer is IneighborAlltoallv on Buffers.
func (c *Comm) IneighborAlltoallvBuffer(in, out Buffer, inCounts, inDispls, outCounts, outDispls []int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Ineighbor_alltoallv", Undefined, &x, &err)()
	return c.begin(c.neighborAlltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// NeighborAlltoallvInitBuffer is NeighborAlltoallvInit on Buffers.
func (c *Comm) NeighborAlltoallvInitBuffer(in, out Buffer, inCounts, inDispls, outCounts, outDispls []int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Neighbor_alltoallv_init", Undefined, &x, &err)()
	return c.prepare(c.neighborAlltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}
