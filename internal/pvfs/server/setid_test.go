package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestSetIDEndsWithItsOwner: the bits of a mode that set a user or a group do not survive a change of the owner, and only members
// of a group make a file that sets it.
func TestSetIDEndsWithItsOwner(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	r := root(t, c)
	s := newUser(t, c, stranger, stranger)
	perms := func(h proto.Handle) uint32 {
		a, err := r.attr(h, proto.AttrCommon)
		require.NoError(t, err)
		return a.Perms
	}
	pub, err := r.mkdir(c.FS.Root, "pub", 0o777)
	require.NoError(t, err)
	file, err := s.create(pub, "file", 0o755)
	require.NoError(t, err)
	dir, err := s.mkdir(pub, "dir", 0o755)
	require.NoError(t, err)
	for _, h := range []proto.Handle{file, dir} {
		require.NoError(t, s.set(h, s.header(h), proto.Attr{Mask: proto.AttrPerm, Perms: 0o6755}))
		require.EqualValues(t, 0o6755, perms(h), "its own user and group")
		require.NoError(t, r.set(h, r.header(h), proto.Attr{Mask: proto.AttrUID | proto.AttrGID}))
	}
	require.EqualValues(t, 0o755, perms(file))
	require.EqualValues(t, 0o6755, perms(dir), "they mean something else there, as on Linux")

	require.NoError(t, r.set(file, r.header(file), proto.Attr{Mask: proto.AttrUID | proto.AttrGID, Owner: stranger, Group: 7}))
	require.NoError(t, s.set(file, s.header(file), proto.Attr{Mask: proto.AttrPerm, Perms: 0o2775}))
	require.EqualValues(t, 0o775, perms(file), "the owner is not in the group")
	both := proto.Attr{Mask: proto.AttrUID | proto.AttrGID | proto.AttrPerm, Perms: 0o4755}
	require.NoError(t, r.set(file, r.header(file), both))
	require.EqualValues(t, 0o4755, perms(file), "root says what it wants")
}
