package mpi

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// commParts are what a communicator has beyond messages between two processes.
type commParts struct {
	// next is the number of the next collective operation.
	next atomic.Uint32
	// idle is the view that the last collective operation left for the next one, so that
	// small ones allocate nothing.
	idle atomic.Pointer[view]
	// local is the local group of an inter-communicator, as a communicator of its own.
	local *Comm
	// topology is nil if there is none. It is set before anybody else has the communicator.
	topology topo.Topology
	// attrs are the attributes, info the hints.
	attrs attr.List[*Comm]
	info  atomic.Pointer[Info]

	mu sync.Mutex
	// acked are the processes whose failure was acknowledged; guarded by mu.
	acked []*core.Proc
	// recoveries counts the calls of Agree and Shrink; guarded by mu.
	recoveries int
	// recovery is the scope of all recoveries, of the world only; guarded by mu.
	recovery *core.Scope
	// underWay counts the collective operations that are not blocking, and have not ended;
	// guarded by mu.
	underWay int
	// closing is set when the last of them is to close the communicator; guarded by mu.
	closing bool
}

// acknowledge notes all processes that one call of AckFailed found failed. None of them comes
// back, so of what two calls found the shorter list is older, and has nothing that the other
// has not.
func (parts *commParts) acknowledge(failed []*core.Proc) {
	parts.mu.Lock()
	defer parts.mu.Unlock()
	if len(failed) > len(parts.acked) {
		parts.acked = failed
	}
}

// number is the tag of the next collective operation. It is taken when the operation is
// called, as all processes call them in the same order.
func (c *Comm) number() int {
	return tagCollective | int((c.parts.next.Add(1)-1)&userTagMax)
}

// take is the view of an operation with a number, which put takes back.
func (c *Comm) take(tag int) *view {
	v := c.parts.idle.Swap(nil)
	if v == nil {
		v = c.newView(nil)
	}
	v.tag = tag
	if v.local != nil {
		v.local.tag = tag
	}
	return v
}

// put takes back a view whose operation has ended with an error, or none, and returns what is
// the caller's. If it was the failure of a process, others may wait for this one's part in the
// operation: they are told.
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

// newView makes a view, of some ranks of the communicator only if ranks is not nil: then
// rank is this process's among them.
func (c *Comm) newView(ranks []int) *view {
	v := &view{scope: c.coll, rank: c.rank, size: c.group.Size()}
	if c.remote != nil {
		v.remote = c.remote.Size()
		v.local = &view{scope: c.parts.local.coll, rank: v.rank, size: v.size}
	}
	if ranks != nil {
		v.ranks, v.size = ranks, len(ranks)
		for i, r := range ranks {
			if r == c.rank {
				v.rank = i
			}
		}
	}
	return v
}

// hold keeps the communicator open for an operation that goes on after its call. It is an
// error if the communicator has been freed.
func (c *Comm) hold() error {
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	if err := c.checkLive(); err != nil {
		return err
	}
	c.parts.underWay++
	return nil
}

// drop undoes hold, and closes the communicator if that was what it waited for.
func (c *Comm) drop() {
	c.parts.mu.Lock()
	c.parts.underWay--
	last := c.parts.closing && c.parts.underWay == 0
	c.parts.mu.Unlock()
	if last {
		_ = c.shut()
	}
}

// shut gives up the contexts of a communicator that was freed and has no collective operation
// under way. Its scopes stay open while they rest: receives from anybody that still wait learn
// that somebody has failed, and what comes late is forgotten if the communicator was revoked;
// else it would wait for a receive.
func (c *Comm) shut() error {
	p2p, coll := c.p2p, c.coll // not c, which has much memory
	c.p.taken.retire(c.ctx, func() { _, _ = p2p.Close(), coll.Close() })
	c.parts.idle.Store(nil)
	if c.parts.local != nil {
		return c.parts.local.free()
	}
	return nil
}

// free is Free without its callbacks.
func (c *Comm) free() error {
	c.parts.mu.Lock()
	if err := c.checkLive(); err != nil {
		c.parts.mu.Unlock()
		return err
	}
	c.freed.Store(true)
	c.parts.closing = c.parts.underWay > 0
	later := c.parts.closing
	c.parts.mu.Unlock()
	if later {
		return nil
	}
	return c.shut()
}
