package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func (c *Comm) alltoall(x, y operand) (program, error) {
	return func(v *view) error {
		out := room(&y.Buffer, x.null)
		var err error
		if v.local != nil {
			err = coll.InterAlltoall(v, packed(&x.Buffer), out, &v.scratch, coll.Auto)
		} else {
			err = coll.Alltoall(v, contribution(&x, true), out, &v.scratch, coll.Auto)
		}
		if err == nil {
			unpack(&y.Buffer, out)
		}
		return err
	}, c.evenly(c.evenly(c.checkAll(x, y), x), y)
}

func (c *Comm) alltoallv(x, y operand, inCounts, inDispls, outCounts, outDispls []int) (program, error) {
	if err := c.checkAll(x, y); err != nil {
		return nil, err
	}
	gets, err := pieces(y, layout{outCounts, outDispls}, c.peers)
	if err != nil {
		return nil, err
	}
	if x.null && inCounts == nil {
		return c.exchangeAll(nil, gets), nil
	}
	gives, err := pieces(x, layout{inCounts, inDispls}, c.peers)
	if err != nil {
		return nil, err
	}
	return c.exchangeAll(gives, gets), nil
}

// exchangeAll sends gives[i] to rank i, and receives the data of rank i into gets[i]. If gives is
// nil, it sends gets[i].
func (c *Comm) exchangeAll(gives, gets []Buffer) program {
	return func(v *view) error {
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
	}
}

// Alltoallw is AlltoallvBuffer with a Buffer for every process: in[i] is sent to rank i, and out[i]
// receives the data of rank i (MPI_Alltoallw; MPI-4.1, 6.8). If in is nil in all processes, out is
// sent, then overwritten.
func (c *Comm) Alltoallw(in, out []Buffer) (err error) {
	defer c.call("MPI_Alltoallw", &err)()
	return c.run(c.alltoallw(in, out))
}

// Ialltoallw is the non-blocking Alltoallw (MPI_Ialltoallw; MPI-4.1, 6.12.6).
func (c *Comm) Ialltoallw(in, out []Buffer) (r Request, err error) {
	defer c.call("MPI_Ialltoallw", &err)()
	return c.begin(c.alltoallw(in, out))
}

// AlltoallwInit is the persistent Alltoallw (MPI_Alltoallw_init; MPI-4.1, 6.13.6).
func (c *Comm) AlltoallwInit(in, out []Buffer) (r Request, err error) {
	defer c.call("MPI_Alltoallw_init", &err)()
	return c.prepare(c.alltoallw(in, out))
}

func (c *Comm) alltoallw(in, out []Buffer) (program, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	if err := checkParts(out, c.peers); err != nil {
		return nil, err
	}
	if in != nil || c.IsInter() {
		if err := checkParts(in, c.peers); err != nil {
			return nil, err
		}
	}
	return c.exchangeAll(in, out), nil
}

// checkParts returns an error unless there are n valid Buffers, one for each rank.
func checkParts(bs []Buffer, n int) error {
	if len(bs) != n {
		return errclass.New(errclass.Count, "%d buffers for %d ranks: give one for each", len(bs), n)
	}
	for _, b := range bs {
		if err := checkBuffer(b); err != nil {
			return err
		}
	}
	return nil
}
