package rma

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/epoch"
)

// Flush waits until all operations of this process at rank are complete, there, too. It returns the
// first error of one (MPI_Win_flush; MPI-4.1, 12.5.4). If ctx ends first, the operations go on.
func (w *Win) Flush(ctx context.Context, rank int) error {
	return w.flush(ctx, "MPI_Win_flush", rank)
}

// FlushLocal waits until the memory of all operations of this process at rank is free again
// (MPI_Win_flush_local; MPI-4.1, 12.5.4). Here that is so when they are complete.
func (w *Win) FlushLocal(ctx context.Context, rank int) error {
	return w.flush(ctx, "MPI_Win_flush_local", rank)
}

// FlushAll is Flush for all ranks (MPI_Win_flush_all; MPI-4.1, 12.5.4).
func (w *Win) FlushAll(ctx context.Context) error {
	return w.flushAll(ctx, "MPI_Win_flush_all")
}

// FlushLocalAll is FlushLocal for all ranks (MPI_Win_flush_local_all; MPI-4.1, 12.5.4).
func (w *Win) FlushLocalAll(ctx context.Context) error {
	return w.flushAll(ctx, "MPI_Win_flush_local_all")
}

// Sync makes stores of this process visible to operations of others, and theirs to its loads, as
// far as they happened before (MPI_Win_sync; MPI-4.1, 12.5.4).
func (w *Win) Sync() error {
	return w.call("MPI_Win_sync", mpi.Undefined, func() error {
		w.fence.Add(1)      // an atomic operation orders all loads and stores around it
		w.engine.Progress() // and the engine's lock, those of operations that this process has executed for others
		return nil
	})
}

// flush is Flush and FlushLocal.
func (w *Win) flush(ctx context.Context, name string, rank int) error {
	if w.quickFlush(name, rank) {
		return nil
	}
	if err := w.live(); err != nil {
		return w.fail(err)
	}
	entered := w.enter(name, rank, 0)
	err := w.checkRank(rank)
	if err == nil {
		w.mu.Lock()
		err = w.epochs.MayFlush(rank)
		w.mu.Unlock()
	}
	if err == nil {
		err = w.complete(ctx, rank)
	}
	err = w.fail(err)
	w.leave(entered, err)
	return err
}

// flushAll is FlushAll and FlushLocalAll.
func (w *Win) flushAll(ctx context.Context, name string) error {
	return w.call(name, mpi.Undefined, func() error {
		w.mu.Lock()
		err := w.epochs.MayFlush(epoch.AllRanks)
		w.mu.Unlock()
		if err != nil {
			return err
		}
		return w.completeAll(ctx)
	})
}

// complete waits until the operations at a rank are complete, and returns their first error.
func (w *Win) complete(ctx context.Context, rank int) error {
	w.fence.Add(1)
	return w.await(ctx, rank)
}

// await waits until nothing is pending at a rank, and returns the first error of its operations.
func (w *Win) await(ctx context.Context, rank int) error {
	p := &w.peers[rank]
	if p.pending.Load() != 0 {
		if err := w.engine.Until(orBackground(ctx), func() bool { return p.pending.Load() == 0 }); err != nil {
			return err
		}
	}
	return w.noted(rank)
}

// completeAll is complete for all ranks.
func (w *Win) completeAll(ctx context.Context) (err error) {
	w.fence.Add(1)
	for rank := range w.peers {
		if rerr := w.await(ctx, rank); rerr != nil && err == nil {
			if err = rerr; isContext(err) {
				return err
			}
		}
	}
	if w.failed.Load() != nil {
		err = first(err, *w.failed.Swap(nil))
	}
	return err
}

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return background
	}
	return ctx
}
