package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// What a program can do when processes have failed, in the terms of User-Level Failure
// Mitigation (ULFM), which the MPI Forum has before it. Operations with a process that failed
// end with ErrProcFailed, those of others go on. When a collective operation ends so in one
// process, those of the same communicator do in all that are in one, or begin one: none waits
// for ever. In some it may have ended well before. Who finds out that a process has failed revokes
// the communicator, which ends every operation on it with ErrRevoked; then all that are left
// shrink it, and go on.

// Revoke makes the communicator of no use to anybody: operations on it end with ErrRevoked
// here, and soon in all other processes, except Agree and Shrink (MPIX_Comm_revoke). One
// process calls it, or several.
func (c *Comm) Revoke() (err error) {
	defer c.call("MPIX_Comm_revoke", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	c.p2p.Revoke()
	c.coll.Revoke() // and the local group of an inter-communicator with it
	return nil
}

// Revoked tells whether the news that somebody revoked the communicator has come here
// (MPIX_Comm_is_revoked).
func (c *Comm) Revoked() bool { return c != nil && (c.p2p.Revoked() || c.coll.Revoked()) }

// Failed are the processes of the communicator that are known here to have failed
// (MPIX_Comm_get_failed), of an inter-communicator those of the remote group.
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

// addressed is the group of the ranks that messages go to.
func (c *Comm) addressed() *Group {
	if c.IsInter() {
		return c.remote
	}
	return c.group
}

// AckFailed acknowledges that the processes which are known to have failed did
// (MPIX_Comm_failure_ack): receives from AnySource, which ended with ErrProcFailedPending, can
// be posted again, and Agree takes these failures for granted.
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

// Acked are the processes whose failure AckFailed acknowledged (MPIX_Comm_failure_get_acked).
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

// Agree combines everybody's flag with bitwise and, although processes may fail meanwhile or
// the communicator be revoked: all that are left get the same result (MPIX_Comm_agree). The
// error, of class ErrProcFailed, is in all of them or in none: a process has failed that not
// everybody had acknowledged. The result counts all the same. All processes of c call it, and
// no two goroutines of one at once.
func (c *Comm) Agree(flag uint64) (result uint64, err error) {
	defer c.call("MPIX_Comm_agree", &err)()
	s, err := c.recovery()
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
			return decided.flag(), errclass.New(errclass.ProcFailed, "rank %d has failed, and not everybody has acknowledged that: call AckFailed, or Shrink", rank)
		}
	}
	return decided.flag(), nil
}

// Shrink makes a communicator of the processes of c that have not failed, in the same order
// (MPIX_Comm_shrink). It works although c is revoked, and although more processes fail
// meanwhile. All that are left call it.
func (c *Comm) Shrink() (shrunk *Comm, err error) {
	defer c.call("MPIX_Comm_shrink", &err)()
	s, err := c.recovery()
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
	if shrunk, err = c.p.openAlone(ids, left, nil, c); err != nil {
		return nil, err
	}
	// All are to have it before anybody uses it, as in open, but although more fail.
	if _, err = s.decide(newBallot(c.Size(), 0)); err != nil {
		_ = shrunk.free()
		return nil, err
	}
	return shrunk, nil
}

// recoveryContext is that of the messages of Agree and Shrink, which no revocation touches.
const recoveryContext = farewellContext + 1

// recoveriesMax is how many agreements of a communicator have different tags.
const recoveriesMax = 1 << 12

// recovery is the next agreement of the communicator: its ranks, and a tag that no other
// communicator has, in a scope of the world that is never revoked.
func (c *Comm) recovery() (*consensus, error) {
	if err := c.checkLive(); err != nil {
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

// recoveryScope opens the scope of all recoveries of a process, in its world. What others sent
// before was kept for it.
func (p *Process) recoveryScope() (*core.Scope, error) {
	w := p.world
	w.parts.mu.Lock()
	defer w.parts.mu.Unlock()
	if w.parts.recovery == nil {
		s, err := p.engine.OpenScope(recoveryContext, w.rank, w.group.Members())
		if err != nil {
			return nil, err
		}
		w.parts.recovery = s
	}
	return w.parts.recovery, nil
}
