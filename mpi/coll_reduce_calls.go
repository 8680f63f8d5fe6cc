package mpi

// Reduce combines the in of all processes, element by element and in rank order, and stores the
// result in the root's out. All have the same length. out matters only at the root; if in is nil
// there, the root's elements are taken from out (MPI_Reduce; MPI-4.1, 6.9.1).
func Reduce[T any](c *Comm, in, out []T, op *Op, root int) (err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Reduce", root, &x, &err)()
	return c.run(c.reduce(x, y, op, root))
}

// Ireduce is the non-blocking Reduce (MPI_Ireduce; MPI-4.1, 6.12.7).
func Ireduce[T any](c *Comm, in, out []T, op *Op, root int) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Ireduce", root, &x, &err)()
	return c.begin(c.reduce(x, y, op, root))
}

// ReduceInit is the persistent Reduce (MPI_Reduce_init; MPI-4.1, 6.13.7).
func ReduceInit[T any](c *Comm, in, out []T, op *Op, root int) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Reduce_init", root, &x, &err)()
	return c.prepare(c.reduce(x, y, op, root))
}

// ReduceBuffer is Reduce on Buffers.
func (c *Comm) ReduceBuffer(in, out Buffer, op *Op, root int) (err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Reduce", root, &x, &err)()
	return c.run(c.reduce(x, y, op, root))
}

// IreduceBuffer is Ireduce on Buffers.
func (c *Comm) IreduceBuffer(in, out Buffer, op *Op, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Ireduce", root, &x, &err)()
	return c.begin(c.reduce(x, y, op, root))
}

// ReduceInitBuffer is ReduceInit on Buffers.
func (c *Comm) ReduceInitBuffer(in, out Buffer, op *Op, root int) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Reduce_init", root, &x, &err)()
	return c.prepare(c.reduce(x, y, op, root))
}

// Allreduce is Reduce with the result in the out of every process. If in is nil in all processes,
// the elements are taken from out (MPI_IN_PLACE). On an inter-communicator each group gets the
// result of the other (MPI_Allreduce; MPI-4.1, 6.9.6).
func Allreduce[T any](c *Comm, in, out []T, op *Op) error {
	x, y := slicePair(in, out)
	if c.hooked() {
		return c.hookedAllreduce(x, y, op)
	}
	return c.fail(c.allreduceNow(&x, &y, op))
}

// Iallreduce is the non-blocking Allreduce (MPI_Iallreduce; MPI-4.1, 6.12.8).
func Iallreduce[T any](c *Comm, in, out []T, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Iallreduce", Undefined, &x, &err)()
	return c.begin(c.allreduce(x, y, op))
}

// AllreduceInit is the persistent Allreduce (MPI_Allreduce_init; MPI-4.1, 6.13.8).
func AllreduceInit[T any](c *Comm, in, out []T, op *Op) (r Request, err error) {
	x, y := slicePair(in, out)
	defer c.collective("MPI_Allreduce_init", Undefined, &x, &err)()
	return c.prepare(c.allreduce(x, y, op))
}

// AllreduceBuffer is Allreduce on Buffers.
func (c *Comm) AllreduceBuffer(in, out Buffer, op *Op) error {
	x, y := typed(in), typed(out)
	if c.hooked() {
		return c.hookedAllreduce(x, y, op)
	}
	return c.fail(c.allreduceNow(&x, &y, op))
}

func (c *Comm) hookedAllreduce(x, y operand, op *Op) (err error) {
	defer c.collective("MPI_Allreduce", Undefined, &x, &err)()
	return c.allreduceNow(&x, &y, op)
}

// IallreduceBuffer is Iallreduce on Buffers.
func (c *Comm) IallreduceBuffer(in, out Buffer, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Iallreduce", Undefined, &x, &err)()
	return c.begin(c.allreduce(x, y, op))
}

// AllreduceInitBuffer is AllreduceInit on Buffers.
func (c *Comm) AllreduceInitBuffer(in, out Buffer, op *Op) (r Request, err error) {
	x, y := typed(in), typed(out)
	defer c.collective("MPI_Allreduce_init", Undefined, &x, &err)()
	return c.prepare(c.allreduce(x, y, op))
}
