package rma

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/spin"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/epoch"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// A LockType says which others may lock a rank at the same time (MPI-4.1, 12.5.3).
type LockType uint8

// Types of locks.
const (
	LockShared    LockType = iota + 1 // others with a shared lock
	LockExclusive                     // no other rank
)

// Lock begins an epoch in which this process accesses the part of a rank, which takes no part in
// that. It waits until no conflicting lock is held (MPI_Win_lock; MPI-4.1, 12.5.3). Assertion:
// NoCheck. If ctx ends first, the rank is not locked. If a process has died that held the lock, the
// error has class ErrProcFailed.
func (w *Win) Lock(ctx context.Context, how LockType, rank int, a ...Assert) error {
	return w.call("MPI_Win_lock", rank, func() error {
		set, err := w.mayLock(a)
		if err != nil {
			return err
		}
		if how != LockShared && how != LockExclusive {
			return errclass.New(errclass.Locktype, "the type of the lock is %d: give LockShared or LockExclusive", how)
		}
		if err := w.checkRank(rank); err != nil {
			return err
		}
		w.mu.Lock()
		w.heed()
		err = w.epochs.MayLock(rank)
		w.mu.Unlock()
		if err != nil {
			return err
		}
		hold := epoch.Shared
		switch {
		case set.has(NoCheck):
			hold = epoch.Unchecked
		case how == LockExclusive:
			hold = epoch.Exclusive
		}
		if err := w.take(orBackground(ctx), rank, hold); err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.epochs.Lock(rank, hold)
		w.permit()
		return nil
	})
}

// mayLock returns the assertions of a lock, if the window allows locks.
func (w *Win) mayLock(a []Assert) (asserts, error) {
	if w.hints.noLocks {
		return 0, errclass.New(errclass.RMASync, "the window was made with no_locks, the promise that nothing is locked")
	}
	return assertsOf(a, NoCheck)
}

// Unlock ends the epoch of Lock. The operations of this process at the rank are complete when it
// returns (MPI_Win_unlock; MPI-4.1, 12.5.3). If ctx ends before they are, the lock stays, and Unlock
// may be called again.
func (w *Win) Unlock(ctx context.Context, rank int) error {
	return w.call("MPI_Win_unlock", rank, func() error {
		if err := w.checkRank(rank); err != nil {
			return err
		}
		w.mu.Lock()
		hold, err := w.epochs.Locked(rank)
		w.mu.Unlock()
		if err != nil {
			return err
		}
		if err = w.complete(ctx, rank); isContext(err) {
			return err
		}
		w.mu.Lock()
		w.epochs.Unlock(rank)
		w.permit()
		w.mu.Unlock()
		return first(w.giveBack(rank, hold), err)
	})
}

