package store

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Tree is a whole file system, for CheckTree: the stores of its servers, which must not run.
type Tree struct {
	Root   proto.Handle
	Stores []*Store                                   // by server; nil if a store is not available
	Owner  func(h proto.Handle) (server int, ok bool) // server of a handle
}

// Records of work that the server has not finished: the prefix, followed by the handle in 16 hex digits. The server finishes the
// work when it starts.
var pending = []string{"trash/", "split/", "rmdir/"}

// A treeNode is an object of a tree.
type treeNode struct {
	Object
	server  int
	entries []treeEntry    // of a dirdata object
	held    bool           // in a pool, or part of unfinished work
	reached bool           // from the root or, later, from an object in lost+found
	named   bool           // an entry refers to it
	used    int            // number of users: metafiles of a datafile, directories of a dirdata object
	lacks   []proto.Handle // missing datafiles of a metafile
	leaves  bool           // its removal was under way, and is finished now
}

type treeEntry struct {
	name string
	to   proto.Handle
	at   proto.Handle // the dirdata object
}

type treeChecker struct {
	Tree
	nodes map[proto.Handle]*treeNode
	order []proto.Handle
	found []treeFinding
	stray []poolMember
}

type poolMember struct {
	server int
	pool   string
	handle proto.Handle
}

// A treeFinding is a problem and its repair.
type treeFinding struct {
	Problem
	mend func() error
}

// CheckTree checks the references between the objects of all servers, which no server can do alone. It finds names without an
// object, metafiles and directories without a name, datafiles without a metafile, dirdata objects without a directory, and the
// reverse. Call Check of every store first. With repair it repairs these problems: an object without a name gets one in
// lost+found, or is removed if it is empty; bytes without a metafile go to the folder orphans. It assumes that stores which are
// not available are correct. Run it again after a repair, because it may find more.
func CheckTree(tree Tree, repair bool) ([]Problem, error) {
	c := &treeChecker{Tree: tree, nodes: map[proto.Handle]*treeNode{}}
	for i, s := range tree.Stores {
		if s == nil {
			continue
		}
		if err := c.load(i, s); err != nil {
			return nil, err
		}
	}
	c.order = slices.Sorted(maps.Keys(c.nodes))
	c.pools()
	c.users()
	c.walkFrom(c.Root)
	if n := c.nodes[c.Root]; c.at(c.Root) != nil && (n == nil || n.Type != proto.TypeDirectory) {
		c.add(c.Root, nil, "there is no root directory")
	} else if n != nil {
		c.nameless()
		c.unused()
	}
	c.incomplete()
	problems := make([]Problem, len(c.found))
	var errs []error
	for i, f := range c.found {
		problems[i] = f.Problem
		if repair && f.mend != nil {
			err := f.mend()
			problems[i].Repaired = err == nil
			errs = append(errs, err)
		}
	}
	return problems, errors.Join(errs...)
}

func (c *treeChecker) add(h proto.Handle, mend func() error, format string, args ...any) {
	c.found = append(c.found, treeFinding{Problem{Handle: h, What: fmt.Sprintf(format, args...)}, mend})
}

// leftover is add for the remains of an interrupted operation.
func (c *treeChecker) leftover(h proto.Handle, mend func() error, format string, args ...any) {
	c.add(h, mend, format, args...)
	c.found[len(c.found)-1].Leftover = true
}

// at returns the store that has an object; nil if it is not available.
func (c *treeChecker) at(h proto.Handle) *Store {
	if i, ok := c.Owner(h); ok && i >= 0 && i < len(c.Stores) {
		return c.Stores[i]
	}
	return nil
}

// missing reports whether an object should exist but does not.
func (c *treeChecker) missing(h proto.Handle) bool {
	_, known := c.Owner(h)
	return c.nodes[h] == nil && (c.at(h) != nil || !known)
}

// load reads one store.
func (c *treeChecker) load(server int, s *Store) error {
	return s.View(func(t *Tx) error {
		for o, err := range t.Objects() {
			if err != nil {
				return err
			}
			if c.at(o.Handle) != s {
				c.add(o.Handle, nil, "is on server %d, which does not own the handle", server)
				continue
			}
			n := &treeNode{Object: o, server: server}
			c.nodes[o.Handle] = n
			if o.Type != proto.TypeDirdata {
				continue
			}
			for e, err := range t.AllEntries(o.Handle) {
				if err != nil {
					return err
				}
				n.entries = append(n.entries, treeEntry{e.Name, e.Handle, o.Handle})
			}
		}
		for pool, h := range t.Pools() {
			c.stray = append(c.stray, poolMember{server, pool, h})
		}
		return nil
	})
}

// pools marks held objects, and checks the pools.
func (c *treeChecker) pools() {
	for _, s := range c.Stores {
		if s == nil {
			continue
		}
		_ = s.View(func(t *Tx) error { // it was readable a moment ago, and Records returns no error
			for _, prefix := range pending {
				for key := range t.Records(prefix) {
					var h proto.Handle
					if _, err := fmt.Sscanf(strings.TrimPrefix(key, prefix), "%016x", &h); err == nil && c.nodes[h] != nil {
						c.hold(c.nodes[h])
					}
				}
			}
			return nil
		})
	}
	for _, p := range c.stray {
		n := c.nodes[p.handle]
		if c.missing(p.handle) {
			c.add(p.handle, c.unpool(p), "pool %s has it, but it does not exist", p.pool)
		} else if n != nil {
			n.held = true
		}
	}
}

