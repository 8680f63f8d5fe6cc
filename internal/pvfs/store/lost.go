package store

import (
	"fmt"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// lostAndFound is the directory in the root for objects that have lost their names. Some of them come from directories that not
// every user may enter, so only root may enter this one.
const (
	lostAndFound      = "lost+found"
	lostAndFoundPerms = 0o700
)

// adopt gives an object a name in lost+found. An empty object is removed instead.
func (c *treeChecker) adopt(n *treeNode) error {
	if c.empty(n) {
		for _, h := range slices.Concat(n.Datafiles, n.DistDir.Dirdata) {
			if c.nodes[h] == nil {
				continue
			}
			if err := c.at(h).Update(func(t *Tx) error { return t.Delete(h) }); err != nil {
				return err
			}
		}
		return c.at(n.Handle).Update(func(t *Tx) error { return t.Delete(n.Handle) })
	}
	root := c.nodes[c.Root]
	lost := c.nodes[c.lookup(root, lostAndFound)]
	if lost == nil {
		var err error
		if lost, err = c.makeLostAndFound(root); err != nil {
			return err
		}
	}
	if lost.Type != proto.TypeDirectory {
		return damaged("%s is no directory: there is no place for object %d", lostAndFound, n.Handle)
	}
	return c.name(lost, fmt.Sprintf("%016x", uint64(n.Handle)), n.Handle)
}

// name gives an object a name in a directory.
func (c *treeChecker) name(dir *treeNode, name string, h proto.Handle) error {
	at := bucketOf(&dir.DistDir, name)
	if at == 0 || c.at(at) == nil {
		return damaged("directory %d has no place for object %d", dir.Handle, h)
	}
	return c.at(at).Update(func(t *Tx) error { return t.Link(at, name, h) })
}

// makeLostAndFound makes the directory again next to the root, if it was removed.
func (c *treeChecker) makeLostAndFound(root *treeNode) (*treeNode, error) {
	s := c.at(c.Root)
	now := s.clock().Unix()
	dir := Object{
		Attr: proto.Attr{
			Type: proto.TypeDirectory, Mask: proto.AttrCommon, Perms: lostAndFoundPerms,
			ATime: now, MTime: now, CTime: now,
		},
		Parent: c.Root,
	}
	if err := s.Update(func(t *Tx) (err error) {
		if dir.Handle, err = t.AddDirectory(0, dir, root.DistDir.SplitSize); err == nil {
			dir, err = t.Get(dir.Handle)
		}
		return err
	}); err != nil {
		return nil, err
	}
	if err := c.name(root, lostAndFound, dir.Handle); err != nil {
		return nil, err
	}
	made := &treeNode{Object: dir}
	c.nodes[dir.Handle] = made
	at := c.nodes[bucketOf(&root.DistDir, lostAndFound)]
	at.entries = append(at.entries, treeEntry{name: lostAndFound, to: dir.Handle, at: at.Handle})
	return made, nil
}
