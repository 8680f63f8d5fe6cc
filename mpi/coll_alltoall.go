package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

var alltoallNames = collective{"MPI_Alltoall", "MPI_Ialltoall", "MPI_Alltoall_init"}

// Alltoall divides in and out into one part for each process. It sends part i of in to rank i, and
// receives the part from rank i into part i of out. The parts are equal, unless every process
// divides its buffers with Parts or Each (MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw; MPI-4.1, 6.8).
// If in is InPlace in all processes, out is sent, then overwritten.
func (c *Comm) Alltoall(ctx context.Context, in, out Buffer) error {
	return c.now(ctx, &alltoallNames, Undefined, &in, c.alltoall(in, out))
}

// Ialltoall is the non-blocking or persistent Alltoall (MPI_Ialltoall; MPI-4.1, 6.12.6 and 6.13.6).
func (c *Comm) Ialltoall(in, out Buffer, how ...Mode) Request {
	return c.later(&alltoallNames, Undefined, &in, c.alltoall(in, out), how)
}

func (c *Comm) alltoall(in, out Buffer) program {
	if in.isDivided() || out.isDivided() {
		return c.alltoallv(in, out)
	}
	err := c.checkPair(&in, &out)
	for _, b := range []*Buffer{&in, &out} {
		if err == nil {
			err = b.evenly(c.peers)
		}
	}
	return program{do: func(v *view) error {
		mem := out.room(in.isInPlace())
		var err error
		if v.local != nil {
			err = coll.InterAlltoall(v, in.packed(), mem, &v.scratch, coll.Auto)
		} else {
			err = coll.Alltoall(v, in.contribution(), mem, &v.scratch, coll.Auto)
		}
		if err == nil {
			out.unpack(mem)
		}
		return err
	}, err: err}
}

func (c *Comm) alltoallv(in, out Buffer) program {
	gets, err := c.partsOf(&out)
	if err != nil {
		return failed(err)
	}
	if in.isInPlace() && !c.IsInter() {
		return c.exchangeAll(nil, gets)
	}
	gives, err := in.divided(c.peers)
	if err != nil {
		return failed(err)
	}
	return c.exchangeAll(gives, gets)
}

// exchangeAll sends gives[i] to rank i, and receives the data of rank i into gets[i]. If gives is
// nil, it sends gets[i].
func (c *Comm) exchangeAll(gives, gets []Buffer) program {
	return program{do: func(v *view) error {
		var in [][]byte
		if gives != nil {
			in = packedAll(gives)
		}
		out := roomAll(gets, gives == nil)
		var err error
		if v.local != nil {
			err = coll.InterAlltoallv(v, in, out, &v.scratch, coll.Auto)
		} else {
			err = coll.Alltoallv(v, in, out, &v.scratch, coll.Auto)
		}
		if err == nil {
			unpackAll(gets, out)
		}
		return err
	}}
}