// hold marks an object with unfinished work; for a directory also its dirdata objects.
func (c *treeChecker) hold(n *treeNode) {
	n.held = true
	for _, h := range n.DistDir.Dirdata {
		if d := c.nodes[h]; d != nil {
			d.held = true
		}
	}
}

func (c *treeChecker) unpool(p poolMember) func() error {
	return func() error {
		return c.Stores[p.server].Update(func(t *Tx) error {
			t.countPool(p.pool, -1)
			return t.remove(tPools, poolKey(p.pool, p.handle))
		})
	}
}

// users counts the users of datafiles and dirdata objects, reachable or not.
func (c *treeChecker) users() {
	for _, h := range c.order {
		n := c.nodes[h]
		switch n.Type {
		case proto.TypeMetafile:
			for _, d := range n.Datafiles {
				c.use(h, d, proto.TypeDatafile, nil)
			}
		case proto.TypeDirectory:
			for i, d := range n.DistDir.Dirdata {
				c.use(h, d, proto.TypeDirdata, func() error { return c.makeDirdata(n, i) })
			}
		}
	}
	for _, p := range c.stray {
		if n := c.nodes[p.handle]; n != nil && n.used > 0 {
			c.add(p.handle, c.unpool(p), "pool %s has it, but it is in use", p.pool)
		}
	}
}

func (c *treeChecker) use(by, h proto.Handle, typ proto.ObjType, mend func() error) {
	n := c.nodes[h]
	what := map[proto.ObjType]string{proto.TypeDatafile: "datafile", proto.TypeDirdata: "dirdata object"}[typ]
	switch {
	case n == nil && c.missing(h) && c.at(h) == nil:
		c.add(by, nil, "its %s %d is no server's", what, h)
	case n == nil && c.missing(h) && !c.nodes[by].held && typ == proto.TypeDatafile:
		c.nodes[by].lacks = append(c.nodes[by].lacks, h)
	case n == nil && c.missing(h) && !c.nodes[by].held:
		c.add(by, mend, "its %s %d does not exist", what, h)
	case n == nil: // not available, or about to be removed
	case n.Type != typ:
		c.add(by, nil, "its %s %d is of type %d", what, h, n.Type)
	default:
		if n.used++; n.used > 1 {
			c.add(h, nil, "%s of %d, and of another", what, by)
		}
	}
}

// makeDirdata makes an empty dirdata object for a directory that has lost one.
func (c *treeChecker) makeDirdata(dir *treeNode, i int) error {
	h := dir.DistDir.Dirdata[i]
	o := Object{Attr: dir.Attr, Parent: dir.Handle}
	o.Type, o.DistDir.ServerNo = proto.TypeDirdata, int32(i)
	return c.at(h).Update(func(t *Tx) error { return t.Insert(h, o) })
}

// walkFrom marks an object as reached and, for a directory, all objects below it.
func (c *treeChecker) walkFrom(h proto.Handle) {
	n := c.nodes[h]
	if n == nil || n.reached {
		return
	}
	n.reached = true
	todo := []*treeNode{n}
	for len(todo) > 0 {
		n, todo = todo[len(todo)-1], todo[:len(todo)-1]
		for _, d := range n.DistDir.Dirdata {
			dirdata := c.nodes[d]
			if n.Type != proto.TypeDirectory || dirdata == nil || dirdata.Type != proto.TypeDirdata || dirdata.reached {
				continue
			}
			dirdata.reached = true
			for _, e := range dirdata.entries {
				if to := c.follow(e, dirdata.held); to != nil {
					todo = append(todo, to)
				}
			}
		}
	}
}

// follow checks one entry. It returns the object if that is reached now for the first time.
func (c *treeChecker) follow(e treeEntry, moving bool) *treeNode {
	unlink := func() error {
		return c.at(e.at).Update(func(t *Tx) error { _, err := t.Unlink(e.at, e.name); return err })
	}
	to := c.nodes[e.to]
	switch {
	case to == nil && c.missing(e.to):
		c.add(e.at, unlink, "entry %q stands for %d, which does not exist", e.name, e.to)
	case to == nil: // its store is not available
	case to.Type == proto.TypeDatafile || to.Type == proto.TypeDirdata || to.Type == proto.TypeInternal:
		c.add(e.at, unlink, "entry %q stands for %d, which is of type %d", e.name, e.to, to.Type)
	case to.reached && !moving: // while a directory is divided, copies are correct
		c.leftover(e.at, unlink, "entry %q stands for %d, which has another name", e.name, e.to)
	case !to.reached:
		to.reached = true
		return to
	}
	return nil
}

