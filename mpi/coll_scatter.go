package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

var (
	scatterNames  = collective{"MPI_Scatter", "MPI_Iscatter", "MPI_Scatter_init"}
	scattervNames = collective{"MPI_Scatterv", "MPI_Iscatterv", "MPI_Scatterv_init"}
)

// Scatter divides the root's in, in rank order, and stores one part in the out of every process.
// Every out has the same length. in matters only at the root, and has the length of all of them
// together. If out is InPlace at the root, the root's part stays in in (MPI_Scatter; MPI-4.1, 6.6).
func (c *Comm) Scatter(ctx context.Context, in, out Buffer, root int) error {
	return c.now(ctx, &scatterNames, root, &in, c.scatter(in, out, root))
}

// Iscatter is the non-blocking or persistent Scatter (MPI_Iscatter; MPI-4.1, 6.12.4 and 6.13.4).
func (c *Comm) Iscatter(in, out Buffer, root int, how ...Mode) Request {
	return c.later(&scatterNames, root, &in, c.scatter(in, out, root), how)
}

// Scatterv is Scatter of parts of different lengths, which in.Parts or Each gives at the root
// (MPI_Scatterv; MPI-4.1, 6.6).
func (c *Comm) Scatterv(ctx context.Context, in, out Buffer, root int) error {
	return c.now(ctx, &scattervNames, root, &in, c.scatterv(in, out, root))
}

// Iscatterv is the non-blocking or persistent Scatterv (MPI_Iscatterv; MPI-4.1, 6.12.4 and 6.13.4).
func (c *Comm) Iscatterv(in, out Buffer, root int, how ...Mode) Request {
	return c.later(&scattervNames, root, &in, c.scatterv(in, out, root), how)
}

func (c *Comm) scatter(in, out Buffer, root int) program {
	if err := c.checkRooted(root); err != nil {
		return failed(err)
	}
	if !c.isRoot(root) {
		return takeFrom(out, root, func(v *view, out []byte) error {
			if v.local != nil {
				return coll.InterScatter(v, nil, out, root, &v.scratch, coll.Auto)
			}
			return coll.Scatter(v, nil, out, root, &v.scratch, coll.Auto)
		})
	}
	err := c.checkAtRoot(&out, &in)
	if err == nil {
		err = in.even(c.peers)
	}
	return c.scatterFrom(out, func(v *view, out []byte) error {
		if v.local != nil {
			return coll.InterScatter(v, in.packed(), nil, root, &v.scratch, coll.Auto)
		}
		return coll.Scatter(v, in.packed(), out, root, &v.scratch, coll.Auto)
	}, err)
}

// takeFrom returns the program of a process that receives its elements from a root. A process in
// the root's group of an inter-communicator that is not the root does nothing.
func takeFrom(out Buffer, root int, recv func(v *view, out []byte) error) program {
	if root == ProcNull {
		return nothing
	}
	return program{do: takeInto(out, recv), err: memory(&out)}
}

// takeInto returns the function of a process that receives elements into out.
func takeInto(out Buffer, recv func(v *view, out []byte) error) func(v *view) error {
	return func(v *view) error {
		mem := out.room(false)
		if mem == nil {
			mem = []byte{} // nil means MPI_IN_PLACE to package coll
		}
		err := recv(v, mem)
		if err == nil {
			out.unpack(mem)
		}
		return err
	}
}

// scatterFrom returns the root's program. If out is InPlace, the root's own part stays where it is.
func (c *Comm) scatterFrom(out Buffer, send func(v *view, out []byte) error, err error) program {
	if c.IsInter() || out.isInPlace() {
		return program{do: func(v *view) error { return send(v, nil) }, err: err}
	}
	return program{do: takeInto(out, send), err: err}
}

func (c *Comm) scatterv(in, out Buffer, root int) program {
	if err := c.checkRooted(root); err != nil {
		return failed(err)
	}
	if !c.isRoot(root) {
		return takeFrom(out, root, func(v *view, out []byte) error {
			if v.local != nil {
				return coll.InterScatterv(v, nil, out, root, &v.scratch)
			}
			return coll.Scatterv(v, nil, out, root, &v.scratch)
		})
	}
	if err := c.checkAtRoot(&out, &in); err != nil {
		return failed(err)
	}
	parts, err := in.divided(c.peers)
	return c.scatterFrom(out, func(v *view, out []byte) error {
		if v.local != nil {
			return coll.InterScatterv(v, packedAll(parts), nil, root, &v.scratch)
		}
		return coll.Scatterv(v, packedAll(parts), out, root, &v.scratch)
	}, err)
}
