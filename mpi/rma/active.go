package rma

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Active-target synchronisation (MPI-4.1, 12.5.1 and 12.5.2). A fence is a barrier of the window.
// Post and Complete tell the other side by messages without data, and Start and Wait receive them:
// so the engine's failure detector and its order of messages serve them, too.

// Fence completes all operations of the window's processes, and begins an epoch in which each may
// access all parts, and loads and stores in its own must wait. All processes call it; it returns
// when all have (MPI_Win_fence; MPI-4.1, 12.5.1). Assertions: NoStore, NoPut, NoPrecede, NoSucceed.
// If ctx ends while others are awaited, the window can only be freed, because they cannot agree any
// more on which fence they are in.
func (w *Win) Fence(ctx context.Context, a ...Assert) error {
	return w.call("MPI_Win_fence", mpi.Undefined, func() error {
		set, err := assertsOf(a, NoStore, NoPut, NoPrecede, NoSucceed)
		if err != nil {
			return err
		}
		w.mu.Lock()
		err = w.epochs.MayFence()
		w.mu.Unlock()
		if err != nil {
			return err
		}
		err = w.completeAll(ctx)
		if isContext(err) {
			return err
		}
		if berr := within.Barrier(orBackground(ctx), w.comm); berr != nil {
			return berr // the more serious one
		}
		w.mu.Lock()
		w.epochs.Fence(set.has(NoSucceed))
		w.permit()
		w.mu.Unlock()
		return err
	})
}

// Start begins an epoch in which this process accesses the parts of a group's processes. It waits
// until each of them has called Post (MPI_Win_start; MPI-4.1, 12.5.2). Assertion: NoCheck, which
// changes nothing. If ctx ends first, Start may be called again.
func (w *Win) Start(ctx context.Context, g *mpi.Group, a ...Assert) error {
	return w.call("MPI_Win_start", mpi.Undefined, func() error {
		ranks, err := w.ranksOf(g)
		if err == nil {
			_, err = assertsOf(a, NoCheck)
		}
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.heed()
		err = w.epochs.MayStart()
		w.mu.Unlock()
		if err != nil {
			return err
		}
		for _, rank := range ranks {
			if err := w.awaitPost(orBackground(ctx), rank); err != nil {
				return err
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, rank := range ranks {
			delete(w.posts, rank)
		}
		w.epochs.Start(ranks)
		w.permit()
		return nil
	})
}

// awaitPost waits for a rank's Post. If ctx ends first, the receive stays, for the next Start.
func (w *Win) awaitPost(ctx context.Context, rank int) error {
	w.mu.Lock()
	r, ok := w.posts[rank]
	if !ok {
		var err error
		if r, err = w.scope.Irecv(core.Buffer{}, rank, tagPost); err != nil {
			w.mu.Unlock()
			return err
		}
		if w.posts == nil {
			w.posts = make(map[int]core.Request)
		}
		w.posts[rank] = r
	}
	w.mu.Unlock()
	_, err := r.Wait(ctx)
	if err != nil && !isContext(err) {
		w.mu.Lock()
		delete(w.posts, rank)
		w.mu.Unlock()
	}
	return err
}

// Complete ends the epoch of Start. The operations of this process are complete when it returns
// (MPI_Win_complete; MPI-4.1, 12.5.2). If ctx ends first, Complete may be called again.
func (w *Win) Complete(ctx context.Context) error {
	return w.call("MPI_Win_complete", mpi.Undefined, func() error {
		w.mu.Lock()
		ranks, err := w.epochs.Started()
		w.mu.Unlock()
		if err != nil {
			return err
		}
		err = w.completeAll(ctx)
		if isContext(err) {
			return err
		}
		w.mu.Lock()
		w.epochs.Complete()
		w.permit()
		w.mu.Unlock()
		return first(w.tellAll(ranks, tagComplete), err)
	})
}

// Post begins an epoch in which the processes of a group may access this process's part. It does not
// wait (MPI_Win_post; MPI-4.1, 12.5.2). Assertions: NoCheck, NoStore, NoPut.
func (w *Win) Post(g *mpi.Group, a ...Assert) error {
	return w.call("MPI_Win_post", mpi.Undefined, func() error {
		ranks, err := w.ranksOf(g)
		if err == nil {
			_, err = assertsOf(a, NoCheck, NoStore, NoPut)
		}
		if err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := w.epochs.Post(ranks); err != nil {
			return err
		}
		w.exposure = w.exposure[:0]
		for _, rank := range ranks {
			r, err := w.scope.Irecv(core.Buffer{}, rank, tagComplete)
			if err != nil {
				return err
			}
			w.exposure = append(w.exposure, r)
		}
		return w.tellAll(ranks, tagPost)
	})
}

// tellAll sends a message without data to some ranks.
func (w *Win) tellAll(ranks []int, tag int) (err error) {
	for _, rank := range ranks {
		if serr := w.scope.Send(core.Buffered, core.Buffer{}, rank, tag); serr != nil && err == nil {
			err = serr
		}
	}
	return err
}

// Wait ends the epoch of Post, when each process of its group has called Complete (MPI_Win_wait;
// MPI-4.1, 12.5.2). If ctx ends first, the epoch goes on.
func (w *Win) Wait(ctx context.Context) error {
	return w.call("MPI_Win_wait", mpi.Undefined, func() error {
		w.mu.Lock()
		_, err := w.epochs.Posted()
		waited := w.exposure
		w.mu.Unlock()
		if err != nil {
			return err
		}
		for _, r := range waited {
			_, rerr := r.Wait(orBackground(ctx))
			if isContext(rerr) {
				return rerr
			}
			if rerr != nil && err == nil {
				err = rerr
			}
		}
		w.endExposure()
		return err
	})
}

// Test is Wait without waiting: it tells whether the epoch has ended (MPI_Win_test; MPI-4.1,
// 12.5.2).
func (w *Win) Test() (done bool, err error) {
	err = w.call("MPI_Win_test", mpi.Undefined, func() error {
		w.mu.Lock()
		_, err := w.epochs.Posted()
		waited := w.exposure
		w.mu.Unlock()
		if err != nil {
			return err
		}
		for _, r := range waited {
			if _, ended, _ := r.Peek(); !ended {
				yield()
				return nil
			}
		}
		done = true
		for _, r := range waited {
			if _, rerr := r.Wait(background); rerr != nil && err == nil {
				err = rerr
			}
		}
		w.endExposure()
		return err
	})
	return done, err
}

func (w *Win) endExposure() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epochs.Wait()
}

// ranksOf returns the ranks of a group's processes in the window.
func (w *Win) ranksOf(g *mpi.Group) ([]int, error) {
	if g == nil {
		return nil, errclass.New(errclass.Group, "the group is nil: take one of Win.Group, or EmptyGroup")
	}
	all := w.comm.Group()
	ranks := make([]int, 0, g.Size())
	for _, p := range g.Members() {
		rank := all.Rank(p)
		if rank < 0 {
			return nil, errclass.New(errclass.Group, "a process of the group is not in the window")
		}
		ranks = append(ranks, rank)
	}
	return ranks, nil
}
