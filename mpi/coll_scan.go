package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func (c *Comm) scan(x, y operand, op *Op) (program, error) {
	return c.prefix(x, y, op, coll.Scan)
}

func (c *Comm) exscan(x, y operand, op *Op) (program, error) {
	return c.prefix(x, y, op, coll.Exscan)
}

// A prefixFunc is coll.Scan or coll.Exscan.
type prefixFunc = func(c coll.Comm, in, out []byte, t *datatype.Type, count int, op *Op, s *coll.Scratch, choose coll.Choice) error

func (c *Comm) prefix(x, y operand, op *Op, scan prefixFunc) (program, error) {
	if err := c.checkAll(x, y); err != nil {
		return nil, err
	}
	if c.IsInter() {
		return nil, errclass.New(errclass.Comm, "an inter-communicator has no order of ranks to scan in: merge it first")
	}
	return func(v *view) error {
		// Elements that are not written, such as the result of rank 0 of an Exscan, keep their
		// values.
		out := room(&y.Buffer, true)
		err := scan(v, contribution(&x, true), out, elementType(&y.Buffer), elements(&y.Buffer), op, &v.scratch, coll.Auto)
		if err == nil {
			unpack(&y.Buffer, out)
		}
		return err
	}, c.checkReduce(&x, &y, op)
}
