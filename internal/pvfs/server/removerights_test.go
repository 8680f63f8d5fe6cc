package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestRemoveOfOthers: the right to remove names in one's own directory gives no right to remove objects of other directories, by
// any request. It does for objects that were moved into it.
func TestRemoveOfOthers(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
	admin, alice, bob := root(t, c), newUser(t, c, 5, 5), newUser(t, c, 6, 6)
	theirs, err := admin.mkdir(c.FS.Root, "theirs", 0o777)
	require.NoError(t, err)
	his, err := admin.mkdir(c.FS.Root, "his", 0o777)
	require.NoError(t, err)
	h := bob.header(his)
	require.NotZero(t, h.Capability.Mask&proto.MayRemove)
	for i := range 2 * c.Len() { // of every server
		name := fmt.Sprint("f", i)
		f, err := alice.create(theirs, name, 0o600)
		require.NoError(t, err)
		d, err := alice.mkdir(theirs, "d"+name, 0o700)
		require.NoError(t, err)
		l, err := alice.symlink(theirs, "l"+name, "target")
		require.NoError(t, err)
		a, err := bob.attr(f, proto.AttrStat)
		require.NoError(t, err, "everybody may ask for its datafiles")
		for _, victim := range append(a.Datafiles, f, d, l) {
			_, err := bob.to(victim, h, &proto.RemoveReq{Handle: victim, FS: bob.fs(), Cred: bob.cred})
			if !c.FS.IsData(victim) {
				require.Equal(t, proto.EACCES, err)
			}
			_, err = bob.to(victim, h, &proto.TreeRemoveReq{FS: bob.fs(), Cred: bob.cred, Handles: []proto.Handle{victim}})
			require.NoError(t, err, "it says so in each object's status")
			_, err = bob.to(victim, h, &proto.BatchRemoveReq{FS: bob.fs(), Handles: []proto.Handle{victim}})
			require.Equal(t, proto.EACCES, err)
			_, err = alice.attr(victim, proto.AttrStat)
			require.NoError(t, err, "it is still there")
		}
		// Moved into Bob's directory by a user with the right to do so.
		for _, moved := range []struct {
			name   string
			object proto.Handle
		}{{name, f}, {"d" + name, d}, {"l" + name, l}} {
			require.NoError(t, alice.link(his, moved.name, moved.object))
			_, err = alice.unlink(theirs, moved.name)
			require.NoError(t, err)
			require.NoError(t, bob.remove(his, moved.name))
			_, err = alice.attr(moved.object, proto.AttrStat)
			require.Equal(t, proto.ENOENT, err)
		}
	}
}

// relink makes a name refer to another object.
func (u *user) relink(dir proto.Handle, name string, to proto.Handle) error {
	return u.entry(dir, name, func(d proto.Handle, h *proto.Header) error {
		_, err := u.to(d, h, &proto.ChDirentReq{Name: name, New: to, Dirdata: d, FS: u.fs()})
		return err
	})
}

// TestRemoveOfOthersLinked: a user who may rename an object of another user gives it a name in its own directory, and removes that
// name again. It may not remove the object so, by any request.
func TestRemoveOfOthersLinked(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
	admin, alice, bob := root(t, c), newUser(t, c, 5, 5), newUser(t, c, 6, 6)
	theirs, err := admin.mkdir(c.FS.Root, "theirs", 0o777)
	require.NoError(t, err)
	his, err := admin.mkdir(c.FS.Root, "his", 0o777)
	require.NoError(t, err)
	names, err := bob.attr(his, proto.AttrMetafile)
	require.NoError(t, err)
	require.Len(t, names.DistDir.Dirdata, 1)
	left := 0
	for i := range 2 * c.Len() { // of every server
		name := fmt.Sprint("f", i)
		f, err := alice.create(theirs, name, 0o600)
		require.NoError(t, err)
		d, err := alice.mkdir(theirs, "d"+name, 0o700)
		require.NoError(t, err)
		l, err := alice.symlink(theirs, "l"+name, "target")
		require.NoError(t, err)
		h := bob.header(his)
		other, err := bob.create(his, "o"+name, 0o600)
		require.NoError(t, err)
		for _, victim := range []proto.Handle{f, d, l} {
			remove := func() {
				t.Helper()
				_, err := bob.to(victim, h, &proto.RemoveReq{Handle: victim, FS: bob.fs(), Cred: bob.cred})
				require.Equal(t, proto.EACCES, err)
				require.False(t, alice.gone(victim))
			}
			if victim == d {
				require.Equal(t, proto.EACCES, bob.link(his, name, victim), "he may not change its parent")
				require.Equal(t, proto.EACCES, bob.relink(his, "o"+name, victim))
				remove()
				continue
			}
			require.NoError(t, bob.link(his, name, victim))
			remove()
			resp, err := bob.unlinkWith(his, name, victim)
			require.NoError(t, err)
			if resp.Mark != proto.MarkKept {
				left++
				require.NotEqual(t, owner(t, c, victim), owner(t, c, names.DistDir.Dirdata[0]))
				emptied(t, c)
			}
			remove()
			require.NoError(t, bob.relink(his, "o"+name, victim))
			remove()
			require.NoError(t, bob.relink(his, "o"+name, other))
			remove()
		}
		// Objects that no name may refer to.
		a, err := alice.attr(d, proto.AttrMetafile)
		require.NoError(t, err)
		if part := a.DistDir.Dirdata[0]; bob.link(his, name, part) == nil {
			_, err := bob.unlinkWith(his, name, part)
			require.NoError(t, err)
			emptied(t, c)
			require.False(t, alice.gone(part))
		}
		for _, name := range []string{name, "d" + name, "l" + name} {
			require.NoError(t, alice.remove(theirs, name), "who made it")
		}
		require.True(t, alice.gone(f) && alice.gone(d) && alice.gone(l))
	}
	require.NotZero(t, left, "no server was asked to remove anything")
}

