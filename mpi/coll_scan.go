package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

var (
	scanNames   = collective{"MPI_Scan", "MPI_Iscan", "MPI_Scan_init"}
	exscanNames = collective{"MPI_Exscan", "MPI_Iexscan", "MPI_Exscan_init"}
)

// Scan combines the in of ranks 0 up to and including this one into its out. If in is InPlace, the
// elements are taken from out (MPI_Scan; MPI-4.1, 6.11.1).
func (c *Comm) Scan(ctx context.Context, in, out Buffer, op *Op) error {
	return c.now(ctx, &scanNames, Undefined, &in, c.prefix(in, out, op, coll.Scan))
}

// Iscan is the non-blocking or persistent Scan (MPI_Iscan; MPI-4.1, 6.12.11 and 6.13.11).
func (c *Comm) Iscan(in, out Buffer, op *Op, how ...Mode) Request {
	return c.later(&scanNames, Undefined, &in, c.prefix(in, out, op, coll.Scan), how)
}

// Exscan combines the in of all lower ranks into the out of this process. The out of rank 0, which
// has no lower rank, does not change. If in is InPlace, the elements are taken from out (MPI_Exscan;
// MPI-4.1, 6.11.2).
func (c *Comm) Exscan(ctx context.Context, in, out Buffer, op *Op) error {
	return c.now(ctx, &exscanNames, Undefined, &in, c.prefix(in, out, op, coll.Exscan))
}

// Iexscan is the non-blocking or persistent Exscan (MPI_Iexscan; MPI-4.1, 6.12.12 and 6.13.12).
func (c *Comm) Iexscan(in, out Buffer, op *Op, how ...Mode) Request {
	return c.later(&exscanNames, Undefined, &in, c.prefix(in, out, op, coll.Exscan), how)
}

// A prefixFunc is coll.Scan or coll.Exscan.
type prefixFunc = func(c coll.Comm, in, out []byte, t *datatype.Type, count int, op *Op, s *coll.Scratch, choose coll.Choice) error

func (c *Comm) prefix(in, out Buffer, op *Op, scan prefixFunc) program {
	if c.IsInter() {
		return failed(errclass.New(errclass.Comm, "an inter-communicator has no order of ranks to scan in: merge it first"))
	}
	return program{do: func(v *view) error {
		// Elements that are not written, such as the result of rank 0 of an Exscan, keep their
		// values.
		mem := out.room(true)
		err := scan(v, in.contribution(), mem, out.t, out.count(), op, &v.scratch, coll.Auto)
		if err == nil {
			out.unpack(mem)
		}
		return err
	}, err: c.checkAllreduce(&in, &out, op)}
}
