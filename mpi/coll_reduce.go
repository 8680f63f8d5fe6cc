package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

var (
	reduceNames    = collective{"MPI_Reduce", "MPI_Ireduce", "MPI_Reduce_init"}
	allreduceNames = collective{"MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init"}
)

// Reduce combines the in of all processes, element by element and in rank order, and stores the
// result in the root's out. All have the same length. out matters only at the root; if in is InPlace
// there, the root's elements are taken from out (MPI_Reduce; MPI-4.1, 6.9.1).
func (c *Comm) Reduce(ctx context.Context, in, out Buffer, op *Op, root int) error {
	return c.now(ctx, &reduceNames, root, &in, c.reduce(in, out, op, root))
}

// Ireduce is the non-blocking or persistent Reduce (MPI_Ireduce; MPI-4.1, 6.12.7 and 6.13.7).
func (c *Comm) Ireduce(in, out Buffer, op *Op, root int, how ...Mode) Request {
	return c.later(&reduceNames, root, &in, c.reduce(in, out, op, root), how)
}

// Allreduce is Reduce with the result in the out of every process. If in is InPlace in all
// processes, the elements are taken from out. On an inter-communicator each group gets the result of
// the other (MPI_Allreduce; MPI-4.1, 6.9.6).
func (c *Comm) Allreduce(ctx context.Context, in, out Buffer, op *Op) error {
	if endless(ctx) && !c.hooked() {
		return c.fail(c.allreduceNow(&in, &out, op))
	}
	return c.now(ctx, &allreduceNames, Undefined, &in, c.allreduce(in, out, op))
}

// Iallreduce is the non-blocking or persistent Allreduce (MPI_Iallreduce; MPI-4.1, 6.12.8 and
// 6.13.8).
func (c *Comm) Iallreduce(in, out Buffer, op *Op, how ...Mode) Request {
	return c.later(&allreduceNames, Undefined, &in, c.allreduce(in, out, op), how)
}

// checkReduction returns an error unless two buffers have the same elements and an operator can
// combine them.
func checkReduction(in, out *Buffer, op *Op) error {
	if n, want := in.size(), out.size(); n != want || in.count() != out.count() {
		return errclass.New(errclass.Count, "%d elements of %d bytes in all are combined into %d of %d bytes: give as many as the result has",
			in.count(), n, out.count(), want)
	}
	return op.ValidFor(out.t)
}

// checkReduce is checkReduction where in may be InPlace.
func (c *Comm) checkReduce(in, out *Buffer, op *Op) error {
	if in.isInPlace() {
		return op.ValidFor(out.t)
	}
	return checkReduction(in, out, op)
}

func (c *Comm) reduce(in, out Buffer, op *Op, root int) program {
	if err := c.checkRooted(root); err != nil {
		return failed(err)
	}
	if root == ProcNull {
		return nothing
	}
	if c.isRoot(root) {
		return c.reduceHere(in, out, op, root)
	}
	err := memory(&in)
	if err == nil {
		err = op.ValidFor(in.t)
	}
	return program{do: func(v *view) error {
		mem := in.packed()
		if v.local != nil {
			return coll.InterReduce(v, mem, nil, in.t, in.count(), op, root, &v.scratch, coll.Auto)
		}
		return coll.Reduce(v, mem, nil, in.t, in.count(), op, root, &v.scratch, coll.Auto)
	}, err: err}
}

// reduceHere returns the root's program of a reduce.
func (c *Comm) reduceHere(in, out Buffer, op *Op, root int) program {
	err := c.checkAtRoot(&in, &out)
	switch {
	case err != nil:
	case c.IsInter():
		if err = out.whole(); err == nil {
			err = op.ValidFor(out.t)
		}
	default:
		if err = out.whole(); err == nil {
			err = c.checkReduce(&in, &out, op)
		}
	}
	return program{do: func(v *view) error {
		mem := out.room(in.isInPlace())
		var err error
		if v.local != nil {
			err = coll.InterReduce(v, nil, mem, out.t, out.count(), op, root, &v.scratch, coll.Auto)
		} else {
			err = coll.Reduce(v, in.contribution(), mem, out.t, out.count(), op, root, &v.scratch, coll.Auto)
		}
		if err == nil {
			out.unpack(mem)
		}
		return err
	}, err: err}
}

// allreduceNow is a blocking allreduce. It makes no program, which would have to be allocated.
func (c *Comm) allreduceNow(in, out *Buffer, op *Op) error {
	if err := c.checkAllreduce(in, out, op); err != nil {
		return err
	}
	c.coll.Doing(&allreduceNames.blocking)
	v := c.take(c.number())
	return c.put(v, v.allreduce(in, out, op))
}

func (c *Comm) checkAllreduce(in, out *Buffer, op *Op) error {
	if err := c.checkPair(in, out); err != nil {
		return err
	}
	return c.checkReduce(in, out, op)
}

func (c *Comm) allreduce(in, out Buffer, op *Op) program {
	return program{do: func(v *view) error { return v.allreduce(&in, &out, op) }, err: c.checkAllreduce(&in, &out, op)}
}

func (v *view) allreduce(in, out *Buffer, op *Op) error {
	mem := out.room(in.isInPlace())
	var err error
	if v.local != nil {
		err = coll.InterAllreduce(v, in.packed(), mem, out.t, out.count(), op, &v.scratch, coll.Auto)
	} else {
		err = coll.Allreduce(v, in.contribution(), mem, out.t, out.count(), op, &v.scratch, coll.Auto)
	}
	if err == nil {
		out.unpack(mem)
	}
	return err
}
