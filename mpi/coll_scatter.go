package mpi

import "github.com/viaduct-hpc/viaduct/mpi/coll"

func (c *Comm) scatter(x, y operand, root int) (program, error) {
	if err := c.checkRooted(root); err != nil {
		return nil, err
	}
	if !c.isRoot(root) {
		return c.takeFrom(y, root, func(v *view, out []byte) error {
			if v.local != nil {
				return coll.InterScatter(v, nil, out, root, &v.scratch, coll.Auto)
			}
			return coll.Scatter(v, nil, out, root, &v.scratch, coll.Auto)
		})
	}
	return c.scatterFrom(y, func(v *view, out []byte) error {
		if v.local != nil {
			return coll.InterScatter(v, packed(&x.Buffer), nil, root, &v.scratch, coll.Auto)
		}
		return coll.Scatter(v, packed(&x.Buffer), out, root, &v.scratch, coll.Auto)
	}), c.evenly(c.wrongAtRoot(y, x), x)
}

// takeFrom returns the program of a process that receives its elements from a root. A process in
// the root's group of an inter-communicator that is not the root does nothing.
func (c *Comm) takeFrom(y operand, root int, recv func(v *view, out []byte) error) (program, error) {
	if root == ProcNull {
		return nothing, nil
	}
	return takeInto(y, recv), y.err
}

// takeInto returns the program of a process that receives its elements.
func takeInto(y operand, recv func(v *view, out []byte) error) program {
	return func(v *view) error {
		out := room(&y.Buffer, false)
		if out == nil {
			out = []byte{} // nil means MPI_IN_PLACE to package coll
		}
		err := recv(v, out)
		if err == nil {
			unpack(&y.Buffer, out)
		}
		return err
	}
}

// scatterFrom returns the root's program. If y is null, the root's own part stays where it is.
func (c *Comm) scatterFrom(y operand, send func(v *view, out []byte) error) program {
	if c.IsInter() || y.null {
		return func(v *view) error { return send(v, nil) }
	}
	return takeInto(y, send)
}

func (c *Comm) scatterv(x, y operand, counts, displs []int, root int) (program, error) {
	if err := c.checkRooted(root); err != nil {
		return nil, err
	}
	if !c.isRoot(root) {
		return c.takeFrom(y, root, func(v *view, out []byte) error {
			if v.local != nil {
				return coll.InterScatterv(v, nil, out, root, &v.scratch)
			}
			return coll.Scatterv(v, nil, out, root, &v.scratch)
		})
	}
	if err := c.wrongAtRoot(y, x); err != nil {
		return nil, err
	}
	parts, err := pieces(x, layout{counts, displs}, c.peers)
	if err != nil {
		return nil, err
	}
	return c.scatterFrom(y, func(v *view, out []byte) error {
		if v.local != nil {
			return coll.InterScatterv(v, packedAll(parts), nil, root, &v.scratch)
		}
		return coll.Scatterv(v, packedAll(parts), out, root, &v.scratch)
	}), nil
}
