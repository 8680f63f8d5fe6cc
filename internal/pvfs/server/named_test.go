package server_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestRemoveOfRenamed: a stock client renames an object into another directory, without saying so. Then the users who may remove
// from that directory may remove the object, and no others, whatever names they give it.
func TestRemoveOfRenamed(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
	admin, alice, bob, carol := root(t, c), newUser(t, c, 5, 5), newUser(t, c, 6, 6), newUser(t, c, 7, 7)
	dir := func(name string, u *user, perms uint32) proto.Handle {
		d, err := u.mkdir(c.FS.Root, name, perms)
		require.NoError(t, err)
		return d
	}
	from, to, his := dir("from", alice, 0o755), dir("to", admin, 0o777), dir("his", bob, 0o755)
	remove := func(u *user, h, from proto.Handle) error {
		_, err := u.to(h, u.header(from), &proto.RemoveReq{Handle: h, FS: u.fs(), Cred: u.cred})
		return err
	}
	for i := range 3 * c.Len() { // names and objects of every server
		name := fmt.Sprint("f", i)
		f, err := alice.create(from, name, 0o644)
		require.NoError(t, err)
		d, err := alice.mkdir(from, "d"+name, 0o755)
		require.NoError(t, err)
		l, err := alice.symlink(from, "l"+name, "target")
		require.NoError(t, err)
		for name, h := range map[string]proto.Handle{name: f, "d" + name: d, "l" + name: l} {
			// Bob has no right to any step of a rename.
			require.Error(t, bob.link(his, name, h))
			_, err = bob.unlink(from, name)
			require.Equal(t, proto.EACCES, err)
			require.Equal(t, from, madeIn(t, c, h))
			// Alice has the right to all steps.
			require.NoError(t, alice.link(to, name, h))
			require.Equal(t, from, madeIn(t, c, h))
			_, err = alice.unlink(from, name)
			require.NoError(t, err)
			require.Equal(t, to, madeIn(t, c, h))
			// Bob might rename what is not a directory, but stops before the last step. He must not remove it.
			require.Equal(t, proto.EACCES, remove(bob, h, his))
			if err := bob.link(his, name, h); h == d {
				require.Equal(t, proto.EACCES, err, "he may not change its parent")
			} else {
				require.NoError(t, err)
				require.Equal(t, proto.EACCES, remove(bob, h, his))
				_, err = bob.unlink(his, name)
				require.NoError(t, err)
			}
			require.Equal(t, proto.EACCES, remove(bob, h, his))
			require.Equal(t, to, madeIn(t, c, h))
			// Carol renames it over another object, and removes it.
			other, err := carol.create(to, "o"+name, 0o644)
			require.NoError(t, err)
			require.NoError(t, carol.relink(to, "o"+name, h))
			require.NoError(t, remove(carol, other, to))
			_, err = carol.unlink(to, name)
			require.NoError(t, err)
			require.Equal(t, to, madeIn(t, c, h))
			require.NoError(t, carol.remove(to, "o"+name))
			require.True(t, alice.gone(h))
		}
	}
}

// TestRemoveOfUntold: an object has no name any more in the directory where it counts as made. Only its owner may remove it.
func TestRemoveOfUntold(t *testing.T) {
	for _, unsigned := range []bool{false, true} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: 2, Unsigned: unsigned})
		alice, bob := newUser(t, c, 5, 5), newUser(t, c, 6, 6)
		admin := root(t, c)
		from, err := admin.mkdir(c.FS.Root, "from", 0o777)
		require.NoError(t, err)
		to, err := admin.mkdir(c.FS.Root, "to", 0o777)
		require.NoError(t, err)
		for i := range 4 {
			name := fmt.Sprint("f", i)
			f, err := alice.create(to, name, 0o644)
			require.NoError(t, err)
			require.NoError(t, c.Store(owner(t, c, f)).Update(func(tx *store.Tx) error {
				o, err := tx.Get(f)
				o.Parent = from
				if err == nil {
					err = tx.Put(f, o)
				}
				return err
			}))
			remove := func(u *user) error {
				_, err := u.to(f, u.header(to), &proto.RemoveReq{Handle: f, FS: u.fs(), Cred: alice.cred})
				return err
			}
			if !unsigned {
				require.Equal(t, proto.EACCES, remove(bob))
				require.NoError(t, remove(alice))
			} else {
				require.NoError(t, remove(bob), "nothing is signed, and nothing protected")
			}
		}
	}
}

// TestForgedNames: only a server may send the hint of servers about changed names.
func TestForgedNames(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2})
	alice, bob := newUser(t, c, 5, 5), newUser(t, c, 6, 6)
	his, err := bob.mkdir(c.FS.Root, "his", 0o755)
	require.NoError(t, err)
	for i := range 4 {
		f, err := alice.create(c.FS.Root, fmt.Sprint("f", i), 0o666)
		require.NoError(t, err)
		for _, change := range []proto.NameChange{{Object: f, Dir: his, User: 6}, {Object: f, Dir: c.FS.Root, User: 6, Removed: true}} {
			h := bob.header2(f)
			h.Hints = append(h.Hints, change.Hint())
			_, _ = bob.to(f, h, &proto.SetAttrReq{Handle: f, FS: bob.fs(), Cred: bob.cred}) // the answer does not matter
		}
		require.Equal(t, c.FS.Root, madeIn(t, c, f))
	}
}
