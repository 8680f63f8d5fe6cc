package rma

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/epoch"
)

// Flush waits until all operations of this process at rank are complete, there, too. It returns the
// first error of one (MPI_Win_flush; MPI-4.1, 12.5.4). If ctx ends first, the operations go on.
func (w *Win) Flush(ctx context.Context, rank int) error {
	return w.flush(ctx, "MPI_Win_flush", rank, everywhere)
}

// FlushLocal waits until the memory of all operations of this process at rank is free again: results
// have come, and other memory may be changed. The operations may not be complete at the target
// (MPI_Win_flush_local; MPI-4.1, 12.5.4). It returns the first error that is known by then.
func (w *Win) FlushLocal(ctx context.Context, rank int) error {
	return w.flush(ctx, "MPI_Win_flush_local", rank, locally)
}

// FlushAll is Flush for all ranks (MPI_Win_flush_all; MPI-4.1, 12.5.4).
func (w *Win) FlushAll(ctx context.Context) error {
	return w.flushAll(ctx, "MPI_Win_flush_all", everywhere)
}

// FlushLocalAll is FlushLocal for all ranks (MPI_Win_flush_local_all; MPI-4.1, 12.5.4).
func (w *Win) FlushLocalAll(ctx context.Context) error {
	return w.flushAll(ctx, "MPI_Win_flush_local_all", locally)
}

// Sync makes stores of this process visible to operations of others, and theirs to its loads, as
// far as they happened before (MPI_Win_sync; MPI-4.1, 12.5.4).
func (w *Win) Sync() error {
	return w.call("MPI_Win_sync", mpi.Undefined, func() error {
		w.fence.Add(1)      // an atomic operation orders all loads and stores around it
		w.engine.Progress() // the engine's lock orders the operations that this process has executed for others
		return nil
	})
}

// flush is Flush and FlushLocal.
func (w *Win) flush(ctx context.Context, name string, rank int, where completion) error {
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
		w.fence.Add(1)
		err = w.await(ctx, rank, where)
	}
	err = w.fail(err)
	w.leave(entered, err)
	return err
}

// flushAll is FlushAll and FlushLocalAll.
func (w *Win) flushAll(ctx context.Context, name string, where completion) error {
	return w.call(name, mpi.Undefined, func() error {
		w.mu.Lock()
		err := w.epochs.MayFlush(epoch.AllRanks)
		w.mu.Unlock()
		if err != nil {
			return err
		}
		return w.awaitAll(ctx, where)
	})
}

// A completion is where operations are complete.
type completion bool

const (
	locally    completion = true // the memory of the origin is free
	everywhere completion = false
)

// open returns how many operations at a rank are not complete.
func (p *peer) open(where completion) int32 {
	if where == locally {
		return p.using.Load()
	}
	return p.pending.Load()
}

// complete waits until the operations at a rank are complete, and returns their first error.
func (w *Win) complete(ctx context.Context, rank int) error {
	w.fence.Add(1)
	return w.await(ctx, rank, everywhere)
}

// await waits until the operations at a rank are complete, and returns their first error.
func (w *Win) await(ctx context.Context, rank int, where completion) error {
	p := &w.peers[rank]
	if p.open(where) != 0 {
		if err := w.engine.Until(orBackground(ctx), func() bool { return p.open(where) == 0 }); err != nil {
			return err
		}
	}
	return w.noted(rank)
}

// completeAll is complete for all ranks.
func (w *Win) completeAll(ctx context.Context) error { return w.awaitAll(ctx, everywhere) }

// awaitAll is await for all ranks.
func (w *Win) awaitAll(ctx context.Context, where completion) (err error) {
	w.fence.Add(1)
	for rank := range w.peers {
		if rerr := w.await(ctx, rank, where); rerr != nil && err == nil {
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
