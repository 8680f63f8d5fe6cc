package mpi

// Allgather collects the in of every process, in rank order, into the out of every process. Every
// in has the same length, and out has the length of all of them together. If in is nil in all
// processes, each part is already in its place in out. On an inter-communicator, out gets the
// elements of the other group (MPI_Allgather; MPI-4.1, 6.7).
func Allgather[T any](c *Comm, in, out []T) (err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Allgather", Undefined, &x, &err)()
	return c.run(c.allgather(x, y))
}

// Iallgather is the non-blocking Allgather (MPI_Iallgather; MPI-4.1, 6.12.5).
func Iallgather[T any](c *Comm, in, out []T) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Iallgather", Undefined, &x, &err)()
	return c.begin(c.allgather(x, y))
}

// AllgatherInit is the persistent Allgather (MPI_Allgather_init; MPI-4.1, 6.13.5).
func AllgatherInit[T any](c *Comm, in, out []T) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Allgather_init", Undefined, &x, &err)()
	return c.prepare(c.allgather(x, y))
}

// AllgatherBuffer is Allgather on Buffers.
func (c *Comm) AllgatherBuffer(in, out Buffer) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Allgather", Undefined, &x, &err)()
	return c.run(c.allgather(x, y))
}

// IallgatherBuffer is Iallgather on Buffers.
func (c *Comm) IallgatherBuffer(in, out Buffer) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Iallgather", Undefined, &x, &err)()
	return c.begin(c.allgather(x, y))
}

// AllgatherInitBuffer is AllgatherInit on Buffers.
func (c *Comm) AllgatherInitBuffer(in, out Buffer) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Allgather_init", Undefined, &x, &err)()
	return c.prepare(c.allgather(x, y))
}

// Allgatherv is Allgather of slices of different lengths: the part of rank i has counts[i] elements
// and begins at element displs[i] of out. With nil displs the parts are contiguous. If in is nil in
// all processes, each part is already in its place (MPI_Allgatherv; MPI-4.1, 6.7).
func Allgatherv[T any](c *Comm, in, out []T, counts, displs []int) (err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Allgatherv", Undefined, &x, &err)()
	return c.run(c.allgatherv(x, y, counts, displs))
}

// Iallgatherv is the non-blocking Allgatherv (MPI_Iallgatherv; MPI-4.1, 6.12.5).
func Iallgatherv[T any](c *Comm, in, out []T, counts, displs []int) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Iallgatherv", Undefined, &x, &err)()
	return c.begin(c.allgatherv(x, y, counts, displs))
}

// AllgathervInit is the persistent Allgatherv (MPI_Allgatherv_init; MPI-4.1, 6.13.5).
func AllgathervInit[T any](c *Comm, in, out []T, counts, displs []int) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Allgatherv_init", Undefined, &x, &err)()
	return c.prepare(c.allgatherv(x, y, counts, displs))
}

// AllgathervBuffer is Allgatherv on Buffers; displacements count extents of the type of out.
func (c *Comm) AllgathervBuffer(in, out Buffer, counts, displs []int) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Allgatherv", Undefined, &x, &err)()
	return c.run(c.allgatherv(x, y, counts, displs))
}

// IallgathervBuffer is Iallgatherv on Buffers.
func (c *Comm) IallgathervBuffer(in, out Buffer, counts, displs []int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Iallgatherv", Undefined, &x, &err)()
	return c.begin(c.allgatherv(x, y, counts, displs))
}

// AllgathervInitBuffer is AllgathervInit on Buffers.
func (c *Comm) AllgathervInitBuffer(in, out Buffer, counts, displs []int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Allgatherv_init", Undefined, &x, &err)()
	return c.prepare(c.allgatherv(x, y, counts, displs))
}
