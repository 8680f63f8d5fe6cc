package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

var (
	barrierNames = collective{"MPI_Barrier", "MPI_Ibarrier", "MPI_Barrier_init"}
	bcastNames   = collective{"MPI_Bcast", "MPI_Ibcast", "MPI_Bcast_init"}
)

// Barrier returns when all processes of c have called it; on an inter-communicator, when all of the
// other group have (MPI_Barrier; MPI-4.1, 6.3).
func (c *Comm) Barrier(ctx context.Context) error {
	return c.now(ctx, &barrierNames, Undefined, &InPlace, c.barrier())
}

// Ibarrier is the non-blocking or persistent Barrier (MPI_Ibarrier; MPI-4.1, 6.12.1 and 6.13.1).
func (c *Comm) Ibarrier(how ...Mode) Request {
	return c.later(&barrierNames, Undefined, &InPlace, c.barrier(), how)
}

func (c *Comm) barrier() program { return program{do: barrier, err: c.checkLive()} }

func barrier(v *view) error {
	if v.local != nil {
		return coll.InterBarrier(v, coll.Auto)
	}
	return coll.Barrier(v, coll.Auto)
}

// Bcast copies the root's b to the b of all processes, which must have the same length (MPI_Bcast;
// MPI-4.1, 6.4). On an inter-communicator the root's elements go to the other group.
func (c *Comm) Bcast(ctx context.Context, b Buffer, root int) error {
	return c.now(ctx, &bcastNames, root, &b, c.bcast(b, root))
}

// Ibcast is the non-blocking or persistent Bcast (MPI_Ibcast; MPI-4.1, 6.12.2 and 6.13.2).
func (c *Comm) Ibcast(b Buffer, root int, how ...Mode) Request {
	return c.later(&bcastNames, root, &b, c.bcast(b, root), how)
}

func (c *Comm) bcast(b Buffer, root int) program {
	if err := c.checkRooted(root); err != nil {
		return failed(err)
	}
	if root == ProcNull {
		return nothing
	}
	return program{do: func(v *view) error {
		mem := b.room(c.isRoot(root))
		var err error
		if v.local != nil {
			err = coll.InterBcast(v, mem, root, &v.scratch, coll.Auto)
		} else {
			err = coll.Bcast(v, mem, root, &v.scratch, coll.Auto)
		}
		if err == nil && !c.isRoot(root) {
			b.unpack(mem)
		}
		return err
	}, err: memory(&b)}
}
