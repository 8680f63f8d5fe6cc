package mpi

// Gather puts every process's in into the root's out, in the order of ranks. All in have the
// same length; out, which matters at the root only, has that of all together. At the root a nil
// in says that its part is in its place in out already (MPI_Gather; MPI-4.1, 6.5).
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

// Gatherv is Gather of slices of different lengths: what rank i gives has counts[i] elements
// and begins at element displs[i] of the root's out; nil displs stand for one behind the other.
// counts, displs and out matter at the root only, where a nil in says that its part is in its
// place already (MPI_Gatherv; MPI-4.1, 6.5).
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
