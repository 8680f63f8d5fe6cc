package mpi

import "github.com/viaduct-hpc/viaduct/mpi/coll"

// contribution is the packed form of what a process gives: nil, which package coll knows as
// MPI_IN_PLACE, if it may be that and is.
func contribution(x *operand, mayBeInPlace bool) []byte {
	if x.null && mayBeInPlace {
		return nil
	}
	return packed(&x.Buffer)
}

func (c *Comm) gather(x, y operand, root int) (program, error) {
	if err := c.checkRooted(root); err != nil {
		return nil, err
	}
	if !c.isRoot(root) {
		return c.giveTo(x, root, func(v *view, in []byte) error {
			if v.local != nil {
				return coll.InterGather(v, in, nil, root, &v.scratch, coll.Auto)
			}
			return coll.Gather(v, in, nil, root, &v.scratch, coll.Auto)
		})
	}
	return func(v *view) error {
		out := room(&y.Buffer, x.null)
		var err error
		if v.local != nil {
			err = coll.InterGather(v, nil, out, root, &v.scratch, coll.Auto)
		} else {
			err = coll.Gather(v, contribution(&x, true), out, root, &v.scratch, coll.Auto)
		}
		if err == nil {
			unpack(&y.Buffer, out)
		}
		return err
	}, c.evenly(c.wrongAtRoot(x, y), y)
}

// giveTo is the program of a process that gives its elements to a root, or nothing if it is in
// the root's group and not the root.
func (c *Comm) giveTo(x operand, root int, send func(v *view, in []byte) error) (program, error) {
	if root == ProcNull {
		return nothing, nil
	}
	return func(v *view) error { return send(v, packed(&x.Buffer)) }, x.err
}

func (c *Comm) gatherv(x, y operand, counts, displs []int, root int) (program, error) {
	if err := c.checkRooted(root); err != nil {
		return nil, err
	}
	if !c.isRoot(root) {
		return c.giveTo(x, root, func(v *view, in []byte) error {
			if v.local != nil {
				return coll.InterGatherv(v, in, nil, root, &v.scratch)
			}
			return coll.Gatherv(v, in, nil, root, &v.scratch)
		})
	}
	if err := c.wrongAtRoot(x, y); err != nil {
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
			err = coll.InterGatherv(v, nil, out, root, &v.scratch)
		} else {
			err = coll.Gatherv(v, contribution(&x, true), out, root, &v.scratch)
		}
		if err == nil {
			unpackAll(parts, out)
		}
		return err
	}, nil
}
