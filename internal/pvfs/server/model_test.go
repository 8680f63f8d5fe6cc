package server_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A modelDir is the expected state of a directory: names and their objects.
type modelDir struct {
	handle  proto.Handle
	entries map[string]*modelDir // a file has no entries
	file    bool
}

// modelTree is the tree, and all its directories.
type modelTree struct {
	u    *user
	rng  *rand.Rand
	root *modelDir
}

// dirs are all directories.
func (m *modelTree) dirs() []*modelDir {
	var all []*modelDir
	var walk func(d *modelDir)
	walk = func(d *modelDir) {
		all = append(all, d)
		for _, name := range slices.Sorted(maps.Keys(d.entries)) {
			if e := d.entries[name]; !e.file {
				walk(e)
			}
		}
	}
	walk(m.root)
	return all
}

// step does one random operation on both sides.
func (m *modelTree) step(t *testing.T) string {
	dirs := m.dirs()
	d := dirs[m.rng.IntN(len(dirs))]
	name := fmt.Sprint("n", m.rng.IntN(12))
	e := d.entries[name]
	switch m.rng.IntN(10) {
	case 0, 1, 2, 3:
		h, err := m.u.create(d.handle, name, 0o644)
		m.made(t, d, name, h, err, &modelDir{file: true})
		return "create " + name
	case 4, 5:
		h, err := m.u.mkdir(d.handle, name, 0o755)
		m.made(t, d, name, h, err, &modelDir{entries: map[string]*modelDir{}})
		return "mkdir " + name
	case 6, 7:
		err := m.u.remove(d.handle, name)
		switch {
		case e == nil:
			require.Equal(t, proto.ENOENT, err)
		case len(e.entries) > 0:
			require.Equal(t, proto.ENOTEMPTY, err)
		default:
			require.NoError(t, err)
			delete(d.entries, name)
		}
		return "remove " + name
	case 8:
		m.rename(t, dirs, d, name, e)
		return "rename " + name
	}
	m.check(t, d)
	return "list"
}

func (m *modelTree) made(t *testing.T, d *modelDir, name string, h proto.Handle, err error, e *modelDir) {
	if d.entries[name] != nil {
		require.Equal(t, proto.EEXIST, err)
		return
	}
	require.NoError(t, err)
	e.handle = h
	d.entries[name] = e
}

// rename moves an object to another name, anywhere but below itself.
func (m *modelTree) rename(t *testing.T, dirs []*modelDir, d *modelDir, name string, e *modelDir) {
	if e == nil || !e.file {
		return
	}
	to := dirs[m.rng.IntN(len(dirs))]
	other := fmt.Sprint("r", m.rng.IntN(12))
	err := m.u.link(to.handle, other, e.handle)
	if to.entries[other] != nil {
		require.Equal(t, proto.EEXIST, err)
		return
	}
	require.NoError(t, err)
	was, err := m.u.unlink(d.handle, name)
	require.NoError(t, err)
	require.Equal(t, e.handle, was)
	delete(d.entries, name)
	to.entries[other] = e
}

// check compares one directory.
func (m *modelTree) check(t *testing.T, d *modelDir) {
	all, err := m.u.list(d.handle, uint32(1+m.rng.IntN(9)))
	require.NoError(t, err)
	got := map[string]proto.Handle{}
	for _, e := range all {
		if e.Name != "lost+found" {
			require.Zero(t, got[e.Name], "%q twice", e.Name)
			got[e.Name] = e.Handle
		}
	}
	want := map[string]proto.Handle{}
	for name, e := range d.entries {
		want[name] = e.handle
	}
	require.Equal(t, want, got)
	for name, e := range d.entries {
		h, err := m.u.lookup(d.handle, name)
		require.NoError(t, err)
		require.Equal(t, e.handle, h)
		a, err := m.u.attr(h, proto.AttrStat)
		require.NoError(t, err)
		require.Equal(t, e.file, a.Type == proto.TypeMetafile)
	}
}

// TestRandomOperations compares a tree on three servers with one in memory. Servers restart between operations.
func TestRandomOperations(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		c := pvfstest.Start(t, spread(3, 1, 3, 4))
		m := &modelTree{
			u: root(t, c), rng: rand.New(rand.NewPCG(seed, 7)),
			root: &modelDir{handle: c.FS.Root, entries: map[string]*modelDir{}},
		}
		for i := range 150 {
			did := m.step(t)
			if t.Failed() {
				t.Fatalf("seed %d, operation %d: %s", seed, i, did)
			}
			if i%50 == 49 {
				s := m.rng.IntN(c.Len())
				c.Stop(s)
				c.Start(s)
				require.NoError(t, c.Server(s).Ready(t.Context()))
			}
		}
		for _, d := range m.dirs() {
			m.check(t, d)
		}
		for i := range c.Len() {
			problems, err := c.Store(i).Check(false)
			require.NoError(t, err)
			require.Empty(t, problems)
		}
	}
}
