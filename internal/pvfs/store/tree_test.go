package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A grove is a file system of two servers. The first has handles up to 1000 for metadata and up to 2000 for data, the second
// those up to 3000 and 4000.
type grove struct {
	t    *testing.T
	tree Tree
	lost proto.Handle // lost+found
}

func newGrove(t *testing.T) *grove {
	g := &grove{t: t, tree: Tree{Root: 1, Owner: func(h proto.Handle) (int, bool) { return int(h-1) / 2000, h <= 4000 }}}
	for i := range proto.Handle(2) {
		g.tree.Stores = append(g.tree.Stores, open(t, memory.Dir(t), with(func(o *Options) {
			o.Meta = []proto.Extent{{First: 2000*i + 2, Last: 2000*i + 1000}}
			o.Data = []proto.Extent{{First: 2000*i + 1001, Last: 2000*i + 2000}}
		})))
	}
	require.NoError(t, g.tree.Stores[0].Update(func(tx *Tx) error {
		d, err := tx.Create(MetaSpace, Object{Attr: proto.Attr{Type: proto.TypeDirdata}, Parent: 1})
		if err != nil {
			return err
		}
		return tx.Insert(1, directoryOf(d))
	}))
	g.lost = g.mkdir(0, 1, lostAndFound)
	file := g.file(0, 1, "file", "hello", "world")
	sub := g.mkdir(1, 1, "sub")
	g.file(1, sub, "below", "x", "")
	require.NotZero(t, file)
	require.Empty(t, g.check(false))
	return g
}

func directoryOf(dirdata ...proto.Handle) Object {
	return Object{Attr: proto.Attr{Type: proto.TypeDirectory, DistDir: proto.DistDir{Bitmap: []uint32{1}, Dirdata: dirdata}}}
}

func (g *grove) store(h proto.Handle) *Store { return g.tree.Stores[int(h-1)/2000] }

func (g *grove) update(h proto.Handle, f func(tx *Tx) error) {
	require.NoError(g.t, g.store(h).Update(f))
}

func (g *grove) get(h proto.Handle) (o Object) {
	require.NoError(g.t, g.store(h).View(func(tx *Tx) (err error) { o, err = tx.Get(h); return err }))
	return o
}

func (g *grove) dirdata(dir proto.Handle) proto.Handle { return g.get(dir).DistDir.Dirdata[0] }

func (g *grove) link(dir proto.Handle, name string, h proto.Handle) {
	d := g.dirdata(dir)
	g.update(d, func(tx *Tx) error { return tx.Link(d, name, h) })
}

// lookup returns the object of a name in a directory.
func (g *grove) lookup(dir proto.Handle, name string) (h proto.Handle) {
	d := g.dirdata(dir)
	require.NoError(g.t, g.store(d).View(func(tx *Tx) (err error) { h, err = tx.Lookup(d, name); return err }))
	return h
}

// drop removes an empty directory and its name.
func (g *grove) drop(in proto.Handle, name string) {
	var h proto.Handle
	d := g.dirdata(in)
	g.update(d, func(tx *Tx) (err error) { h, err = tx.Unlink(d, name); return err })
	inside := g.dirdata(h)
	g.update(h, func(tx *Tx) error { return errors.Join(tx.Delete(inside), tx.Delete(h)) })
}

