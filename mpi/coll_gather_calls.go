package mpi

// Gather collects the in of every process, in rank order, into the root's out. Every in has the
// same length. out matters only at the root, and has the length of all of them together. If in is
// nil at the root, the root's part is already in its place in out (MPI_Gather; MPI-4.1, 6.5).
func Gather[T any](c *Comm, in, out []T, root int) (err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Gather", root, &x, &err)()
	return c.run(c.gather(x, y, root))
}

// Igather is the non-blocking Gather (MPI_Igather; MPI-4.1, 6.12.3).
func Igather[T any](c *Comm, in, out []T, root int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Igather", root, &x, &err)()
	return c.begin(c.gather(x, y, root))
}

// GatherInit is the persistent Gather (MPI_Gather_init; MPI-4.1, 6.13.3).
func GatherInit[T any](c *Comm, in, out []T, root int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Gather_init", root, &x, &err)()
	return c.prepare(c.gather(x, y, root))
}

// GatherBuffer is Gather on Buffers.
func (c *Comm) GatherBuffer(in, out Buffer, root int) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Gather", root, &x, &err)()
	return c.run(c.gather(x, y, root))
}

// IgatherBuffer is Igather on Buffers.
func (c *Comm) IgatherBuffer(in, out Buffer, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Igather", root, &x, &err)()
	return c.begin(c.gather(x, y, root))
}

// GatherInitBuffer is GatherInit on Buffers.
func (c *Comm) GatherInitBuffer(in, out Buffer, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Gather_init", root, &x, &err)()
	return c.prepare(c.gather(x, y, root))
}

// Gatherv is Gather of slices of different lengths: the part of rank i has counts[i] elements and
// begins at element displs[i] of the root's out. With nil displs the parts are contiguous. counts,
// displs and out matter only at the root. If in is nil there, the root's part is already in its
// place (MPI_Gatherv; MPI-4.1, 6.5).
func Gatherv[T any](c *Comm, in, out []T, counts, displs []int, root int) (err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Gatherv", root, &x, &err)()
	return c.run(c.gatherv(x, y, counts, displs, root))
}

// Igatherv is the non-blocking Gatherv (MPI_Igatherv; MPI-4.1, 6.12.3).
func Igatherv[T any](c *Comm, in, out []T, counts, displs []int, root int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Igatherv", root, &x, &err)()
	return c.begin(c.gatherv(x, y, counts, displs, root))
}

// GathervInit is the persistent Gatherv (MPI_Gatherv_init; MPI-4.1, 6.13.3).
func GathervInit[T any](c *Comm, in, out []T, counts, displs []int, root int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Gatherv_init", root, &x, &err)()
	return c.prepare(c.gatherv(x, y, counts, displs, root))
}

// GathervBuffer is Gatherv on Buffers; displacements count extents of the type of out.
func (c *Comm) GathervBuffer(in, out Buffer, counts, displs []int, root int) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Gatherv", root, &x, &err)()
	return c.run(c.gatherv(x, y, counts, displs, root))
}

// IgathervBuffer is Igatherv on Buffers.
func (c *Comm) IgathervBuffer(in, out Buffer, counts, displs []int, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Igatherv", root, &x, &err)()
	return c.begin(c.gatherv(x, y, counts, displs, root))
}

// GathervInitBuffer is GathervInit on Buffers.
func (c *Comm) GathervInitBuffer(in, out Buffer, counts, displs []int, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Gatherv_init", root, &x, &err)()
	return c.prepare(c.gatherv(x, y, counts, displs, root))
}
