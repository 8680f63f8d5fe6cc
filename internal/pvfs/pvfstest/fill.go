package pvfstest

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// ballastBytes is the size of a record that takes up room. ballastRecords is how many records one transaction makes or removes.
const (
	ballastBytes   = 16 << 10
	ballastRecords = 8
)

// Ballast fills the disks of the servers, but leaves room for about leave bytes of new metadata on each. The result frees all the
// room again.
func (c *Cluster) Ballast(leave int) (remove func()) {
	c.tb.Helper()
	records := make([]int, len(c.nodes))
	for i, n := range c.nodes {
		var err error
		for {
			if err = setBallast(n.store, records[i], records[i]+ballastRecords, make([]byte, ballastBytes)); err != nil {
				break
			}
			records[i] += ballastRecords
		}
		if !errors.Is(err, syscall.ENOSPC) {
			c.check("fill the disk", err)
		}
		least := 0 // records that must stay, once there is room
		for records[i] > least {
			records[i] -= ballastRecords
			c.dropBallast(n.store, records[i], records[i]+ballastRecords)
			if least == 0 && grows(n.store) {
				least = max(1, records[i]-leave/ballastBytes)
			}
		}
	}
	return func() {
		c.tb.Helper()
		for i, n := range c.nodes {
			c.dropBallast(n.store, 0, records[i])
		}
	}
}

// dropBallast removes records, the last ones first. The store uses the freed room only in the transaction after the one that
// freed it.
func (c *Cluster) dropBallast(s *store.Store, from, to int) {
	c.tb.Helper()
	for to > from {
		next := max(from, to-ballastRecords)
		c.check("give room back", setBallast(s, next, to, nil))
		to = next
	}
}

// setBallast sets records number from to to to a value; nil removes them.
func setBallast(s *store.Store, from, to int, value []byte) error {
	return s.Update(func(tx *store.Tx) error {
		for i := from; i < to; i++ {
			if err := tx.SetRecord(fmt.Sprintf("ballast %06d", i), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// grows reports whether a store has room for an object. It does not make one.
func grows(s *store.Store) bool {
	enough := errors.New("there is room")
	return errors.Is(s.Update(func(tx *store.Tx) error {
		if _, err := tx.Create(store.MetaSpace, store.Object{Attr: proto.Attr{Type: proto.TypeSymlink}}); err != nil {
			return err
		}
		return enough
	}), enough)
}

// Symlinks makes symlinks in a directory below the root, in one transaction. All entries of the directory must be on one server.
func (c *Cluster) Symlinks(dir, target string, names ...string) {
	c.tb.Helper()
	parent := c.lookup(c.dirdata(c.FS.Root), dir)
	dirdata := c.dirdata(parent)
	now := time.Now().Unix()
	link := store.Object{Parent: parent, Attr: proto.Attr{
		Type: proto.TypeSymlink, Mask: proto.AttrCommon | proto.AttrTarget, Target: target,
		Perms: 0o777, ATime: now, MTime: now, CTime: now,
	}}
	c.check("make symlinks", c.owner(dirdata).Update(func(tx *store.Tx) error {
		for _, name := range names {
			h, err := tx.Create(store.MetaSpace, link)
			if err == nil {
				err = tx.Link(dirdata, name, h)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// dirdata is the only dirdata object of a directory.
func (c *Cluster) dirdata(dir proto.Handle) proto.Handle {
	c.tb.Helper()
	var o store.Object
	c.check("look at a directory", c.owner(dir).View(func(tx *store.Tx) (err error) {
		o, err = tx.Get(dir)
		return err
	}))
	if len(o.DistDir.Dirdata) != 1 {
		c.tb.Fatalf("pvfstest: a directory of %d dirdata objects", len(o.DistDir.Dirdata))
	}
	return o.DistDir.Dirdata[0]
}

// lookup is the object of a name.
func (c *Cluster) lookup(dirdata proto.Handle, name string) (h proto.Handle) {
	c.tb.Helper()
	c.check("look a name up", c.owner(dirdata).View(func(tx *store.Tx) (err error) {
		h, err = tx.Lookup(dirdata, name)
		return err
	}))
	return h
}

// owner is the store that owns a handle.
func (c *Cluster) owner(h proto.Handle) *store.Store {
	c.tb.Helper()
	i, ok := c.FS.Owner(h)
	if !ok {
		c.tb.Fatalf("pvfstest: no server has the handle %v", h)
	}
	return c.Store(i)
}
