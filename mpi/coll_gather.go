package mpi

import "github.com/viaduct-hpc/viaduct/mpi/coll"

// contribution returns the packed form of a process's own elements. It returns nil, which means
// MPI_IN_PLACE to package coll, if the operand is null and mayBeInPlace is set.
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

// giveTo returns the program of a process that sends its elements to a root. A process in the
// root's group of an inter-communicator that is not the root does nothing.
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
