package rma

import (
	"context"
	"runtime"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/info"
	"github.com/viaduct-hpc/viaduct/mpi/internal/share"
)

// Create makes a window of memory that each process has, b, which may be of different sizes, also
// empty. Displacements count in steps of unit bytes, of the target's unit; 0 means the size of an
// element of b. All processes of c call it (MPI_Win_create; MPI-4.1, 12.2.1).
func Create(ctx context.Context, c *mpi.Comm, b mpi.Buffer, unit int, hints *info.Info) (*Win, error) {
	r := recipe{name: "MPI_Win_create", flavor: Created, unit: unit, hints: hints}
	m, err := memoryOf(b)
	if err == nil {
		var ok bool
		if r.mem, ok = m.whole(); !ok {
			err = errclass.New(errclass.Base, "the memory of a window must be elements one behind the other, as those of a slice are")
		}
		r.bytes = len(r.mem)
		if _, extent := m.t.Extent(); unit == 0 {
			r.unit = extent
		}
	}
	r.err = err
	return create(ctx, c, r)
}

// Allocate makes a window of new memory, bytes in this process (MPI_Win_allocate; MPI-4.1, 12.2.2).
// Processes of one host access each other's memory directly. unit is that of Create; 0 means 1. All
// processes of c call it.
func Allocate(ctx context.Context, c *mpi.Comm, bytes, unit int, hints *info.Info) (*Win, error) {
	return create(ctx, c, recipe{name: "MPI_Win_allocate", flavor: Allocated, bytes: bytes, unit: unit, hints: hints})
}

// AllocateShared is Allocate for processes that can all share memory: those of a communicator of
// SplitType. Each may use the memory of the others, which SharedQuery returns, as its own. If the
// processes cannot share memory, the error has class ErrRMAShared (MPI_Win_allocate_shared; MPI-4.1,
// 12.2.3).
func AllocateShared(ctx context.Context, c *mpi.Comm, bytes, unit int, hints *info.Info) (*Win, error) {
	return create(ctx, c, recipe{name: "MPI_Win_allocate_shared", flavor: Shared, bytes: bytes, unit: unit, hints: hints})
}

// SharedQuery returns the memory of a rank and its displacement unit, in a window that
// AllocateShared made, or Allocate if the rank is on this host. For mpi.ProcNull it is that of the
// lowest rank that has any (MPI_Win_shared_query; MPI-4.1, 12.2.3).
func (w *Win) SharedQuery(rank int) (mem []byte, unit int, err error) {
	err = w.call("MPI_Win_shared_query", rank, func() error {
		if rank == mpi.ProcNull {
			for rank = 0; rank < len(w.peers)-1 && len(w.peers[rank].mem) == 0; {
				rank++
			}
		}
		if err := w.checkRank(rank); err != nil {
			return err
		}
		p := &w.peers[rank]
		switch {
		case w.flavor != Shared && w.flavor != Allocated:
			return errclass.New(errclass.RMAFlavor, "only windows of AllocateShared and Allocate have memory that processes share")
		case p.mem == nil:
			return errclass.New(errclass.RMAShared, "the memory of rank %d cannot be reached from this process: take a communicator of SplitType", rank)
		}
		mem, unit = p.mem, p.unit
		return nil
	})
	return mem, unit, err
}

// Free ends a window, when all operations on it are complete. All processes call it; it returns when
// all have. Epochs of Start, Post and locks must have ended (MPI_Win_free; MPI-4.1, 12.2.5). The
// memory of Allocate and AllocateShared, and what SharedQuery returned, is gone afterwards.
//
// The window is freed in this process even if Free returns an error, but not if the call is not
// allowed (ErrRMASync), or if ctx ends before this process's own operations are complete.
func (w *Win) Free(ctx context.Context) error {
	if err := w.live(); err != nil {
		return w.fail(err)
	}
	w.mu.Lock()
	err := w.epochs.Idle()
	w.mu.Unlock()
	if err == nil {
		err = w.attrs.DeleteAll(w)
	}
	if err != nil {
		return w.fail(err)
	}
	entered := w.enter("MPI_Win_free", mpi.Undefined, 0)
	if err = w.completeAll(ctx); !isContext(err) {
		err = first(within.Barrier(orBackground(ctx), w.comm), err)
		if err == nil && w.region != nil {
			w.region.Discard() // all have ended their operations
		}
		defer w.release()
	}
	err = w.fail(err)
	w.leave(entered, err)
	return err
}

// release frees the resources of a window. No correct process operates on the window any more; others
// get an error.
func (w *Win) release() {
	if w.freed.Swap(true) {
		return
	}
	w.allowed.Store(0)
	w.scope.Serve(nil)
	if w.region != nil {
		// Calls of other goroutines, which the program should have waited for, and messages of processes
		// that died may still use the memory. They have w.
		runtime.AddCleanup(w, (*share.Region).Close, w.region)
	}
	_ = within.Free(w.comm) // it was made by this package, and is freed once
}