// nameless finds objects that cannot be reached from the root by names. It reports only the topmost of them.
func (c *treeChecker) nameless() {
	for _, h := range c.order {
		n := c.nodes[h]
		if n.Type != proto.TypeDirdata || n.reached {
			continue
		}
		for _, e := range n.entries {
			if to := c.nodes[e.to]; to != nil && n.used > 0 {
				to.named = true
			}
		}
	}
	partial := slices.Contains(c.Stores, nil) // its names may be in a store that is not available
	for _, loops := range []bool{false, true} {
		for _, h := range c.order {
			n := c.nodes[h]
			if n.reached || n.leaves || n.held || n.named && !loops || partial {
				continue
			}
			switch n.Type {
			case proto.TypeMetafile, proto.TypeSymlink, proto.TypeDirectory:
				if len(n.lacks) > 0 {
					n.leaves = true
					c.leftover(h, func() error { return c.finishRemoval(n) }, "has no name, and a datafile of it does not exist: its removal was under way")
					continue
				}
				c.leftover(h, func() error { return c.adopt(n) }, "has no name")
				c.walkFrom(h)
			}
		}
	}
}

// incomplete finds files with missing datafiles.
func (c *treeChecker) incomplete() {
	for _, h := range c.order {
		n := c.nodes[h]
		for _, d := range n.lacks {
			if !n.leaves {
				c.add(h, nil, "its datafile %d does not exist", d)
			}
		}
	}
}

// finishRemoval removes a file that has no name and not all of its datafiles. A client removes these together with the metafile,
// after the name. Remaining bytes go to the folder of orphans.
func (c *treeChecker) finishRemoval(n *treeNode) error {
	for _, h := range n.Datafiles {
		if c.nodes[h] == nil {
			continue
		}
		if err := c.dropDatafile(h); err != nil {
			return err
		}
	}
	return c.at(n.Handle).Update(func(t *Tx) error { return t.Delete(n.Handle) })
}

// empty reports whether an object without a name has no contents worth keeping.
func (c *treeChecker) empty(n *treeNode) bool {
	switch n.Type {
	case proto.TypeSymlink:
		return n.Target == ""
	case proto.TypeMetafile:
		for _, h := range n.Datafiles {
			if d := c.nodes[h]; d != nil {
				if size, err := c.at(h).Size(h); err != nil || size > 0 {
					return false
				}
			}
		}
	case proto.TypeDirectory:
		for _, h := range n.DistDir.Dirdata {
			if d := c.nodes[h]; d != nil && len(d.entries) > 0 {
				return false
			}
		}
	}
	return true
}

// lookup returns the object of a name in a directory, or 0.
func (c *treeChecker) lookup(dir *treeNode, name string) proto.Handle {
	if d := c.nodes[bucketOf(&dir.DistDir, name)]; d != nil {
		for _, e := range d.entries {
			if e.name == name {
				return e.to
			}
		}
	}
	return 0
}

// bucketOf returns the dirdata object of a name. The last bits of the name's hash select it. Fewer bits are used until the bitmap
// has the bit of that object.
func bucketOf(d *proto.DistDir, name string) proto.Handle {
	sum := md5.Sum([]byte(name))
	hash := binary.LittleEndian.Uint64(sum[8:])
	for level := min(max(d.TreeHeight, 0), 31); level >= 0; level-- {
		i := int(hash & (1<<level - 1))
		set := i/32 < len(d.Bitmap) && d.Bitmap[i/32]>>(i%32)&1 != 0
		if i < len(d.Dirdata) && (set || level == 0) {
			return d.Dirdata[i]
		}
	}
	return 0
}

// unused finds datafiles and dirdata objects without a user.
func (c *treeChecker) unused() {
	if slices.Contains(c.Stores, nil) {
		return
	}
	order := slices.Clone(c.order)
	slices.SortStableFunc(order, func(a, b proto.Handle) int { return cmp.Compare(c.nodes[a].Type, c.nodes[b].Type) })
	for _, h := range order {
		n := c.nodes[h]
		if n.used > 0 || n.held {
			continue
		}
		switch n.Type {
		case proto.TypeDatafile:
			c.leftover(h, func() error { return c.dropDatafile(h) }, "datafile without metafile")
		case proto.TypeDirdata:
			c.leftover(h, func() error { return c.dropDirdata(n) }, "dirdata object without directory, with %d entries", len(n.entries))
		}
	}
}

// dropDatafile removes a datafile; its bytes, if any, go to the folder of orphans, with their checksums.
func (c *treeChecker) dropDatafile(h proto.Handle) error {
	s := c.at(h)
	if size, err := s.Size(h); err != nil {
		return err
	} else if size > 0 {
		if err := s.setAside(s.files.path(h)); err != nil {
			return err
		}
		if err := s.setAside(s.files.sumsPath(h)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.Update(func(t *Tx) error { return t.Delete(h) })
}

// dropDirdata removes a dirdata object. The objects of its entries have other names by then, or will get them.
func (c *treeChecker) dropDirdata(n *treeNode) error {
	return c.at(n.Handle).Update(func(t *Tx) error {
		for _, e := range n.entries {
			if _, err := t.Unlink(n.Handle, e.name); err != nil {
				return err
			}
		}
		return t.Delete(n.Handle)
	})
}
