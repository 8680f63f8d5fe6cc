package mpi

import "github.com/viaduct-hpc/viaduct/mpi/coll"

func (c *Comm) allgather(x, y operand) (program, error) {
	return func(v *view) error {
		out := room(&y.Buffer, x.null)
		var err error
		if v.local != nil {
			err = coll.InterAllgather(v, packed(&x.Buffer), out, &v.scratch, coll.Auto)
		} else {
			err = coll.Allgather(v, contribution(&x, true), out, &v.scratch, coll.Auto)
		}
		if err == nil {
			unpack(&y.Buffer, out)
		}
		return err
	}, c.evenly(c.checkAll(x, y), y)
}

func (c *Comm) allgatherv(x, y operand, counts, displs []int) (program, error) {
	if err := c.checkAll(x, y); err != nil {
		return nil, err
	}
	parts, err := pieces(y, layout{counts, displs}, c.peers)
	if err != nil {
		return nil, err
	}
	return func(v *view) error {
		out := roomAll(parts, x.null)
		var err error
		if v.local != nil {
			err = coll.InterAllgatherv(v, packed(&x.Buffer), out, &v.scratch, coll.Auto)
		} else {
			err = coll.Allgatherv(v, contribution(&x, true), out, &v.scratch, coll.Auto)
		}
		if err == nil {
			unpackAll(parts, out)
		}
		return err
	}, nil
}
