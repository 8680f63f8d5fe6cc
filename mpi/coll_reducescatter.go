package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

var reduceScatterNames = collective{"MPI_Reduce_scatter", "MPI_Ireduce_scatter", "MPI_Reduce_scatter_init"}

// ReduceScatter combines the in of all processes and divides the result among them: part i goes to
// the out of rank i. The parts are equal, unless every process divides its in with Parts, all with
// the same counts and without displacements (MPI_Reduce_scatter_block, MPI_Reduce_scatter; MPI-4.1,
// 6.10). If in is InPlace in all processes, the elements are taken from out, which Parts may divide,
// and the part is stored at its beginning. On an inter-communicator, each group divides the result
// of the other.
func (c *Comm) ReduceScatter(ctx context.Context, in, out Buffer, op *Op) error {
	return c.now(ctx, &reduceScatterNames, Undefined, &in, c.reduceScatter(in, out, op))
}

// IreduceScatter is the non-blocking or persistent ReduceScatter (MPI_Ireduce_scatter_block,
// MPI_Ireduce_scatter; MPI-4.1, 6.12.9, 6.12.10, 6.13.9 and 6.13.10).
func (c *Comm) IreduceScatter(in, out Buffer, op *Op, how ...Mode) Request {
	return c.later(&reduceScatterNames, Undefined, &in, c.reduceScatter(in, out, op), how)
}

func (c *Comm) reduceScatter(in, out Buffer, op *Op) program {
	all := &in // the buffer with the elements of all processes
	if in.isInPlace() {
		all = &out
	}
	counts, err := c.countsOf(all, &out)
	if err == nil {
		err = c.checkPair(&in, &out)
	}
	if err == nil {
		err = op.ValidFor(out.t)
	}
	return program{do: func(v *view) error {
		mem := out.room(in.isInPlace())
		var err error
		if v.local != nil {
			err = coll.InterReduceScatter(v, in.packed(), mem, counts, out.t, op, &v.scratch, coll.Auto)
		} else {
			err = coll.ReduceScatter(v, in.contribution(), mem, counts, out.t, op, &v.scratch, coll.Auto)
		}
		if err == nil {
			out.unpack(mem)
		}
		return err
	}, err: err}
}

// countsOf returns how many elements of the result each rank gets, and makes the buffer whole.
func (c *Comm) countsOf(all, out *Buffer) ([]int, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	size := c.Size()
	if m := all.more; m != nil && m.split {
		switch {
		case m.err != nil:
			return nil, m.err
		case m.displs != nil:
			return nil, errclass.New(errclass.Arg, "the parts of a ReduceScatter are contiguous: give no displacements")
		case len(m.counts) != size:
			return nil, errclass.New(errclass.Count, "%d counts for %d processes: give one for each", len(m.counts), size)
		}
		whole := *m
		whole.split, whole.counts, whole.displs = false, nil, nil
		all.more = &whole
		return m.counts, nil
	}
	each := out.count()
	if all == out {
		if err := out.even(size); err != nil {
			return nil, err
		}
		each /= size
	}
	counts := make([]int, size)
	for i := range counts {
		counts[i] = each
	}
	return counts, nil
}
