package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func (c *Comm) reduceScatterBlock(x, y operand, op *Op) (program, error) {
	if err := c.checkAll(x, y); err != nil {
		return nil, err
	}
	each := elements(&y.Buffer)
	if x.null && !c.IsInter() {
		if each%c.Size() != 0 {
			return nil, errclass.New(errclass.Count, "%d elements cannot be divided evenly among %d processes: take ReduceScatter", each, c.Size())
		}
		each /= c.Size()
	}
	counts := make([]int, c.Size())
	for i := range counts {
		counts[i] = each
	}
	return c.reduceScatter(x, y, counts, op)
}

func (c *Comm) reduceScatter(x, y operand, counts []int, op *Op) (program, error) {
	if err := c.checkAll(x, y); err != nil {
		return nil, err
	}
	if err := op.ValidFor(elementType(&y.Buffer)); err != nil {
		return nil, err
	}
	if len(counts) != c.Size() {
		return nil, errclass.New(errclass.Count, "%d counts for %d processes: give one for each", len(counts), c.Size())
	}
	return func(v *view) error {
		out, t := room(&y.Buffer, x.null), elementType(&y.Buffer)
		var err error
		if v.local != nil {
			err = coll.InterReduceScatter(v, packed(&x.Buffer), out, counts, t, op, &v.scratch, coll.Auto)
		} else {
			err = coll.ReduceScatter(v, contribution(&x, true), out, counts, t, op, &v.scratch, coll.Auto)
		}
		if err == nil {
			unpack(&y.Buffer, out)
		}
		return err
	}, nil
}
