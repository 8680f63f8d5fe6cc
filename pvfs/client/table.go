package client

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A table has the inodes: those with references, and a limited number of others. If there are too many, the least recently used
// are dropped.
type table struct {
	mu   sync.Mutex
	max  int
	all  map[proto.Handle]*list.Element // in idle, with *inode
	idle *list.List                     // all inodes, the most recently used first

	changes atomic.Uint64 // of all inodes
	dropped uint64        // not less than the last change of any dropped inode
}

func (t *table) init(most int) {
	t.max = most
	t.all = make(map[proto.Handle]*list.Element)
	t.idle = list.New()
}

// get returns the inode of a handle, with a reference. put gives it back.
func (t *table) get(h proto.Handle) *inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.all[h]
	if !ok {
		e = t.idle.PushFront(&inode{handle: h, changes: &t.changes, epoch: t.dropped})
		t.all[h] = e
	} else {
		t.idle.MoveToFront(e)
	}
	n := e.Value.(*inode)
	n.refs++
	return n
}

// peek returns the inode of a handle, without a reference; nil if there is none.
func (t *table) peek(h proto.Handle) *inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.all[h]; ok {
		return e.Value.(*inode)
	}
	return nil
}

// retain takes one more reference.
func (t *table) retain(n *inode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.refs++
}

// put gives a reference back. It returns the object to remove if that was the last one.
func (t *table) put(n *inode) *orphan {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.refs--
	if n.refs > 0 {
		return nil
	}
	o := n.orphan
	n.orphan = nil
	for e := t.idle.Back(); e != nil && t.idle.Len() > t.max; {
		before := e.Prev()
		if old := e.Value.(*inode); old.refs == 0 {
			t.dropped = max(t.dropped, old.mark())
			t.idle.Remove(e)
			delete(t.all, old.handle)
		}
		e = before
	}
	return o
}

// claim prepares the removal of an object together with its name. It succeeds only if the caller has the only reference. Other
// opens of the object then wait until unclaim.
func (t *table) claim(n *inode) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.refs > 1 || n.claimed != nil {
		return false
	}
	n.claimed = make(chan struct{})
	return true
}

// unclaim ends the claim.
func (t *table) unclaim(n *inode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(n.claimed)
	n.claimed = nil
}

// settled waits until an object is not claimed. The caller has a reference.
func (t *table) settled(ctx context.Context, n *inode) error {
	t.mu.Lock()
	claimed := n.claimed
	t.mu.Unlock()
	if claimed == nil {
		return nil
	}
	select {
	case <-claimed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave schedules the removal of the object with its last reference. It reports whether there are other references than the
// caller's; if not, it does nothing.
func (t *table) leave(n *inode, own int, o *orphan) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.refs <= own {
		return false
	}
	n.orphan = o
	return true
}
