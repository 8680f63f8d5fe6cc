package server_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// stranger is a user that has only the rights of every user.
const stranger = 31337

// TestStolenDatafiles: a user tries to make a metafile with the datafiles of another user's file, which would come with a
// capability for them.
func TestStolenDatafiles(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: servers})
		u := root(t, c)
		private, err := u.mkdir(c.FS.Root, "private", 0o700)
		require.NoError(t, err)
		f, err := u.create(private, "f", 0o600)
		require.NoError(t, err)
		victim, err := u.attr(f, proto.AttrMetafile)
		require.NoError(t, err)
		stolen := proto.Attr{
			Owner: stranger, Group: stranger, Perms: 0o600, Type: proto.TypeMetafile,
			Mask: proto.AttrCommon | proto.AttrDist | proto.AttrDatafiles, Dist: victim.Dist, Datafiles: victim.Datafiles,
		}

		s := newUser(t, c, stranger, stranger)
		steal := func(server int, h *proto.Header, mine proto.Handle) {
			t.Helper()
			if _, err := s.do(server, h, &proto.SetAttrReq{Handle: mine, FS: s.fs(), Cred: s.cred, Attr: stolen}); err == nil {
				a, err := s.attr(mine, proto.AttrMetafile)
				require.NoError(t, err)
				require.NotContains(t, a.Capability.Handles, victim.Datafiles[0], "the stranger has a capability for another's datafile")
			}
		}
		for server := range servers {
			for _, what := range []proto.ObjType{proto.TypeMetafile, proto.TypeDatafile, proto.TypeDirectory, proto.TypeDirdata} {
				resp, err := s.do(server, s.header(c.FS.Root), &proto.BatchCreateReq{FS: s.fs(), Type: what, Count: 1})
				if err == nil {
					mine := resp.(*proto.BatchCreateResp).Handles[0]
					steal(server, s.header2(mine), mine)
				}
				require.Equal(t, proto.EACCES, err, "server %d, type %v", server, what)
			}
		}
		mine, err := s.create(c.FS.Root, "mine", 0o600)
		require.NoError(t, err)
		at, _ := c.FS.Owner(mine)
		steal(at, s.header2(mine), mine)
		link, err := s.symlink(c.FS.Root, "link", "x")
		require.NoError(t, err)
		at, _ = c.FS.Owner(link)
		steal(at, s.header2(link), link)
	}
}

// TestClientsMakeNoMetafiles: neither root nor a squashed user makes anything but a symlink by BATCH_CREATE.
func TestClientsMakeNoMetafiles(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	u := root(t, c)
	_, err := u.do(0, u.header(c.FS.Root), &proto.BatchCreateReq{FS: u.fs(), Type: proto.TypeMetafile, Count: 1})
	require.Equal(t, proto.EACCES, err)

	c.Reload(func(fs *config.Config) { fs.Export.AllSquash = networks(t, "*") })
	k := newClient(t, c)
	for _, what := range []proto.ObjType{proto.TypeMetafile, proto.TypeDatafile, proto.TypeDirectory, proto.TypeDirdata} {
		require.Equal(t, proto.EACCES, k.status(0, &k.root, &proto.BatchCreateReq{FS: c.FS.ID, Type: what, Count: 1}))
	}
}

// TestNewSymlinkIsItsMakers: a symlink gets the owner of the credential that sets its target, also if the request names none.
func TestNewSymlinkIsItsMakers(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	s := newUser(t, c, stranger, stranger)
	resp, err := s.do(0, s.header(c.FS.Root), &proto.BatchCreateReq{FS: s.fs(), Type: proto.TypeSymlink, Count: 1})
	require.NoError(t, err)
	link := resp.(*proto.BatchCreateResp).Handles[0]
	fill := proto.Attr{Type: proto.TypeSymlink, Perms: 0o777, Mask: proto.AttrPerm | proto.AttrTarget, Target: "x"}
	_, err = s.to(link, s.header2(link), &proto.SetAttrReq{Handle: link, FS: s.fs(), Cred: s.cred, Attr: fill})
	require.NoError(t, err)
	a, err := s.attr(link, proto.AttrCommon)
	require.NoError(t, err)
	require.EqualValues(t, stranger, a.Owner)
	require.EqualValues(t, stranger, a.Group)
}