// LockAll begins an epoch in which this process accesses the parts of all ranks, with shared locks
// (MPI_Win_lock_all; MPI-4.1, 12.5.3). Assertion: NoCheck. If ctx ends first, nothing is locked.
func (w *Win) LockAll(ctx context.Context, a ...Assert) error {
	return w.call("MPI_Win_lock_all", mpi.Undefined, func() error {
		set, err := w.mayLock(a)
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.heed()
		err = w.epochs.MayLockAll()
		w.mu.Unlock()
		if err != nil {
			return err
		}
		hold := epoch.Shared
		if set.has(NoCheck) {
			hold = epoch.Unchecked
		}
		for rank := range w.peers {
			if err := w.take(orBackground(ctx), rank, hold); err != nil {
				for taken := range rank {
					_ = w.giveBack(taken, hold) // the first error says why
				}
				return err
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.epochs.LockAll(hold)
		w.permit()
		return nil
	})
}

// UnlockAll ends the epoch of LockAll. The operations of this process are complete when it returns
// (MPI_Win_unlock_all; MPI-4.1, 12.5.3). If ctx ends before they are, the locks stay, and UnlockAll
// may be called again.
func (w *Win) UnlockAll(ctx context.Context) error {
	return w.call("MPI_Win_unlock_all", mpi.Undefined, func() error {
		w.mu.Lock()
		hold, err := w.epochs.LockedAll()
		w.mu.Unlock()
		if err != nil {
			return err
		}
		if err = w.completeAll(ctx); isContext(err) {
			return err
		}
		w.mu.Lock()
		w.epochs.UnlockAll()
		w.permit()
		w.mu.Unlock()
		for rank := range w.peers {
			if gerr := w.giveBack(rank, hold); gerr != nil && err == nil {
				err = gerr
			}
		}
		return err
	})
}

// take takes the lock of a rank, where it is kept.
func (w *Win) take(ctx context.Context, rank int, hold epoch.Hold) error {
	switch {
	case hold == epoch.Unchecked:
		return nil
	case w.locks != nil:
		return w.takeShared(ctx, rank, hold == epoch.Exclusive)
	}
	if err := w.awaitLeaving(ctx, rank); err != nil {
		return err
	}
	r, err := w.scope.Call(rank, true, 0, &lockCall{kind: wire.Lock, exclusive: hold == epoch.Exclusive})
	if err != nil {
		return err
	}
	if _, err = r.Wait(ctx); isContext(err) {
		w.abandon(rank, r)
	}
	return err
}

// nobodyMax is how often in a row a lock may be found held without a holder. This happens once or
// twice while the lock passes from one process to another.
const nobodyMax = 100

// holders tells whether the lock of a rank has a holder, or returns an error if one has died or does
// not exist.
func (w *Win) holders(rank int) (held bool, err error) {
	if err := w.died(w.locks.Owner(rank)); err != nil {
		return true, err
	}
	for holder := range w.peers {
		if holder == w.me || !w.locks.Holder(rank, holder) {
			continue
		}
		held = true
		if err := w.died(holder); err != nil {
			return true, err
		}
	}
	return held, nil
}

// lockSpins is how often a process looks at a lock before it sleeps.
const lockSpins = 200

// takeShared takes a lock in the shared region.
func (w *Win) takeShared(ctx context.Context, rank int, exclusive bool) error {
	nobody := 0
	for i := 0; !w.locks.Try(rank, exclusive); i++ {
		if i < lockSpins {
			spin.Relax()
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		held, err := w.holders(rank)
		if err != nil {
			return err
		}
		if nobody++; held {
			nobody = 0
		}
		if nobody == nobodyMax {
			return errclass.New(errclass.RMASync, "the lock of rank %d is held by nobody: a process has overwritten it", rank)
		}
		w.engine.Progress() // else the death of a process would not be detected
		w.locks.Sleep(rank)
	}
	return nil
}

// giveBack gives the lock of a rank back.
func (w *Win) giveBack(rank int, hold epoch.Hold) error {
	switch {
	case hold == epoch.Unchecked:
		return nil
	case w.locks != nil:
		return w.locks.Unlock(rank, hold == epoch.Exclusive)
	}
	r, err := w.scope.Call(rank, false, 0, &lockCall{kind: wire.Unlock})
	if err == nil {
		_, err = r.Wait(background)
	}
	return err
}

// abandon gives up a lock that was requested. A goroutine gives the lock back as soon as it is
// granted.
func (w *Win) abandon(rank int, r core.Request) {
	left := make(chan struct{})
	w.mu.Lock()
	if w.leaving == nil {
		w.leaving = make(map[int]chan struct{})
	}
	w.leaving[rank] = left
	w.mu.Unlock()
	go func() {
		defer close(left)
		if _, err := r.Wait(background); err == nil {
			_ = w.giveBack(rank, epoch.Shared) // the type does not matter; no caller is left to get an error
		}
	}()
}

// awaitLeaving waits until an abandoned lock of a rank is given back: a process has only one.
func (w *Win) awaitLeaving(ctx context.Context, rank int) error {
	w.mu.Lock()
	left := w.leaving[rank]
	w.mu.Unlock()
	if left == nil {
		return nil
	}
	select {
	case <-left:
	case <-ctx.Done():
		return ctx.Err()
	}
	w.mu.Lock()
	delete(w.leaving, rank)
	w.mu.Unlock()
	return nil
}

// A lockCall is the call of a lock or unlock. It implements core.Caller.
type lockCall struct {
	kind      wire.Kind
	exclusive bool
}

// Next implements core.Caller.
func (l *lockCall) Next(b []byte, _ int) ([]byte, bool) {
	h := wire.Head{Kind: l.kind}
	if l.exclusive {
		h.Op = 1
	}
	return h.Append(b), true
}

// Returned implements core.Caller.
func (l *lockCall) Returned(_ int, body []byte) (err error, breach bool) {
	_, err, breach = answered(body)
	return err, breach
}

// Ended implements core.Caller.
func (l *lockCall) Ended(error) {}
