package mpi

// Scatter divides the root's in, in rank order, and stores one part in the out of every process.
// Every out has the same length. in matters only at the root, and has the length of all of them
// together. If out is nil at the root, the root's part stays in in (MPI_Scatter; MPI-4.1, 6.6).
func Scatter[T any](c *Comm, in, out []T, root int) (err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Scatter", root, &x, &err)()
	return c.run(c.scatter(x, y, root))
}

// Iscatter is the non-blocking Scatter (MPI_Iscatter; MPI-4.1, 6.12.4).
func Iscatter[T any](c *Comm, in, out []T, root int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Iscatter", root, &x, &err)()
	return c.begin(c.scatter(x, y, root))
}

// ScatterInit is the persistent Scatter (MPI_Scatter_init; MPI-4.1, 6.13.4).
func ScatterInit[T any](c *Comm, in, out []T, root int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Scatter_init", root, &x, &err)()
	return c.prepare(c.scatter(x, y, root))
}

// ScatterBuffer is Scatter on Buffers.
func (c *Comm) ScatterBuffer(in, out Buffer, root int) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Scatter", root, &x, &err)()
	return c.run(c.scatter(x, y, root))
}

// IscatterBuffer is Iscatter on Buffers.
func (c *Comm) IscatterBuffer(in, out Buffer, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Iscatter", root, &x, &err)()
	return c.begin(c.scatter(x, y, root))
}

// ScatterInitBuffer is ScatterInit on Buffers.
func (c *Comm) ScatterInitBuffer(in, out Buffer, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Scatter_init", root, &x, &err)()
	return c.prepare(c.scatter(x, y, root))
}

// Scatterv is Scatter of parts of different lengths: the part of rank i has counts[i] elements and
// begins at element displs[i] of the root's in. With nil displs the parts are contiguous. counts,
// displs and in matter only at the root. If out is nil there, the root's part stays in in
// (MPI_Scatterv; MPI-4.1, 6.6).
func Scatterv[T any](c *Comm, in, out []T, counts, displs []int, root int) (err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Scatterv", root, &x, &err)()
	return c.run(c.scatterv(x, y, counts, displs, root))
}

// Iscatterv is the non-blocking Scatterv (MPI_Iscatterv; MPI-4.1, 6.12.4).
func Iscatterv[T any](c *Comm, in, out []T, counts, displs []int, root int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Iscatterv", root, &x, &err)()
	return c.begin(c.scatterv(x, y, counts, displs, root))
}

// ScattervInit is the persistent Scatterv (MPI_Scatterv_init; MPI-4.1, 6.13.4).
func ScattervInit[T any](c *Comm, in, out []T, counts, displs []int, root int) (r Request, err error) {
	x, y := slice(in), slice(out)
	defer c.collective("MPI_Scatterv_init", root, &x, &err)()
	return c.prepare(c.scatterv(x, y, counts, displs, root))
}

// ScattervBuffer is Scatterv on Buffers; displacements count extents of the type of in.
func (c *Comm) ScattervBuffer(in, out Buffer, counts, displs []int, root int) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Scatterv", root, &x, &err)()
	return c.run(c.scatterv(x, y, counts, displs, root))
}

// IscattervBuffer is Iscatterv on Buffers.
func (c *Comm) IscattervBuffer(in, out Buffer, counts, displs []int, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Iscatterv", root, &x, &err)()
	return c.begin(c.scatterv(x, y, counts, displs, root))
}

// ScattervInitBuffer is ScattervInit on Buffers.
func (c *Comm) ScattervInitBuffer(in, out Buffer, counts, displs []int, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Scatterv_init", root, &x, &err)()
	return c.prepare(c.scatterv(x, y, counts, displs, root))
}