// TestRemoveOfMoved: a client says that it moved an object from one directory to another. Not every user may remove it
// afterwards. The move is noted at once if one server has the object and the old name, else a little later. It needs the right to
// remove from the old directory.
func TestRemoveOfMoved(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
	admin, alice, bob := root(t, c), newUser(t, c, 5, 5), newUser(t, c, 6, 6)
	var dirs []proto.Handle
	for _, name := range []string{"from", "to", "his"} {
		d, err := admin.mkdir(c.FS.Root, name, 0o777)
		require.NoError(t, err)
		dirs = append(dirs, d)
	}
	from, to, his := dirs[0], dirs[1], dirs[2]
	a, err := alice.attr(from, proto.AttrMetafile)
	require.NoError(t, err)
	noted := 0
	for i := range 4 * c.Len() {
		name := fmt.Sprint("f", i)
		f, err := alice.create(from, name, 0o600)
		require.NoError(t, err)
		// Bob claims that the file is in his directory now.
		require.NoError(t, bob.link(his, name, f))
		require.NoError(t, bob.unlinkMoved(his, name, f, his))
		h := bob.header(his)
		remove := &proto.RemoveReq{Handle: f, FS: bob.fs(), Cred: bob.cred}
		_, err = bob.to(f, h, remove)
		require.Equal(t, proto.EACCES, err)

		require.NoError(t, alice.link(to, name, f))
		require.NoError(t, alice.unlinkMoved(from, name, f, to))
		if there := owner(t, c, f); there == owner(t, c, dirdata(a.DistDir, name)) {
			noted++
			require.Equal(t, to, madeIn(t, c, f))
		}
		require.Eventually(t, func() bool { return madeIn(t, c, f) == to }, farOff, time.Millisecond)
		_, err = bob.to(f, h, remove)
		require.Equal(t, proto.EACCES, err)
		resp, err := alice.unlinkWith(to, name, f)
		require.NoError(t, err)
		if resp.Mark != proto.MarkRemoved {
			_, err = alice.to(f, alice.header(to), remove)
			require.NoError(t, err)
		}
		emptied(t, c)
		require.True(t, alice.gone(f))
	}
	require.NotZero(t, noted)
	require.Less(t, noted, 4*c.Len())
}

// madeIn is the directory where an object counts as made.
func madeIn(t *testing.T, c *pvfstest.Cluster, h proto.Handle) (dir proto.Handle) {
	t.Helper()
	require.NoError(t, c.Store(owner(t, c, h)).View(func(tx *store.Tx) error {
		o, err := tx.Get(h)
		dir = o.Parent
		return err
	}))
	return dir
}

// unlinkMoved removes a name of an object that is in another directory now.
func (u *user) unlinkMoved(dir proto.Handle, name string, object, to proto.Handle) error {
	return u.entry(dir, name, func(d proto.Handle, h *proto.Header) error {
		h.Hints = append(h.Hints, proto.MovesHint(object, to))
		_, err := u.to(d, h, &proto.RmDirentReq{Name: name, Dirdata: d, FS: u.fs()})
		return err
	})
}

func owner(t *testing.T, c *pvfstest.Cluster, h proto.Handle) int {
	t.Helper()
	i, ok := c.FS.Owner(h)
	require.True(t, ok)
	return i
}