// TestStrangersObserveNothing: only administrators, and clients in a named network, may list a server's objects and users.
func TestStrangersObserveNothing(t *testing.T) {
	for _, named := range [][]string{nil, {"mem://*"}} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: 1, Server: func(_ int, cfg *server.Config) { cfg.Trusted = named }})
		k := newClient(t, c)
		mine := k.header(c.FS.Root)
		k.cred.User, k.cred.Groups = stranger, []uint32{stranger}
		theirs := k.header(c.FS.Root)
		for _, req := range []proto.Request{
			&proto.IterateHandlesReq{FS: c.FS.ID, Count: 10, Position: proto.TokenStart},
			&proto.DspaceInfoReq{FS: c.FS.ID, Handles: []proto.Handle{c.FS.Root}},
			&proto.GetUIDReq{History: 10},
			&proto.PerfMonReq{KeyCount: 5, SampleCount: 1},
		} {
			want := proto.EACCES
			if named != nil {
				want = proto.OK
			}
			require.Equal(t, want, k.status(0, nil, req), "%s", req)
			require.Equal(t, want, k.status(0, &theirs, req), "%s", req)
			require.Equal(t, proto.OK, k.status(0, &mine, req), "%s", req)
		}
	}
}

// TestDatafilesKnowTheirMetafile: if a metafile lists the datafiles of another one, its capability gives no right to their bytes,
// and its removal keeps them, on this and other servers.
func TestDatafilesKnowTheirMetafile(t *testing.T) {
	for _, servers := range []int{1, 2} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: servers, Config: func(g *config.GenOptions) { g.NoStuffing = true }})
		k := newClient(t, c)
		victim, thief := k.create(0, servers, stripe.Default(proto.DistStripe)), k.create(0, servers, stripe.Default(proto.DistStripe))
		victim.write(0, pattern(100000, 1))
		at := k.owner(thief.handle)
		require.NoError(t, c.Store(at).Update(func(tx *store.Tx) error {
			o, err := tx.Get(thief.handle)
			if err != nil {
				return err
			}
			o.Datafiles = victim.attr.Datafiles
			return tx.Put(thief.handle, o)
		}))
		steal := *thief
		steal.attr, steal.header = victim.attr, k.header(thief.handle)
		require.Contains(t, steal.header.Capability.Handles, victim.attr.Datafiles[0])
		for i := range servers {
			read, write := steal.ioReq(i, steal.op(0, 100)), steal.ioReq(i, steal.op(0, 100))
			read.Type, write.Type = proto.IORead, proto.IOWrite
			for _, req := range []proto.Request{
				read, write, steal.smallReq(i, steal.op(0, 100), nil), steal.smallReq(i, steal.op(0, 100), make([]byte, 100)),
				&proto.TruncateReq{Handle: victim.attr.Datafiles[i], FS: c.FS.ID},
			} {
				require.Equal(t, proto.EACCES, k.status(victim.datafileServer(i), &steal.header, req), "%s", req)
			}
		}
		require.Equal(t, proto.OK, k.status(at, &k.root, &proto.RemoveReq{Handle: thief.handle, FS: c.FS.ID, Cred: k.cred}))
		emptied(t, c)
		require.Equal(t, pattern(100000, 1), victim.read(0, 100000))
	}
}

// TestPartsGiveNoRights: the rights to a directory come from its own mode. The objects that have its entries, or the bytes of a
// file, give none, although they have modes from when they were made.
func TestPartsGiveNoRights(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2})
	u := root(t, c)
	dir, err := u.mkdir(c.FS.Root, "dir", 0o777)
	require.NoError(t, err)
	file, err := u.create(dir, "file", 0o666)
	require.NoError(t, err)
	_, err = u.to(dir, u.header(dir), &proto.SetAttrReq{
		Handle: dir, FS: u.fs(), Cred: u.cred, Attr: proto.Attr{Perms: 0o700, Mask: proto.AttrPerm, Type: proto.TypeDirectory},
	})
	require.NoError(t, err)
	d, err := u.attr(dir, proto.AttrMetafile)
	require.NoError(t, err)
	f, err := u.attr(file, proto.AttrMetafile)
	require.NoError(t, err)

	s := newUser(t, c, stranger, stranger)
	for _, part := range slices.Concat(d.DistDir.Dirdata, f.Datafiles) {
		a, err := s.attr(part, proto.AttrMetafile)
		if err == nil {
			require.Zero(t, a.Capability.Mask, "a capability for a part")
		}
	}
	for _, dirdata := range d.DistDir.Dirdata {
		for _, req := range []proto.Request{
			&proto.RmDirentReq{Name: "file", Dirdata: dirdata, FS: s.fs()},
			&proto.ChDirentReq{Name: "file", New: 5, Dirdata: dirdata, FS: s.fs()},
			&proto.CrDirentReq{Cred: s.cred, Name: "other", New: file, Dir: dir, Dirdata: dirdata, FS: s.fs()},
			&proto.ReadDirReq{Dirdata: dirdata, FS: s.fs(), Count: 10, Token: proto.TokenStart},
		} {
			_, err := s.to(dirdata, s.header(dirdata), req)
			require.Equal(t, proto.EACCES, err, "%v", req.Op())
		}
	}
}
