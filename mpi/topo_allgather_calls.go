package mpi

// NeighborAllgather sends in to every destination neighbour, and stores the data of source
// neighbour i in part i of out, in the order of the topology. A part whose neighbour is ProcNull
// does not change (MPI_Neighbor_allgather; MPI-4.1, 8.6.1).
func NeighborAllgather[T any](c *Comm, in, out []T) (err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Neighbor_allgather", Undefined, &x, &err)()
	return c.run(c.neighborAllgather(x, y))
}

// IneighborAllgather is the non-blocking NeighborAllgather (MPI_Ineighbor_allgather; MPI-4.1,
// 8.7.1).
func IneighborAllgather[T any](c *Comm, in, out []T) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Ineighbor_allgather", Undefined, &x, &err)()
	return c.begin(c.neighborAllgather(x, y))
}

// NeighborAllgatherInit is the persistent NeighborAllgather (MPI_Neighbor_allgather_init;
// MPI-4.1, 8.8.1).
func NeighborAllgatherInit[T any](c *Comm, in, out []T) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Neighbor_allgather_init", Undefined, &x, &err)()
	return c.prepare(c.neighborAllgather(x, y))
}

// NeighborAllgatherBuffer is NeighborAllgather on Buffers.
func (c *Comm) NeighborAllgatherBuffer(in, out Buffer) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Neighbor_allgather", Undefined, &x, &err)()
	return c.run(c.neighborAllgather(x, y))
}

// IneighborAllgatherBuffer is IneighborAllgather on Buffers.
func (c *Comm) IneighborAllgatherBuffer(in, out Buffer) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Ineighbor_allgather", Undefined, &x, &err)()
	return c.begin(c.neighborAllgather(x, y))
}

// NeighborAllgatherInitBuffer is NeighborAllgatherInit on Buffers.
func (c *Comm) NeighborAllgatherInitBuffer(in, out Buffer) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Neighbor_allgather_init", Undefined, &x, &err)()
	return c.prepare(c.neighborAllgather(x, y))
}

// NeighborAllgatherv is NeighborAllgather of slices of different lengths: the part of source
// neighbour i has counts[i] elements and begins at element displs[i] of out. With nil displs the
// parts are contiguous (MPI_Neighbor_allgatherv; MPI-4.1, 8.6.1).
func NeighborAllgatherv[T any](c *Comm, in, out []T, counts, displs []int) (err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Neighbor_allgatherv", Undefined, &x, &err)()
	return c.run(c.neighborAllgatherv(x, y, counts, displs))
}

// IneighborAllgatherv is the non-blocking NeighborAllgatherv (MPI_Ineighbor_allgatherv;
// MPI-4.1, 8.7.1).
func IneighborAllgatherv[T any](c *Comm, in, out []T, counts, displs []int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Ineighbor_allgatherv", Undefined, &x, &err)()
	return c.begin(c.neighborAllgatherv(x, y, counts, displs))
}

// NeighborAllgathervInit is the persistent NeighborAllgatherv (MPI_Neighbor_allgatherv_init;
// MPI-4.1, 8.8.1).
func NeighborAllgathervInit[T any](c *Comm, in, out []T, counts, displs []int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Neighbor_allgatherv_init", Undefined, &x, &err)()
	return c.prepare(c.neighborAllgatherv(x, y, counts, displs))
}

// NeighborAllgathervBuffer is NeighborAllgatherv on Buffers; displacements count extents of the
// type of out.
func (c *Comm) NeighborAllgathervBuffer(in, out Buffer, counts, displs []int) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Neighbor_allgatherv", Undefined, &x, &err)()
	return c.run(c.neighborAllgatherv(x, y, counts, displs))
}

// IneighborAllgathervBuffer is IneighborAllgatherv on Buffers.
func (c *Comm) IneighborAllgathervBuffer(in, out Buffer, counts, displs []int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Ineighbor_allgatherv", Undefined, &x, &err)()
	return c.begin(c.neighborAllgatherv(x, y, counts, displs))
}

// NeighborAllgathervInitBuffer is NeighborAllgathervInit on Buffers.
func (c *Comm) NeighborAllgathervInitBuffer(in, out Buffer, counts, displs []int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Neighbor_allgatherv_init", Undefined, &x, &err)()
	return c.prepare(c.neighborAllgatherv(x, y, counts, displs))
}
