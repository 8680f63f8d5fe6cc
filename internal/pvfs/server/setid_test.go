package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
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

// TestWritesEndSetID: who writes to a file whose mode sets its owner takes that away, on whatever server the bytes are, and whenever
// it opened the file. Root does not.
func TestWritesEndSetID(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: servers, Config: func(g *config.GenOptions) { g.NoStuffing = true }})
		k := newClient(t, c)
		f := k.create(0, servers, stripe.Default(proto.DistStripe))
		r, s := root(t, c), newUser(t, c, stranger, stranger)
		own := proto.Attr{Mask: proto.AttrUID | proto.AttrGID | proto.AttrPerm, Owner: 1000, Group: 1000, Perms: 0o777}
		require.NoError(t, r.set(f.handle, r.header(f.handle), own))
		perms := func() uint32 {
			a, err := r.attr(f.handle, proto.AttrCommon)
			require.NoError(t, err)
			return a.Perms
		}
		setID := func() {
			require.NoError(t, r.set(f.handle, r.header(f.handle), proto.Attr{Mask: proto.AttrPerm, Perms: 0o6777}))
			require.EqualValues(t, 0o6777, perms())
		}
		writes := []func(u *user, h *proto.Header) error{func(u *user, h *proto.Header) error {
			_, err := u.do(f.datafileServer(0), h, f.smallReq(0, f.op(0, 100), make([]byte, 100)))
			return err
		}}
		for i := range f.attr.Datafiles {
			writes = append(writes, func(u *user, h *proto.Header) error {
				_, err := u.do(f.datafileServer(i), h, &proto.TruncateReq{Handle: f.attr.Datafiles[i], FS: c.FS.ID, Size: 10})
				return err
			})
		}
		for _, write := range writes {
			before, opened := s.header(f.handle), s.opened(f.handle)
			setID()
			require.Equal(t, proto.EAGAIN, write(s, before), "from before the mode was set")
			require.Equal(t, proto.EAGAIN, write(s, opened), "from an open file before the mode was set")
			require.NoError(t, write(r, r.header(f.handle)))
			require.EqualValues(t, 0o6777, perms(), "root may")
			h := s.header(f.handle)
			require.NoError(t, write(s, h))
			require.EqualValues(t, 0o777, perms())
			setID()
			require.Equal(t, proto.EAGAIN, write(s, h), "the mode was set again")
			open := s.opened(f.handle)
			require.NoError(t, write(s, open))
			require.EqualValues(t, 0o777, perms())
			require.NoError(t, write(s, open))
		}
	}
}
