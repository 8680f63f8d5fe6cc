package mpi

// ReduceScatterBlock combines the in of all processes and divides the result into one equal part
// for each process. Part i goes to the out of rank i. If in is nil in all processes, the elements
// are taken from out, and the part is stored at its beginning. On an inter-communicator, each group
// divides the result of the other (MPI_Reduce_scatter_block; MPI-4.1, 6.10.1).
func ReduceScatterBlock[T any](c *Comm, in, out []T, op *Op) (err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Reduce_scatter_block", Undefined, &x, &err)()
	return c.run(c.reduceScatterBlock(x, y, op))
}

// IreduceScatterBlock is the non-blocking ReduceScatterBlock (MPI_Ireduce_scatter_block;
// MPI-4.1, 6.12.9).
func IreduceScatterBlock[T any](c *Comm, in, out []T, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Ireduce_scatter_block", Undefined, &x, &err)()
	return c.begin(c.reduceScatterBlock(x, y, op))
}

// ReduceScatterBlockInit is the persistent ReduceScatterBlock (MPI_Reduce_scatter_block_init;
// MPI-4.1, 6.13.9).
func ReduceScatterBlockInit[T any](c *Comm, in, out []T, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Reduce_scatter_block_init", Undefined, &x, &err)()
	return c.prepare(c.reduceScatterBlock(x, y, op))
}

// ReduceScatterBlockBuffer is ReduceScatterBlock on Buffers.
func (c *Comm) ReduceScatterBlockBuffer(in, out Buffer, op *Op) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Reduce_scatter_block", Undefined, &x, &err)()
	return c.run(c.reduceScatterBlock(x, y, op))
}

// IreduceScatterBlockBuffer is IreduceScatterBlock on Buffers.
func (c *Comm) IreduceScatterBlockBuffer(in, out Buffer, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Ireduce_scatter_block", Undefined, &x, &err)()
	return c.begin(c.reduceScatterBlock(x, y, op))
}

// ReduceScatterBlockInitBuffer is ReduceScatterBlockInit on Buffers.
func (c *Comm) ReduceScatterBlockInitBuffer(in, out Buffer, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Reduce_scatter_block_init", Undefined, &x, &err)()
	return c.prepare(c.reduceScatterBlock(x, y, op))
}

// ReduceScatter is ReduceScatterBlock with parts of different lengths: rank i gets counts[i]
// elements. All processes pass the same counts (MPI_Reduce_scatter; MPI-4.1, 6.10.2).
func ReduceScatter[T any](c *Comm, in, out []T, counts []int, op *Op) (err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Reduce_scatter", Undefined, &x, &err)()
	return c.run(c.reduceScatter(x, y, counts, op))
}

// IreduceScatter is the non-blocking ReduceScatter (MPI_Ireduce_scatter; MPI-4.1, 6.12.10).
func IreduceScatter[T any](c *Comm, in, out []T, counts []int, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Ireduce_scatter", Undefined, &x, &err)()
	return c.begin(c.reduceScatter(x, y, counts, op))
}

// ReduceScatterInit is the persistent ReduceScatter (MPI_Reduce_scatter_init; MPI-4.1,
// 6.13.10).
func ReduceScatterInit[T any](c *Comm, in, out []T, counts []int, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Reduce_scatter_init", Undefined, &x, &err)()
	return c.prepare(c.reduceScatter(x, y, counts, op))
}

// ReduceScatterBuffer is ReduceScatter on Buffers.
func (c *Comm) ReduceScatterBuffer(in, out Buffer, counts []int, op *Op) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Reduce_scatter", Undefined, &x, &err)()
	return c.run(c.reduceScatter(x, y, counts, op))
}

// IreduceScatterBuffer is IreduceScatter on Buffers.
func (c *Comm) IreduceScatterBuffer(in, out Buffer, counts []int, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Ireduce_scatter", Undefined, &x, &err)()
	return c.begin(c.reduceScatter(x, y, counts, op))
}

// ReduceScatterInitBuffer is ReduceScatterInit on Buffers.
func (c *Comm) ReduceScatterInitBuffer(in, out Buffer, counts []int, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Reduce_scatter_init", Undefined, &x, &err)()
	return c.prepare(c.reduceScatter(x, y, counts, op))
}
