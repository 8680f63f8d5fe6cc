package mpi

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// commParts is the state of a communicator except for point-to-point messages.
type commParts struct {
	// next is the number of the next collective operation.
	next atomic.Uint32
	// psends are the numbers of the PsendInits that have not been freed, and psendNext is the next to
	// try; both are guarded by mu.
	psends    map[int]bool
	psendNext int
	// idle is the view of the last collective operation. The next operation uses it again, so that
	// small ones allocate nothing.
	idle atomic.Pointer[view]
	// local is the local group of an inter-communicator, as an intra-communicator.
	local *Comm
	// topology is nil if there is none. It is set before another goroutine can use the
	// communicator.
	topology topo.Topology
	// machine describes the hosts to collective operations.
	machine commMachine
	// attrs are the attributes, info the hints.
	attrs attr.List[*Comm]
	info  atomic.Pointer[Info]

	mu sync.Mutex
	// acked lists the processes whose failure was acknowledged; guarded by mu.
	acked []*core.Proc
	// recoveries counts the calls of Agree and Shrink; guarded by mu.
	recoveries int
	// recovery is the scope of all recoveries; only the world has one; guarded by mu.
	recovery *core.Scope
	// underWay counts the non-blocking and persistent collective operations in progress; guarded by
	// mu.
	underWay int
	// posted are those of them that may need no goroutine; guarded by mu.
	posted map[*task]bool
	// closing is set when the last of them must close the communicator; guarded by mu.
	closing bool
}

// acknowledge records the processes that one call of AckFailed found failed. A failed process never
// comes back, so the shorter of two lists is older, and all of it is in the longer one.
func (parts *commParts) acknowledge(failed []*core.Proc) {
	parts.mu.Lock()
	defer parts.mu.Unlock()
	if len(failed) > len(parts.acked) {
		parts.acked = failed
	}
}

// number returns the tag of the next collective operation. It is taken when the operation is
// called, because all processes call them in the same order.
func (c *Comm) number() int {
	return tagCollective | int((c.parts.next.Add(1)-1)&userTagMax)
}

// take returns a view for the operation with a number. put takes it back.
func (c *Comm) take(tag int) *view {
	v := c.parts.idle.Swap(nil)
	if v == nil || v.tuning != c.parts.machine.tuning.Load() {
		v = c.newView(nil)
	}
	v.tag = tag
	if v.local != nil {
		v.local.tag = tag
	}
	return v
}

// put takes back the view of an operation that ended with err or nil, and returns the error for the
// caller. If err is the failure of a process, other processes may still wait for this one's part in
// the operation, so put tells them.
func (c *Comm) put(v *view, err error) error {
	err = v.ended(err)
	if errors.Is(err, errclass.ProcFailed) {
		c.coll.Break(err)
	}
	v.misfit = nil
	if v.local != nil {
		v.local.misfit = nil
	}
	c.parts.idle.Store(v)
	return err
}

// newView makes a view of some ranks of the communicator, or of all if ranks is nil. rank is this
// process's rank among ranks.
func (c *Comm) newView(ranks []int) *view {
	v := &view{scope: c.coll, rank: c.rank, size: c.group.Size()}
	if c.remote != nil {
		v.remote = c.remote.Size()
		v.local = &view{scope: c.parts.local.coll, rank: v.rank, size: v.size}
		c.parts.local.giveMachine(v.local)
	}
	if ranks == nil {
		if c.remote == nil {
			c.giveMachine(v)
		}
	} else {
		v.ranks, v.size = ranks, len(ranks)
		for i, r := range ranks {
			if r == c.rank {
				v.rank = i
			}
		}
	}
	return v
}

// hold keeps the communicator open for an operation that continues after its call returns. It
// returns an error if the communicator has been freed.
func (c *Comm) hold() error {
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	if err := c.checkLive(); err != nil {
		return err
	}
	c.parts.underWay++
	return nil
}

// post keeps a task without a goroutine, so that the communicator does not stay open if the program
// never waits for the task.
func (c *Comm) post(t *task) {
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	if c.parts.posted == nil {
		c.parts.posted = make(map[*task]bool)
	}
	c.parts.posted[t] = true
}

// drop undoes hold for a task that has ended, and closes the communicator if closing waited for it.
func (c *Comm) drop(t *task) {
	c.parts.mu.Lock()
	delete(c.parts.posted, t)
	c.parts.underWay--
	last := c.parts.closing && c.parts.underWay == 0
	c.parts.mu.Unlock()
	if last {
		_ = c.shut()
	}
}

// shut releases the contexts of a communicator that is freed and has no collective operation in
// progress. Its scopes stay open while the contexts rest. Until then, pending receives from
// AnySource learn of failures, and late messages are dropped if the communicator was revoked;
// otherwise they would wait for a receive.
func (c *Comm) shut() error {
	p2p, coll := c.p2p, c.coll // do not capture c, which holds much memory
	c.p.taken.retire(c.ctx, func() { _, _ = p2p.Close(), coll.Close() })
	c.parts.idle.Store(nil)
	if c.parts.local != nil {
		return c.parts.local.free()
	}
	return nil
}

// free is Free without the attributes' delete functions.
func (c *Comm) free() error {
	c.parts.mu.Lock()
	if err := c.checkLive(); err != nil && c.state.Load() != commNotMade {
		c.parts.mu.Unlock()
		return err
	}
	c.state.Store(commFreed)
	c.parts.closing = c.parts.underWay > 0
	later := c.parts.closing
	for t := range c.parts.posted { // the program may never wait for them
		t.launch()
	}
	c.parts.mu.Unlock()
	if later {
		return nil
	}
	return c.shut()
}
