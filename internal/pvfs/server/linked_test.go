package server_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestStrangersNameNothing: a stranger gives what belongs to others, and what is not there, names in its own directory, by CRDIRENT
// and by CHDIRENT: root's closed directory and what is in it, a user's home, the root, its own directories around that one, and
// handles of nothing.
func TestStrangersNameNothing(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: servers})
		r, alice, s := root(t, c), newUser(t, c, 1000, 1000, 50), newUser(t, c, stranger, stranger)
		require.NoError(t, r.set(c.FS.Root, r.header(c.FS.Root), proto.Attr{Mask: proto.AttrPerm, Perms: 0o755}))
		folder := func(u *user, in proto.Handle, name string, owner uint32, perms uint32) proto.Handle {
			h, err := u.mkdir(in, name, perms)
			require.NoError(t, err)
			if owner != u.cred.User {
				require.NoError(t, u.set(h, u.header(h), proto.Attr{Mask: proto.AttrUID | proto.AttrGID, Owner: owner, Group: owner}))
			}
			return h
		}
		victims := map[string]proto.Handle{"root": c.FS.Root, "nothing": c.FS.Root + 1}
		own := folder(r, c.FS.Root, "own", stranger, 0o700)
		private := folder(r, c.FS.Root, "private", 0, 0o700)
		home := folder(r, c.FS.Root, "home", 1000, 0o700)
		public := folder(r, c.FS.Root, "public", 1000, 0o755)
		for i := range 2 * servers {
			victims[fmt.Sprint("private", i)] = folder(r, private, fmt.Sprint("d", i), 0, 0o777)
			victims[fmt.Sprint("home", i)] = folder(alice, home, fmt.Sprint("d", i), 1000, 0o755)
			for what, perms := range map[string]uint32{"closed": 0o600, "readable": 0o644, "set-uid": 0o4666} {
				f, err := alice.create(public, fmt.Sprint(what, i), perms)
				require.NoError(t, err)
				victims[fmt.Sprint(what, i)] = f
			}
			link, err := alice.symlink(public, fmt.Sprint("link", i), "x")
			require.NoError(t, err)
			victims[fmt.Sprint("link", i)] = link
		}
		victims["a closed directory"], victims["a home"], victims["what everybody sees"] = private, home, public
		inner := folder(s, own, "inner", stranger, 0o700)
		victims["itself"] = inner
		victims["around it"] = own
		_, err := s.create(inner, "old", 0o600)
		require.NoError(t, err)
		for name, h := range victims {
			require.Error(t, s.link(inner, "stolen", h), "%s by CRDIRENT", name)
			require.Error(t, s.relink(inner, "old", h), "%s by CHDIRENT", name)
		}
		got, err := s.list(inner, 10)
		require.NoError(t, err)
		require.Len(t, got, 1)
	}
}

// TestNamesThatMayBeGiven: a user links and renames what POSIX lets it, with the rights of each of its groups.
func TestNamesThatMayBeGiven(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: servers})
		r, s, other := root(t, c), newUser(t, c, 1000, 1000, 50), newUser(t, c, 1001, 1001)
		shared, err := r.mkdir(c.FS.Root, "shared", 0o770)
		require.NoError(t, err)
		require.NoError(t, r.set(shared, r.header(shared), proto.Attr{Mask: proto.AttrGID, Group: 50}))
		own, err := s.mkdir(c.FS.Root, "own", 0o700)
		require.NoError(t, err)
		for i := range 2 * servers {
			name := func(what string) string { return fmt.Sprint(what, i) }
			f, err := other.create(c.FS.Root, name("writable"), 0o666)
			require.NoError(t, err)
			require.NoError(t, s.link(own, name("linked"), f))

			theirs, err := r.create(shared, name("theirs"), 0o600)
			require.NoError(t, err)
			require.NoError(t, s.link(own, name("renamed"), theirs), "who may remove it may rename it")
			_, err = s.create(own, name("replaced"), 0o600)
			require.NoError(t, err)
			require.NoError(t, s.relink(own, name("replaced"), theirs), "by the groups in its capability")

			d, err := r.mkdir(shared, name("dir"), 0o777)
			require.NoError(t, err)
			require.NoError(t, s.link(own, name("dir"), d))
			mine, err := s.mkdir(own, name("mine"), 0o700)
			require.NoError(t, err)
			require.NoError(t, s.link(shared, name("mine"), mine))
			deep, err := s.mkdir(mine, "deep", 0o700)
			require.NoError(t, err)
			require.Equal(t, proto.EINVAL, s.link(deep, "around", mine))
		}
	}
}

// TestNothingMovesIntoItself: a directory does not count as made in one that is inside it, whatever a client says.
func TestNothingMovesIntoItself(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: servers})
		s := newUser(t, c, stranger, stranger)
		own, err := s.mkdir(c.FS.Root, "own", 0o700)
		require.NoError(t, err)
		for i := range 2 * servers {
			name := fmt.Sprint("d", i)
			outer, err := s.mkdir(own, name, 0o700)
			require.NoError(t, err)
			inner, err := s.mkdir(outer, "inner", 0o700)
			require.NoError(t, err)
			for _, to := range []proto.Handle{outer, inner} {
				err := s.entry(own, name, func(d proto.Handle, h *proto.Header) error {
					h.Hints = append(h.Hints, proto.MovesHint(outer, to))
					_, err := s.to(d, h, &proto.RmDirentReq{Name: name, Dirdata: d, FS: s.fs()})
					return err
				})
				require.Equal(t, proto.EINVAL, err)
			}
			require.Equal(t, own, madeIn(t, c, outer))
			got, err := s.lookup(own, name)
			require.NoError(t, err)
			require.Equal(t, outer, got)
		}
	}
}