func (g *grove) mkdir(server int, in proto.Handle, name string) (h proto.Handle) {
	require.NoError(g.t, g.tree.Stores[server].Update(func(tx *Tx) error {
		d, err := tx.Create(MetaSpace, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
		if err == nil {
			h, err = tx.Create(MetaSpace, directoryOf(d))
		}
		return err
	}))
	if in != 0 {
		g.link(in, name, h)
	}
	return h
}

// file makes a file with a datafile on each server. in: 0 means in no directory.
func (g *grove) file(server int, in proto.Handle, name string, bytes ...string) (h proto.Handle) {
	var data []proto.Handle
	for i, b := range bytes {
		d := create(g.t, g.tree.Stores[i], DataSpace, proto.TypeDatafile)
		_, err := g.tree.Stores[i].WriteAt(d, []byte(b), 0)
		require.NoError(g.t, err)
		data = append(data, d)
	}
	require.NoError(g.t, g.tree.Stores[server].Update(func(tx *Tx) (err error) {
		h, err = tx.Create(MetaSpace, Object{Attr: proto.Attr{Type: proto.TypeMetafile, Datafiles: data}})
		return err
	}))
	if in != 0 {
		g.link(in, name, h)
	}
	return h
}

func (g *grove) check(repair bool) []Problem {
	problems, err := CheckTree(g.tree, repair)
	require.NoError(g.t, err)
	return problems
}

func (g *grove) names(dir proto.Handle) (names []string) {
	d := g.dirdata(dir)
	require.NoError(g.t, g.store(d).View(func(tx *Tx) error {
		for e, err := range tx.AllEntries(d) {
			require.NoError(g.t, err)
			names = append(names, e.Name)
		}
		return nil
	}))
	return names
}

func TestTree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm     func(g *grove)
		problems int
		found    int  // names in lost+found after the repair
		left     bool // a problem that cannot be repaired
	}{
		"nothing":          {harm: func(*grove) {}},
		"entry to nothing": {problems: 1, harm: func(g *grove) { g.link(1, "ghost", 3500) }},
		"entry beyond all": {problems: 1, harm: func(g *grove) { g.link(1, "ghost", 5000) }},
		"entry to a datafile": {problems: 1, harm: func(g *grove) {
			g.link(1, "odd", g.get(g.file(0, 1, "f", "a", "b")).Datafiles[1])
		}},
		"two names":         {problems: 1, harm: func(g *grove) { g.link(g.lost, "second", g.file(0, 1, "first", "a")) }},
		"file":              {problems: 1, found: 1, harm: func(g *grove) { g.file(1, 0, "", "a", "b") }},
		"empty file":        {problems: 1, harm: func(g *grove) { g.file(1, 0, "", "", "") }},
		"symlink":           {problems: 1, harm: func(g *grove) { create(g.t, g.tree.Stores[1], MetaSpace, proto.TypeSymlink) }},
		"empty directory":   {problems: 1, harm: func(g *grove) { g.mkdir(1, 0, "") }},
		"directory of more": {problems: 1, found: 1, harm: func(g *grove) { g.file(0, g.mkdir(0, g.mkdir(1, 0, ""), "sub"), "f", "a", "b") }},
		"loop": {problems: 2, found: 1, harm: func(g *grove) {
			a := g.mkdir(0, 0, "")
			g.link(g.mkdir(1, a, "b"), "a", a)
		}},
		"datafile": {problems: 1, harm: func(g *grove) {
			h := create(g.t, g.tree.Stores[1], DataSpace, proto.TypeDatafile)
			_, err := g.tree.Stores[1].WriteAt(h, []byte("abc"), 0)
			require.NoError(g.t, err)
		}},
		"dirdata": {problems: 1, harm: func(g *grove) {
			h := create(g.t, g.tree.Stores[1], MetaSpace, proto.TypeDirdata)
			g.update(h, func(tx *Tx) error { return tx.Link(h, "x", 3500) })
		}},
		"lost dirdata": {problems: 1, harm: func(g *grove) {
			d := g.dirdata(g.mkdir(1, 1, "dir"))
			g.update(d, func(tx *Tx) error { return tx.Delete(d) })
		}},
		"lost+found is gone": {problems: 2, found: 2, harm: func(g *grove) {
			g.drop(1, lostAndFound)
			g.file(0, 0, "", "nameless")
			g.file(1, 0, "", "", "another")
		}},
		"lost datafile": {problems: 1, left: true, harm: func(g *grove) {
			d := g.get(g.file(0, 1, "f", "a", "b")).Datafiles[1]
			g.update(d, func(tx *Tx) error { return tx.Delete(d) })
		}},
		"removal under way": {problems: 1, harm: func(g *grove) {
			d := g.get(g.file(0, 0, "", "a", "b")).Datafiles[1]
			g.update(d, func(tx *Tx) error { return tx.Delete(d) })
		}},
		"lost datafile below": {problems: 2, found: 1, left: true, harm: func(g *grove) {
			d := g.get(g.file(0, g.mkdir(1, 0, ""), "f", "a", "b")).Datafiles[1]
			g.update(d, func(tx *Tx) error { return tx.Delete(d) })
		}},
		"shared datafile": {problems: 1, left: true, harm: func(g *grove) {
			o := g.get(g.file(0, 1, "f", "a"))
			g.update(1, func(tx *Tx) error {
				h, err := tx.Create(MetaSpace, o)
				return errors.Join(err, tx.Link(g.dirdata(1), "g", h))
			})
		}},
		"pool": {harm: func(g *grove) {
			h := create(g.t, g.tree.Stores[1], DataSpace, proto.TypeDatafile)
			g.update(1, func(tx *Tx) error { return tx.PoolPut("p", h) })
		}},
		"pool of nothing": {problems: 1, harm: func(g *grove) { g.update(1, func(tx *Tx) error { return tx.PoolPut("p", 3500) }) }},
		"pool in use": {problems: 1, harm: func(g *grove) {
			d := g.get(g.file(0, 1, "f", "a", "b")).Datafiles[1]
			g.update(1, func(tx *Tx) error { return tx.PoolPut("p", d) })
		}},
		"trash": {harm: func(g *grove) {
			h := create(g.t, g.tree.Stores[1], DataSpace, proto.TypeDatafile)
			g.update(1, func(tx *Tx) error { return tx.SetRecord(fmt.Sprintf("trash/%016x", uint64(h)), []byte{1}) })
		}},
		"file in another's trash": {harm: func(g *grove) {
			h := g.file(1, 0, "", "a", "b")
			g.update(0, func(tx *Tx) error { return tx.SetRecord(fmt.Sprintf("trash/%016x", uint64(h)), make([]byte, 8)) })
		}},
		"not at hand": {harm: func(g *grove) {
			g.file(0, 0, "", "a", "b")
			g.link(1, "ghost", 3500)
			g.tree.Stores[1] = nil
		}},
		"no root": {problems: 1, left: true, harm: func(g *grove) { g.update(1, func(tx *Tx) error { return tx.Delete(1) }) }},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrove(t)
			c.harm(g)
			problems := g.check(false)
			require.Len(t, problems, c.problems)
			repaired := 0
			for _, p := range g.check(true) {
				if p.Repaired {
					repaired++
				}
			}
			if c.left {
				assert.Less(t, repaired, c.problems)
			} else {
				assert.Equal(t, c.problems, repaired)
			}
			for range 3 {
				g.check(true)
			}
			if !c.left {
				require.Empty(t, g.check(false))
				assert.Len(t, g.names(g.lookup(1, lostAndFound)), c.found)
			}
			for _, s := range g.tree.Stores {
				if s != nil {
					requireClean(t, s)
				}
			}
		})
	}
}
