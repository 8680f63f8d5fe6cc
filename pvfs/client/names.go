package client

import (
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// names caches the objects of names for a short time.
type names struct {
	mu   sync.Mutex
	max  int
	life time.Duration
	all  map[nameKey]nameEntry
	seq  uint64 // counts this client's changes: an answer to a request from before a change is not cached after it
}

type nameKey struct {
	dir  proto.Handle
	name string
}

type nameEntry struct {
	handle proto.Handle
	user   *user // the right of this user to look the name up was checked
	at     time.Time
}

func (c *names) init(most int, life time.Duration) {
	c.max, c.life, c.all = most, life, make(map[nameKey]nameEntry)
}

// mark is for add with the answer to a request sent after this call.
func (c *names) mark() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seq
}

// get is the cached object of a name, if any.
func (c *names) get(u *user, dir proto.Handle, name string, now time.Time) (proto.Handle, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := nameKey{dir, name}
	e, ok := c.all[key]
	if !ok || !e.user.is(u) {
		return 0, false
	}
	if now.Sub(e.at) >= c.life {
		delete(c.all, key)
		return 0, false
	}
	return e.handle, true
}

// add caches an answer of a server.
func (c *names) add(u *user, dir proto.Handle, name string, h proto.Handle, at time.Time, mark uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mark == c.seq {
		c.putLocked(nameKey{dir, name}, nameEntry{h, u, at})
	}
}

// set caches a change by this client: the name now refers to h, or, if h is 0, to no object.
func (c *names) set(u *user, dir proto.Handle, name string, h proto.Handle, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	if h == 0 {
		delete(c.all, nameKey{dir, name})
		return
	}
	c.putLocked(nameKey{dir, name}, nameEntry{h, u, at})
}

// forget drops one name.
func (c *names) forget(dir proto.Handle, name string) { c.set(nil, dir, name, 0, time.Time{}) }

// clear drops all names, because the right to look one up may have changed.
func (c *names) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	clear(c.all)
}

func (c *names) putLocked(key nameKey, e nameEntry) {
	if c.max == 0 || c.life == 0 {
		return
	}
	if len(c.all) >= c.max {
		c.shrinkLocked(e.at)
	}
	c.all[key] = e
}

// shrinkLocked drops expired names, and a part of the others if that is not enough.
func (c *names) shrinkLocked(now time.Time) {
	for key, e := range c.all {
		if now.Sub(e.at) >= c.life {
			delete(c.all, key)
		}
	}
	for key := range c.all {
		if len(c.all) <= c.max*3/4 {
			break
		}
		delete(c.all, key)
	}
}
