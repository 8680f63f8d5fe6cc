package checkpoint

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The flags that a process gives to the agreement at the end of a try.
const (
	flagDone  uint64 = 1 << iota // it has no error
	flagOn                       // it has none, or one because a process was lost
	flagWhole                    // it knows of no process that has failed
)

// Survive runs fn on all processes of a communicator, and again on those that are left if some fail.
// fn opens a Store with the communicator that it gets, restores the newest checkpoint, and goes on from
// there. Before it returns an error, it revokes the communicators that it has made itself, so that no
// other process waits for this one.
//
// Survive returns nil when fn has returned nil on all processes of a communicator, and none of them
// has failed until then. So fn may run again although it has returned nil. If it returns an error on
// some process, other than one of class ErrProcFailed or ErrRevoked, Survive ends on all, there with
// this error.
func Survive(ctx context.Context, c *mpi.Comm, fn func(ctx context.Context, c *mpi.Comm) error) error {
	given := c
	for {
		again, err := try(ctx, c, fn)
		next := c
		if again {
			next, err = c.Shrink(context.WithoutCancel(ctx))
		}
		if c != given {
			_ = c.Free() // the communicator is not used any more
		}
		if !again || err != nil {
			return err
		}
		c = next
	}
}

// try runs fn once. All processes that are left get the same answer whether to run it again.
func try(ctx context.Context, c *mpi.Comm, fn func(ctx context.Context, c *mpi.Comm) error) (again bool, err error) {
	err = fn(ctx, c)
	flags := flagDone | flagOn
	if err != nil {
		flags = 0
		if lost(err) {
			flags = flagOn
		}
		_ = c.Revoke() // so that no process waits for this one; it fails only if the process is finalized
	}
	if failed, ferr := c.Failed(); ferr == nil && failed.Size() == 0 {
		flags |= flagWhole
	}
	// From here on, the others wait for this process, so ctx must not end the call.
	all, aerr := c.Agree(context.WithoutCancel(ctx), flags)
	died := errors.Is(aerr, mpi.ErrProcFailed)
	switch {
	case aerr != nil && !died:
		return false, aerr
	case all&flagOn != 0 && (died || all&flagWhole == 0):
		return true, nil
	case err == nil && all&flagDone == 0:
		return false, errclass.New(errclass.Other, "another process cannot go on: its own error says why")
	}
	return false, err
}
