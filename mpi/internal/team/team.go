// Package team connects the processes that have opened a file or a store of checkpoints together. It
// sends messages between them over a communicator of package mpi. Every call takes a context, and
// returns when the context ends.
//
// team.go has collective operations, and message.go messages between two ranks. agree.go makes all
// ranks learn of an error on any of them.
package team

import (
	"context"
	"errors"
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/bridge"
)

// within is the inside of package mpi. The hook sees nothing of the messages of a team.
var within = bridge.Take[mpi.Comm, mpi.Request, mpi.Call]()

// A Team is the processes that have something open together. If a call fails on one rank, because a
// process died or a context ended, the Team is broken: then all calls fail, on all ranks.
type Team struct {
	c    *mpi.Comm
	lent bool   // c is the caller's own
	what string // what is open, for the texts of errors

	mu     sync.Mutex
	broken error // why; guarded by mu
	// left is closed when all ranks have begun the operation that this process has left, and their
	// calls fail; nil if it has left none. Guarded by mu.
	left chan struct{}
}

// New makes the team of all processes of a communicator, which all must call it. what is what they
// open, such as "the file". If ctx ends before the others have called it, they still wait for this
// process.
func New(ctx context.Context, c *mpi.Comm, what string) (*Team, error) {
	dup, r := within.Idup(c)
	_, err := r.Wait(ctx)
	if err == nil {
		return &Team{c: dup, what: what}, nil
	}
	if ctx.Err() != nil {
		within.Go(c, func() { // the duplicate is made when the others have called
			if _, err := r.Wait(context.Background()); err == nil {
				_, _ = dup.Revoke(), dup.Free() // so the others do not wait
			}
		})
	}
	return nil, err
}

// Over makes a team that uses the communicator itself, and revokes it when it breaks. Only its
// collective operations may be used, in the order in which all ranks use those of the communicator.
func Over(c *mpi.Comm, what string) *Team { return &Team{c: c, lent: true, what: what} }

// Rank returns this process's rank.
func (t *Team) Rank() int { return t.c.Rank() }

// Size returns the number of ranks.
func (t *Team) Size() int { return t.c.Size() }

// Comm returns the communicator of the team.
func (t *Team) Comm() *mpi.Comm { return t.c }

// Process returns this process.
func (t *Team) Process() *mpi.Process { return t.c.Process() }

// Group returns the group of the ranks.
func (t *Team) Group() *mpi.Group { return t.c.Group() }

// Close ends the team in this process. If this process has left an operation, Close waits until the
// others have begun it, or ctx ends.
func (t *Team) Close(ctx context.Context) error {
	t.mu.Lock()
	left := t.left
	t.mu.Unlock()
	if left != nil {
		select {
		case <-left:
		case <-ctx.Done():
			_ = t.c.Revoke() // fails only if the process is finalized
			<-left
		}
	}
	if t.lent {
		return nil
	}
	return t.c.Free()
}

// Broken returns why the team is broken, or nil.
func (t *Team) Broken() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}

// Break makes the team broken, in this process at once and in the others soon. err is why. It
// returns the error of the call that found out.
func (t *Team) Break(err error) error {
	err = t.explain(err)
	t.mu.Lock()
	left := t.left
	t.mark(err)
	t.mu.Unlock()
	if left == nil {
		_ = t.c.Revoke() // fails only if the process is finalized; then nobody waits
	}
	return err
}

// mark records why the team is broken. mu must be held.
func (t *Team) mark(err error) {
	switch {
	case t.broken != nil:
	case ctxEnded(err):
		t.broken = errclass.New(errclass.Revoked, "an earlier collective operation on %s was abandoned, because its context ended: close it, and open it again", t.what)
	default:
		t.broken = errclass.Wrap(errclass.Of(err), err, "an earlier collective operation on %s was not completed: close it, and open it again", t.what)
	}
}

// leave ends this process's part in an operation in which all ranks wait for each other. The others
// learn of it when all of them have begun the operation, so that it does not disturb the one before,
// in which they may still be.
func (t *Team) leave(r mpi.Request, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mark(err)
	left := make(chan struct{})
	t.left = left
	go func() {
		defer close(left)
		_, _ = r.Wait(context.Background())
		_ = t.c.Revoke() // fails only if the process is finalized
	}()
	return err
}

// explain gives the reason of an error that only says that the communicator was revoked.
func (t *Team) explain(err error) error {
	if !errors.Is(err, mpi.ErrRevoked) {
		return err
	}
	if failed := t.failed(); len(failed) > 0 {
		return errclass.Wrap(errclass.ProcFailed, err, "rank %d has failed during a collective operation on %s", failed[0], t.what)
	}
	return errclass.Wrap(errclass.Revoked, err, "another rank has abandoned a collective operation on %s, or lost a process", t.what)
}

// failed returns the ranks that this process knows to have failed.
func (t *Team) failed() (ranks []int) {
	failed, err := t.c.Failed()
	if err != nil {
		return nil
	}
	for rank, p := range t.c.Group().All() {
		if failed.Rank(p) != mpi.Undefined {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

func ctxEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// finish waits for a request of a collective operation.
func (t *Team) finish(ctx context.Context, r mpi.Request) (mpi.Status, error) {
	st, err := r.Wait(ctx)
	if err == nil {
		return st, nil
	}
	waited := err
	err = t.Break(err)
	if ctxEnded(waited) {
		_, _ = r.Wait(context.Background()) // it ends now, and gives the memory back
	}
	return st, err
}

// Barrier returns when all ranks have called it.
func (t *Team) Barrier(ctx context.Context) error {
	if err := t.Broken(); err != nil {
		return err
	}
	_, err := t.finish(ctx, t.c.Ibarrier())
	return err
}

// Hosts returns the hosts of all ranks; "" if one is not known.
func (t *Team) Hosts() (hosts []string) {
	for _, p := range t.c.Group().Members() {
		hosts = append(hosts, p.Card().Host)
	}
	return hosts
}

// Gather returns the numbers of all ranks, those of rank 0 first. All give the same count.
func (t *Team) Gather(ctx context.Context, mine []int64) ([]int64, error) {
	if err := t.Broken(); err != nil {
		return nil, err
	}
	all := make([]int64, len(mine)*t.Size())
	r := t.c.Iallgather(mpi.Slice(mine), mpi.Slice(all))
	_, err := r.Wait(ctx)
	switch {
	case err == nil:
		return all, nil
	case ctxEnded(err):
		return nil, t.leave(r, err)
	}
	return nil, t.Break(err)
}

// Bcast sends the root's bytes to all ranks, which know their number.
func (t *Team) Bcast(ctx context.Context, b []byte, root int) error {
	if err := t.Broken(); err != nil {
		return err
	}
	_, err := t.finish(ctx, t.c.Ibcast(mpi.Slice(b), root))
	return err
}

// Combine combines the numbers of all ranks in place.
func (t *Team) Combine(ctx context.Context, b mpi.Buffer, op *mpi.Op) error {
	if err := t.Broken(); err != nil {
		return err
	}
	_, err := t.finish(ctx, t.c.Iallreduce(mpi.InPlace, b, op))
	return err
}
