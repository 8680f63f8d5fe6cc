package mpi

// Alltoall divides in and out into one equal part for each process. It sends part i of in to rank
// i, and receives the part from rank i into part i of out. If in is nil in all processes, out is
// sent, then overwritten (MPI_Alltoall; MPI-4.1, 6.8).
func Alltoall[T any](c *Comm, in, out []T) (err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Alltoall", Undefined, &x, &err)()
	return c.run(c.alltoall(x, y))
}

// Ialltoall is the non-blocking Alltoall (MPI_Ialltoall; MPI-4.1, 6.12.6).
func Ialltoall[T any](c *Comm, in, out []T) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Ialltoall", Undefined, &x, &err)()
	return c.begin(c.alltoall(x, y))
}

// AlltoallInit is the persistent Alltoall (MPI_Alltoall_init; MPI-4.1, 6.13.6).
func AlltoallInit[T any](c *Comm, in, out []T) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Alltoall_init", Undefined, &x, &err)()
	return c.prepare(c.alltoall(x, y))
}

// AlltoallBuffer is Alltoall on Buffers.
func (c *Comm) AlltoallBuffer(in, out Buffer) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Alltoall", Undefined, &x, &err)()
	return c.run(c.alltoall(x, y))
}

// IalltoallBuffer is Ialltoall on Buffers.
func (c *Comm) IalltoallBuffer(in, out Buffer) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Ialltoall", Undefined, &x, &err)()
	return c.begin(c.alltoall(x, y))
}

// AlltoallInitBuffer is AlltoallInit on Buffers.
func (c *Comm) AlltoallInitBuffer(in, out Buffer) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Alltoall_init", Undefined, &x, &err)()
	return c.prepare(c.alltoall(x, y))
}

// Alltoallv is Alltoall with parts of any length. Rank i is sent inCounts[i] elements of in from
// element inDispls[i] on, and outCounts[i] elements from rank i are stored in out from element
// outDispls[i] on. With nil displacements the parts are contiguous. If in is nil in all processes,
// out is sent, then overwritten, and only the counts and displacements of out matter
// (MPI_Alltoallv; MPI-4.1, 6.8).
func Alltoallv[T any](c *Comm, in, out []T, inCounts, inDispls, outCounts, outDispls []int) (err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Alltoallv", Undefined, &x, &err)()
	return c.run(c.alltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// Ialltoallv is the non-blocking Alltoallv (MPI_Ialltoallv; MPI-4.1, 6.12.6).
func Ialltoallv[T any](c *Comm, in, out []T, inCounts, inDispls, outCounts, outDispls []int) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Ialltoallv", Undefined, &x, &err)()
	return c.begin(c.alltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// AlltoallvInit is the persistent Alltoallv (MPI_Alltoallv_init; MPI-4.1, 6.13.6).
func AlltoallvInit[T any](c *Comm, in, out []T, inCounts, inDispls, outCounts, outDispls []int) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Alltoallv_init", Undefined, &x, &err)()
	return c.prepare(c.alltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// AlltoallvBuffer is Alltoallv on Buffers; displacements count extents of the types.
func (c *Comm) AlltoallvBuffer(in, out Buffer, inCounts, inDispls, outCounts, outDispls []int) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Alltoallv", Undefined, &x, &err)()
	return c.run(c.alltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// IalltoallvBuffer is Ialltoallv on Buffers.
func (c *Comm) IalltoallvBuffer(in, out Buffer, inCounts, inDispls, outCounts, outDispls []int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Ialltoallv", Undefined, &x, &err)()
	return c.begin(c.alltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}

// AlltoallvInitBuffer is AlltoallvInit on Buffers.
func (c *Comm) AlltoallvInitBuffer(in, out Buffer, inCounts, inDispls, outCounts, outDispls []int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Alltoallv_init", Undefined, &x, &err)()
	return c.prepare(c.alltoallv(x, y, inCounts, inDispls, outCounts, outDispls))
}
