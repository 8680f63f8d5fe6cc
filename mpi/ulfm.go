package mpi

import (
	"context"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Calls for programs that continue after processes fail, in the terms of User-Level Failure
// Mitigation (ULFM), a proposal to the MPI Forum. Operations with a failed process end with
// ErrProcFailed; those with other processes go on. If a collective operation ends with
// ErrProcFailed in one process, it does so in every process of the communicator that is in one or
// begins one: none waits for ever. In some processes the operation may have ended well before. A
// process that finds out about a failure revokes the communicator, which ends every operation on it
// with ErrRevoked. Then the remaining processes shrink it, and go on.

// Revoke makes the communicator unusable in all processes: operations on it, except Agree and
// Shrink, end with ErrRevoked here, and soon in all other processes (MPIX_Comm_revoke). One or more
// processes call it.
func (c *Comm) Revoke() (err error) {
	defer c.call("MPIX_Comm_revoke", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	c.revoke()
	return nil
}

func (c *Comm) revoke() {
	c.p2p.Revoke()
	c.coll.Revoke() // and so the local group of an inter-communicator
}

// Revoked tells whether this process knows that the communicator was revoked
// (MPIX_Comm_is_revoked).
func (c *Comm) Revoked() bool { return c != nil && (c.p2p.Revoked() || c.coll.Revoked()) }

// Failed returns the processes of the communicator that this process knows to have failed, for an
// inter-communicator those of the remote group (MPIX_Comm_get_failed).
func (c *Comm) Failed() (failed *Group, err error) {
	defer c.call("MPIX_Comm_get_failed", &err)()
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	var ranks []int
	for rank, p := range c.addressed().All() {
		if p.Err() != nil {
			ranks = append(ranks, rank)
		}
	}
	return c.addressed().Incl(ranks)
}

// addressed returns the group of the ranks that messages go to.
func (c *Comm) addressed() *Group {
	if c.IsInter() {
		return c.remote
	}
	return c.group
}

// AckFailed acknowledges all failures that this process knows of (MPIX_Comm_failure_ack). Receives
// from AnySource, which ended with ErrProcFailedPending, can be posted again, and Agree does not
// report these failures.
func (c *Comm) AckFailed() (err error) {
	defer c.call("MPIX_Comm_failure_ack", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	acked := c.p2p.Acknowledge()
	_ = c.coll.Acknowledge()
	c.parts.acknowledge(acked)
	return nil
}

// Acked returns the processes whose failure AckFailed acknowledged (MPIX_Comm_failure_get_acked).
func (c *Comm) Acked() (acked *Group, err error) {
	defer c.call("MPIX_Comm_failure_get_acked", &err)()
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	var ranks []int
	for _, p := range c.parts.acked {
		ranks = append(ranks, c.addressed().Rank(p))
	}
	return c.addressed().Incl(ranks)
}

// Agree combines the flags of all processes with bitwise AND (MPIX_Comm_agree). It works although
// processes fail meanwhile or the communicator is revoked: all remaining processes get the same
// result. All of them or none return an error of class ErrProcFailed, which says that a process
// failed and not every process had acknowledged that. The result is valid in any case. All
// processes of c must call it, and only one goroutine of each at a time. If ctx has ended before,
// Agree returns its error; once Agree has begun, ctx does not end it, because the others count on
// this process.
func (c *Comm) Agree(ctx context.Context, flag uint64) (result uint64, err error) {
	defer c.call("MPIX_Comm_agree", &err)()
	s, err := c.recovery(ctx)
	if err != nil {
		return 0, err
	}
	mine := newBallot(c.Size(), 8)
	mine.setFlag(flag)
	c.parts.mu.Lock()
	for _, p := range c.parts.acked {
		mine.acked().add(c.group.Rank(p))
	}
	c.parts.mu.Unlock()
	decided, err := s.decide(mine)
	if err != nil {
		return 0, err
	}
	for rank := range c.Size() {
		if decided.failed().has(rank) && !decided.acked().has(rank) {
			return decided.flag(), errclass.New(errclass.ProcFailed, "rank %d has failed, and not every process has acknowledged that: call AckFailed, or Shrink", rank)
		}
	}
	return decided.flag(), nil
}

// Shrink makes a communicator of the processes of c that have not failed, in the same order
// (MPIX_Comm_shrink). It works although c is revoked or more processes fail meanwhile. All
// remaining processes must call it. ctx has the effect that it has in Agree.
func (c *Comm) Shrink(ctx context.Context) (shrunk *Comm, err error) {
	defer c.call("MPIX_Comm_shrink", &err)()
	s, err := c.recovery(ctx)
	if err != nil {
		return nil, err
	}
	var last ballot
	ids, err := c.p.taken.agree(agreementKey{parent: c.ctx, tag: tagFailure | s.number}, 1, func(mask []byte) error {
		mine := newBallot(c.Size(), len(mask))
		copy(mine.value(), mask)
		decided, err := s.decide(mine)
		if err != nil {
			return err
		}
		copy(mask, decided.value())
		last = decided
		return nil
	})
	if err != nil {
		return nil, err
	}
	var failed []int
	for rank := range c.Size() {
		if last.failed().has(rank) {
			failed = append(failed, rank)
		}
	}
	left, err := c.group.Excl(failed)
	if err != nil {
		return nil, err
	}
	if shrunk, err = c.p.openAlone(new(Comm), ids, left, nil, c); err != nil {
		return nil, err
	}
	// As in open, all processes must have it before one uses it, even if more fail.
	if _, err = s.decide(newBallot(c.Size(), 0)); err != nil {
		_ = shrunk.free()
		return nil, err
	}
	return shrunk, nil
}

// recoveriesMax is how many recoveries of a communicator have different tags.
const recoveriesMax = 1 << 12

// recovery returns the next recovery of the communicator. It uses a tag that no other communicator
// has, in a scope of the world that is never revoked.
func (c *Comm) recovery(ctx context.Context) (*consensus, error) {
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	if err := orBackground(ctx).Err(); err != nil {
		return nil, err
	}
	if c.IsInter() {
		return nil, errclass.New(errclass.UnsupportedOperation, "an inter-communicator does not survive failures: merge it while all is well")
	}
	w := c.p.world
	ranks := make([]int, c.Size())
	for i, p := range c.group.All() {
		if ranks[i] = w.group.Rank(p); ranks[i] == Undefined {
			return nil, errclass.New(errclass.UnsupportedOperation, "the process with rank %d is not of this job: only communicators of processes that were started together survive failures", i)
		}
	}
	scope, err := c.p.recoveryScope()
	if err != nil {
		return nil, err
	}
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	number := c.parts.recoveries % recoveriesMax
	c.parts.recoveries++
	return &consensus{scope: scope, ranks: ranks, me: c.rank, group: c.group, number: number, tag: int(c.ctx/2)*recoveriesMax + number}, nil
}

// recoveryScope opens the scope of all recoveries of a process, in its world. Earlier messages of
// other processes were kept for it.
func (p *Process) recoveryScope() (*core.Scope, error) {
	w := p.world
	w.parts.mu.Lock()
	defer w.parts.mu.Unlock()
	if w.parts.recovery == nil {
		s, err := p.engine.OpenScope(core.Recovery, w.rank, w.group.Members())
		if err != nil {
			return nil, err
		}
		w.parts.recovery = s
	}
	return w.parts.recovery, nil
}
