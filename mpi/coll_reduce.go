package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// checkReduction returns an error unless two buffers have the same elements and an operator can
// combine them.
func checkReduction(in, out *Buffer, op *Op) error {
	if n, want := packedBytes(in), packedBytes(out); n != want || elements(in) != elements(out) {
		return errclass.New(errclass.Count, "%d elements of %d bytes in all are combined into %d of %d bytes: give as many as the result has",
			elements(in), n, elements(out), want)
	}
	return op.ValidFor(elementType(out))
}

// checkReduce is checkReduction for operands; x may be null, which means MPI_IN_PLACE.
func (c *Comm) checkReduce(x, y *operand, op *Op) error {
	if x.null && !c.IsInter() {
		return op.ValidFor(elementType(&y.Buffer))
	}
	return checkReduction(&x.Buffer, &y.Buffer, op)
}

func (c *Comm) reduce(x, y operand, op *Op, root int) (program, error) {
	if err := c.checkRooted(root); err != nil {
		return nil, err
	}
	switch {
	case root == ProcNull:
		return nothing, nil
	case c.isRoot(root):
		return c.reduceHere(x, y, op, root)
	case x.err != nil:
		return nil, x.err
	}
	if err := op.ValidFor(elementType(&x.Buffer)); err != nil {
		return nil, err
	}
	return func(v *view) error {
		in, t, n := packed(&x.Buffer), elementType(&x.Buffer), elements(&x.Buffer)
		if v.local != nil {
			return coll.InterReduce(v, in, nil, t, n, op, root, &v.scratch, coll.Auto)
		}
		return coll.Reduce(v, in, nil, t, n, op, root, &v.scratch, coll.Auto)
	}, nil
}

// reduceHere returns the root's program of a reduce.
func (c *Comm) reduceHere(x, y operand, op *Op, root int) (program, error) {
	err := c.wrongAtRoot(x, y)
	if err == nil {
		if c.IsInter() {
			err = op.ValidFor(elementType(&y.Buffer))
		} else {
			err = c.checkReduce(&x, &y, op)
		}
	}
	return func(v *view) error {
		out, t, n := room(&y.Buffer, x.null), elementType(&y.Buffer), elements(&y.Buffer)
		var err error
		if v.local != nil {
			err = coll.InterReduce(v, nil, out, t, n, op, root, &v.scratch, coll.Auto)
		} else {
			err = coll.Reduce(v, contribution(&x, true), out, t, n, op, root, &v.scratch, coll.Auto)
		}
		if err == nil {
			unpack(&y.Buffer, out)
		}
		return err
	}, err
}

// allreduceNow is a blocking allreduce. It makes no program, which would have to be allocated.
func (c *Comm) allreduceNow(x, y *operand, op *Op) error {
	if err := c.checkAllreduce(x, y, op); err != nil {
		return err
	}
	v := c.take(c.number())
	return c.put(v, v.allreduce(x, y, op))
}

func (c *Comm) checkAllreduce(x, y *operand, op *Op) error {
	if err := c.checkLive(); err != nil {
		return err
	}
	if x.err != nil {
		return x.err
	}
	if y.err != nil {
		return y.err
	}
	return c.checkReduce(x, y, op)
}

func (c *Comm) allreduce(x, y operand, op *Op) (program, error) {
	return func(v *view) error { return v.allreduce(&x, &y, op) }, c.checkAllreduce(&x, &y, op)
}

func (v *view) allreduce(x, y *operand, op *Op) error {
	out, t, n := room(&y.Buffer, x.null), elementType(&y.Buffer), elements(&y.Buffer)
	var err error
	if v.local != nil {
		err = coll.InterAllreduce(v, packed(&x.Buffer), out, t, n, op, &v.scratch, coll.Auto)
	} else {
		err = coll.Allreduce(v, contribution(x, true), out, t, n, op, &v.scratch, coll.Auto)
	}
	if err == nil {
		unpack(&y.Buffer, out)
	}
	return err
}
