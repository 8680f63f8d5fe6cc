package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

var allgatherNames = collective{"MPI_Allgather", "MPI_Iallgather", "MPI_Allgather_init"}

// Allgather collects the in of every process, in rank order, into the out of every process. Every
// in has the same length, and out has the length of all of them together, unless every process
// divides its out with Parts or Each (MPI_Allgather, MPI_Allgatherv; MPI-4.1, 6.7). If in is InPlace
// in all processes, each part is already in its place in out. On an inter-communicator, out gets the
// elements of the other group.
func (c *Comm) Allgather(ctx context.Context, in, out Buffer) error {
	return c.now(ctx, &allgatherNames, Undefined, &in, c.allgather(in, out))
}

// Iallgather is the non-blocking or persistent Allgather (MPI_Iallgather; MPI-4.1, 6.12.5 and
// 6.13.5).
func (c *Comm) Iallgather(in, out Buffer, how ...Mode) Request {
	return c.later(&allgatherNames, Undefined, &in, c.allgather(in, out), how)
}

func (c *Comm) allgather(in, out Buffer) program {
	if out.isDivided() {
		return c.allgatherv(in, out)
	}
	err := c.checkPair(&in, &out)
	if err == nil {
		err = out.evenly(c.peers)
	}
	return program{do: func(v *view) error {
		mem := out.room(in.isInPlace())
		var err error
		if v.local != nil {
			err = coll.InterAllgather(v, in.packed(), mem, &v.scratch, coll.Auto)
		} else {
			err = coll.Allgather(v, in.contribution(), mem, &v.scratch, coll.Auto)
		}
		if err == nil {
			out.unpack(mem)
		}
		return err
	}, err: err}
}

func (c *Comm) allgatherv(in, out Buffer) program {
	parts, err := c.partsOf(&out)
	if err == nil {
		err = c.checkGiven(&in)
	}
	return program{do: func(v *view) error {
		mem := roomAll(parts, in.isInPlace())
		var err error
		if v.local != nil {
			err = coll.InterAllgatherv(v, in.packed(), mem, &v.scratch, coll.Auto)
		} else {
			err = coll.Allgatherv(v, in.contribution(), mem, &v.scratch, coll.Auto)
		}
		if err == nil {
			unpackAll(parts, mem)
		}
		return err
	}, err: err}
}
