package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

var (
	gatherNames  = collective{"MPI_Gather", "MPI_Igather", "MPI_Gather_init"}
	gathervNames = collective{"MPI_Gatherv", "MPI_Igatherv", "MPI_Gatherv_init"}
)

// Gather collects the in of every process, in rank order, into the root's out. Every in has the
// same length. out matters only at the root, and has the length of all of them together. If in is
// InPlace at the root, the root's part is already in its place in out (MPI_Gather; MPI-4.1, 6.5).
func (c *Comm) Gather(ctx context.Context, in, out Buffer, root int) error {
	return c.now(ctx, &gatherNames, root, &in, c.gather(in, out, root))
}

// Igather is the non-blocking or persistent Gather (MPI_Igather; MPI-4.1, 6.12.3 and 6.13.3).
func (c *Comm) Igather(in, out Buffer, root int, how ...Mode) Request {
	return c.later(&gatherNames, root, &in, c.gather(in, out, root), how)
}

// Gatherv is Gather of parts of different lengths, which out.Parts or Each gives at the root
// (MPI_Gatherv; MPI-4.1, 6.5).
func (c *Comm) Gatherv(ctx context.Context, in, out Buffer, root int) error {
	return c.now(ctx, &gathervNames, root, &in, c.gatherv(in, out, root))
}

// Igatherv is the non-blocking or persistent Gatherv (MPI_Igatherv; MPI-4.1, 6.12.3 and 6.13.3).
func (c *Comm) Igatherv(in, out Buffer, root int, how ...Mode) Request {
	return c.later(&gathervNames, root, &in, c.gatherv(in, out, root), how)
}

func (c *Comm) gather(in, out Buffer, root int) program {
	if err := c.checkRooted(root); err != nil {
		return failed(err)
	}
	if !c.isRoot(root) {
		return giveTo(in, root, func(v *view, in []byte) error {
			if v.local != nil {
				return coll.InterGather(v, in, nil, root, &v.scratch, coll.Auto)
			}
			return coll.Gather(v, in, nil, root, &v.scratch, coll.Auto)
		})
	}
	err := c.checkAtRoot(&in, &out)
	if err == nil {
		err = out.even(c.peers)
	}
	return program{do: func(v *view) error {
		mem := out.room(in.isInPlace())
		var err error
		if v.local != nil {
			err = coll.InterGather(v, nil, mem, root, &v.scratch, coll.Auto)
		} else {
			err = coll.Gather(v, in.contribution(), mem, root, &v.scratch, coll.Auto)
		}
		if err == nil {
			out.unpack(mem)
		}
		return err
	}, err: err}
}

// giveTo returns the program of a process that sends its elements to a root. A process in the
// root's group of an inter-communicator that is not the root does nothing.
func giveTo(in Buffer, root int, send func(v *view, in []byte) error) program {
	if root == ProcNull {
		return nothing
	}
	return program{do: func(v *view) error { return send(v, in.packed()) }, err: memory(&in)}
}

func (c *Comm) gatherv(in, out Buffer, root int) program {
	if err := c.checkRooted(root); err != nil {
		return failed(err)
	}
	if !c.isRoot(root) {
		return giveTo(in, root, func(v *view, in []byte) error {
			if v.local != nil {
				return coll.InterGatherv(v, in, nil, root, &v.scratch)
			}
			return coll.Gatherv(v, in, nil, root, &v.scratch)
		})
	}
	if err := c.checkAtRoot(&in, &out); err != nil {
		return failed(err)
	}
	parts, err := out.divided(c.peers)
	return program{do: func(v *view) error {
		mem := roomAll(parts, in.isInPlace())
		var err error
		if v.local != nil {
			err = coll.InterGatherv(v, nil, mem, root, &v.scratch)
		} else {
			err = coll.Gatherv(v, in.contribution(), mem, root, &v.scratch)
		}
		if err == nil {
			unpackAll(parts, mem)
		}
		return err
	}, err: err}
}
