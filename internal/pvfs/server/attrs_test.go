package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestFileLife: a file is stuffed, then not stuffed, then removed with all its datafiles.
func TestFileLife(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
	u := root(t, c)
	resp, err := u.do(1, u.header(c.FS.Root), create(u, proto.DistStripe, proto.LayoutRoundRobin, 3))
	require.NoError(t, err)
	made := resp.(*proto.CreateResp)
	require.True(t, made.Stuffed)
	require.Equal(t, proto.AttrCommon|proto.AttrDatafiles, made.Attr.Mask)
	require.Len(t, made.Attr.Datafiles, 1)
	owner, _ := c.FS.Owner(made.Attr.Datafiles[0])
	require.Equal(t, 1, owner)

	a, err := u.attr(made.Handle, proto.AttrStat)
	require.NoError(t, err)
	require.Equal(t, proto.AttrCommon|proto.AttrDist|proto.AttrDatafiles|proto.AttrCapability, a.Mask)
	require.Equal(t, proto.MayAll&^(proto.MayCreate|proto.MayRemove), a.Capability.Mask)
	require.Equal(t, append([]proto.Handle{made.Handle}, a.Datafiles...), a.Capability.Handles)
	_, err = c.Store(1).WriteAt(a.Datafiles[0], []byte("five!"), 0)
	require.NoError(t, err)
	a, err = u.attr(made.Handle, proto.AttrStat)
	require.NoError(t, err)
	require.EqualValues(t, 5, a.StuffedSize)

	h := u.header(made.Handle)
	_, err = u.to(made.Handle, nil, &proto.UnstuffReq{Handle: made.Handle, FS: u.fs(), Mask: proto.AttrUnstuff, Cred: u.cred})
	require.Equal(t, proto.EACCES, err)
	var grown proto.Attr
	for range 2 {
		resp, err = u.to(made.Handle, h, &proto.UnstuffReq{Handle: made.Handle, FS: u.fs(), Mask: proto.AttrUnstuff, Cred: u.cred})
		require.NoError(t, err)
		if grown.Mask != 0 {
			require.Equal(t, grown.Datafiles, resp.(*proto.UnstuffResp).Attr.Datafiles, "once is enough")
		}
		grown = resp.(*proto.UnstuffResp).Attr
	}
	require.Equal(t, proto.AttrCommon|proto.AttrDist|proto.AttrDatafiles|proto.AttrUnstuffed|proto.AttrCapability, grown.Mask)
	require.Len(t, grown.Datafiles, 3)
	owners := map[int]bool{}
	for _, d := range grown.Datafiles {
		i, ok := c.FS.Owner(d)
		require.True(t, ok)
		owners[i] = true
	}
	require.Len(t, owners, 3)
	require.Equal(t, a.Datafiles[0], grown.Datafiles[0])

	list, err := u.do(1, nil, &proto.ListAttrReq{FS: u.fs(), Mask: proto.AttrListAttr, Handles: []proto.Handle{made.Handle, 77, grown.Datafiles[0]}})
	require.NoError(t, err)
	require.Equal(t, []proto.Status{0, proto.ENOENT, 0}, list.(*proto.ListAttrResp).Status)
	require.EqualValues(t, 5, list.(*proto.ListAttrResp).Attrs[2].DatafileSize)
	_, err = u.do(1, nil, &proto.ListAttrReq{FS: u.fs(), Handles: make([]proto.Handle, 60)})
	require.NoError(t, err)

	_, err = u.to(made.Handle, u.header(c.FS.Root), &proto.RemoveReq{Handle: made.Handle, FS: u.fs(), Cred: u.cred})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		for _, d := range grown.Datafiles {
			if _, err := u.attr(d, proto.AttrDatafileSize); err != proto.ENOENT {
				return false
			}
		}
		return true
	}, farOff, time.Millisecond, "datafiles of other servers go in the background")
}

// TestLayouts: which servers get the datafiles.
func TestLayouts(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
	u := root(t, c)
	h := u.header(c.FS.Root)
	make := func(req *proto.CreateReq) []int {
		resp, err := u.do(0, h, req)
		require.NoError(t, err)
		var owners []int
		for _, d := range resp.(*proto.CreateResp).Attr.Datafiles {
			i, ok := c.FS.Owner(d)
			require.True(t, ok)
			owners = append(owners, i)
		}
		require.Equal(t, resp.(*proto.CreateResp).Stuffed, resp.(*proto.CreateResp).Attr.Mask&proto.AttrUnstuffed == 0)
		return owners
	}
	require.Equal(t, []int{0}, make(create(u, proto.DistStripe, proto.LayoutRoundRobin, 0)), "stuffed")
	require.Len(t, make(create(u, proto.DistStripe, proto.LayoutRoundRobin, 1)), 1)
	require.Len(t, make(create(u, proto.DistBasic, proto.LayoutRoundRobin, 3)), 1)
	require.Equal(t, []int{0, 1}, make(create(u, proto.DistStripe, proto.LayoutNone, 2)))
	require.ElementsMatch(t, []int{0, 1, 2}, make(create(u, proto.DistStripe, proto.LayoutRandom, 3)))
	require.ElementsMatch(t, []int{0, 1, 2}, make(create(u, proto.DistStripe, proto.LayoutRandom, 30)))
	require.Equal(t, []int{0, 0}, make(create(u, proto.DistStripe, proto.LayoutLocal, 2)))
	list := create(u, proto.DistStripe, proto.LayoutList, 2, c.Address(2), c.Address(1))
	require.Equal(t, []int{2, 1}, make(list))
	for range 70 { // more than the first batch of datafiles made in advance
		require.Len(t, make(create(u, proto.DistStripe, proto.LayoutRandom, 3)), 3)
	}
}

func TestUnknownDistribution(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	u := root(t, c)
	req := create(u, proto.DistStripe, proto.LayoutRoundRobin, 1)
	req.Attr.Dist.StripSize = -1
	_, err := u.do(0, u.header(c.FS.Root), req)
	require.Equal(t, proto.EINVAL, err)
}

func TestSetAttrTimes(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1, Config: func(g *config.GenOptions) { g.NoTimeouts = true }, // the client has another clock
		Server: func(_ int, cfg *server.Config) { cfg.Clock = func() time.Time { return now } }})
	u := root(t, c)
	f, err := u.create(c.FS.Root, "f", 0o644)
	require.NoError(t, err)
	set := func(a proto.Attr) proto.Attr {
		_, err := u.to(f, u.header(f), &proto.SetAttrReq{Handle: f, FS: u.fs(), Attr: a, Cred: u.cred})
		require.NoError(t, err)
		got, err := u.attr(f, proto.AttrCommon)
		require.NoError(t, err)
		return got
	}
	now = now.Add(time.Hour)
	a := set(proto.Attr{ATime: 5, MTime: 6, CTime: 7, Mask: proto.AttrATime | proto.AttrATimeSet | proto.AttrMTime | proto.AttrMTimeSet})
	require.EqualValues(t, 5, a.ATime)
	require.EqualValues(t, 6, a.MTime)
	require.Equal(t, now.Unix(), a.CTime)
	now = now.Add(time.Hour)
	a = set(proto.Attr{ATime: 5, Mask: proto.AttrATime})
	require.Equal(t, now.Unix(), a.ATime)
	require.Equal(t, now.Add(-time.Hour).Unix(), a.CTime)
	now = now.Add(time.Hour)
	a = set(proto.Attr{Mask: proto.AttrCommon &^ (proto.AttrUID | proto.AttrGID | proto.AttrPerm)})
	require.Equal(t, now.Unix(), a.MTime)
	require.EqualValues(t, 0o644, a.Perms)
	a = set(proto.Attr{Perms: 0o170755, Mask: proto.AttrPerm})
	require.EqualValues(t, 0o755, a.Perms)
}

func TestSymlinkAttributes(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	ann := newUser(t, c, 1001, 101)
	l, err := ann.symlink(c.FS.Root, "l", "target")
	require.NoError(t, err)
	a, err := ann.attr(l, proto.AttrStat)
	require.NoError(t, err)
	require.Equal(t, proto.AttrCommon|proto.AttrTarget|proto.AttrCapability, a.Mask)
	require.EqualValues(t, 1001, a.Owner)
	_, err = ann.to(l, ann.header(l), &proto.SetAttrReq{Handle: l, FS: ann.fs(), Cred: ann.cred, Attr: proto.Attr{Perms: 0o600, Mask: proto.AttrPerm}})
	require.Equal(t, proto.EACCES, err)
	bob := newUser(t, c, 1002, 102)
	_, err = bob.to(l, bob.header(l), &proto.SetAttrReq{Handle: l, FS: bob.fs(), Cred: bob.cred, Attr: proto.Attr{Target: "x", Mask: proto.AttrTarget}})
	require.Equal(t, proto.EACCES, err)

	resp, err := bob.do(0, bob.header(c.FS.Root), &proto.BatchCreateReq{FS: bob.fs(), Type: proto.TypeSymlink, Count: 1})
	require.NoError(t, err)
	fresh := resp.(*proto.BatchCreateResp).Handles[0]
	_, err = bob.attr(fresh, proto.AttrStat)
	require.Equal(t, proto.ENOENT, err, "it has no target yet")
	_, err = bob.to(fresh, bob.header2(fresh), &proto.SetAttrReq{Handle: fresh, FS: bob.fs(), Cred: bob.cred, Attr: proto.Attr{Owner: 1001, Mask: proto.AttrUID}})
	require.Equal(t, proto.EPERM, err)
	_, err = bob.do(0, bob.header(c.FS.Root), &proto.BatchCreateReq{FS: bob.fs(), Type: proto.TypeSymlink, Count: 2})
	require.Equal(t, proto.EACCES, err)
}

func TestExtendedAttributes(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2})
	u := root(t, c)
	f, err := u.create(c.FS.Root, "f", 0o644)
	require.NoError(t, err)
	h := u.header(f)
	set := func(flags int32, name, value string) error {
		_, err := u.to(f, h, &proto.SetEattrReq{Handle: f, FS: u.fs(), Flags: flags, Keys: []string{name}, Values: [][]byte{[]byte(value)}})
		return err
	}
	get := func(size int64, names ...string) (*proto.GetEattrResp, error) {
		sizes := make([]int64, len(names))
		for i := range sizes {
			sizes[i] = size
		}
		resp, err := u.to(f, nil, &proto.GetEattrReq{Handle: f, FS: u.fs(), Keys: names, Sizes: sizes})
		if err != nil {
			return nil, err
		}
		return resp.(*proto.GetEattrResp), nil
	}
	list := func(n int, token uint64) ([]string, uint64) {
		sizes := make([]int64, n)
		for i := range sizes {
			sizes[i] = 256
		}
		resp, err := u.to(f, nil, &proto.ListEattrReq{Handle: f, FS: u.fs(), Token: token, Sizes: sizes})
		require.NoError(t, err)
		return resp.(*proto.ListEattrResp).Keys, resp.(*proto.ListEattrResp).Token
	}
	require.NoError(t, set(0, "user.a", "1"))
	require.NoError(t, set(1, "user.b", "22"))
	require.Equal(t, proto.EEXIST, set(1, "user.b", "3"))
	require.Equal(t, proto.ENOENT, set(2, "user.c", "3"))
	require.NoError(t, set(2, "user.b", "33"))
	for name, want := range map[string]proto.Status{
		"plain": proto.EOPNOTSUPP, "user.": proto.EOPNOTSUPP, "system.pvfs2.md": proto.EINVAL, "system.posix_acl_access": proto.EINVAL,
	} {
		require.Equal(t, want, set(0, name, "x"), name)
	}
	require.NoError(t, set(0, "system.posix_acl_access", "\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff"))

	got, err := get(8192, "user.a", "user.x", "user.b")
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("1"), nil, []byte("33")}, nils(got.Values))
	require.Equal(t, []proto.Status{0, proto.ENOENT, 0}, got.Errors)
	got, err = get(1, "user.b")
	require.NoError(t, err)
	require.Equal(t, []proto.Status{proto.ERANGE}, got.Errors)
	for _, name := range []string{"user.x", "plain", "system.pvfs2.xx"} {
		_, err = get(8192, name)
		require.Equal(t, proto.ENOENT, err, name)
	}
	got, err = get(8192, "system.pvfs2.md", "system.pvfs2.dh")
	require.NoError(t, err)
	require.Equal(t, "\x0d\x00\x00\x00simple_stripe\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00"+string(make([]byte, 24)), string(got.Values[0]))
	require.Len(t, got.Values[1], 8+8)

	all, token := list(16, proto.TokenStart)
	want := []string{"system.pvfs2.dh", "system.pvfs2.md", "system.pvfs2.ml", "system.pvfs2.nd", "system.posix_acl_access", "user.a", "user.b"}
	require.ElementsMatch(t, want, all)
	require.Equal(t, want[:4], all[:4])
	require.EqualValues(t, proto.TokenEnd, token)
	for n := 1; n < 9; n++ {
		var some []string
		for token := uint64(proto.TokenStart); token != proto.TokenEnd; {
			var part []string
			part, token = list(n, token)
			some = append(some, part...)
		}
		require.Equal(t, all, some, n)
	}
	none, count := list(0, proto.TokenStart)
	require.Empty(t, none)
	require.EqualValues(t, len(want), count)

	del := func(name string) error {
		_, err := u.to(f, h, &proto.DelEattrReq{Handle: f, FS: u.fs(), Key: name})
		return err
	}
	require.NoError(t, del("user.a"))
	require.Equal(t, proto.ENOENT, del("user.a"))
	require.Equal(t, proto.EINVAL, del("system.pvfs2.dh"))
	bob := newUser(t, c, 1002, 102)
	_, err = bob.to(f, bob.header(f), &proto.SetEattrReq{Handle: f, FS: u.fs(), Keys: []string{"user.z"}, Values: [][]byte{nil}})
	require.Equal(t, proto.EACCES, err)
	mine, err := bob.create(c.FS.Root, "mine", 0o644)
	require.NoError(t, err)
	_, err = bob.to(mine, bob.header(mine), &proto.SetEattrReq{Handle: mine, FS: u.fs(), Keys: []string{"trusted.z"}, Values: [][]byte{nil}})
	require.Equal(t, proto.EACCES, err)
}

// nils makes empty values nil.
func nils(values [][]byte) [][]byte {
	for i, v := range values {
		if len(v) == 0 {
			values[i] = nil
		}
	}
	return values
}

func TestAtomicAttributes(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	u := root(t, c)
	f, err := u.create(c.FS.Root, "f", 0o644)
	require.NoError(t, err)
	h := u.header(f)
	do := func(op int32, value string) (string, error) {
		resp, err := u.to(f, h, &proto.AtomicEattrReq{
			Handle: f, FS: u.fs(), Opcode: op, Keys: []string{"user.n"}, Values: [][]byte{[]byte(value)}, Sizes: []int64{8192},
		})
		if err != nil {
			return "", err
		}
		return string(resp.(*proto.AtomicEattrResp).Values[0]), nil
	}
	_, err = do(2, "x")
	require.Equal(t, proto.ENOENT, err)
	_, err = do(3, "x")
	require.Equal(t, proto.ENOSYS, err)
	_, err = u.to(f, h, &proto.SetEattrReq{Handle: f, FS: u.fs(), Keys: []string{"user.n"}, Values: [][]byte{{0, 0, 0, 0}}})
	require.NoError(t, err)
	for _, step := range []struct {
		op       int32
		with, is string
	}{
		{1, "\x01\x00\x00\x00", "\x00\x00\x00\x00"}, {1, "\x01\x00\x00\x00", "\x01\x00\x00\x00"},
		{0xADD, "\x05\x00\x00\x00", "\x01\x00\x00\x00"}, {0xADD, "odd", "\x06\x00\x00\x00"},
		{2, "text", "\x06\x00\x00\x00"}, {2, "text", "text"},
	} {
		was, err := do(step.op, step.with)
		require.NoError(t, err)
		require.Equal(t, step.is, was)
	}
}

// TestDirectoryHints: settings that users make on a directory are returned with it.
func TestDirectoryHints(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	u := root(t, c)
	d, err := u.mkdir(c.FS.Root, "d", 0o755)
	require.NoError(t, err)
	_, err = u.to(d, u.header(d), &proto.SetEattrReq{
		Handle: d, FS: u.fs(), Keys: []string{"user.pvfs2.num_dfiles", "user.pvfs2.dist_name", "user.pvfs2.layout"},
		Values: [][]byte{[]byte("4\x00"), []byte("basic_dist"), []byte("3")},
	})
	require.NoError(t, err)
	a, err := u.attr(d, proto.AttrMetafile)
	require.NoError(t, err)
	sub, err := u.mkdir(d, "sub", 0o755)
	require.NoError(t, err)
	inherit := &proto.SetEattrReq{Handle: sub, FS: u.fs(), Keys: []string{"user.pvfs2.num_dfiles"}, Values: [][]byte{[]byte("4\x00")}}
	_, err = u.to(sub, u.header(d), inherit)
	require.NoError(t, err, "with the parent's capability, as stock clients do")
	_, err = u.to(sub, u.header(d), inherit)
	require.Equal(t, proto.EEXIST, err, "once")
	_, err = u.to(sub, u.header(c.FS.Root), inherit)
	require.Equal(t, proto.EACCES, err)
	require.Equal(t, proto.DirHint{Datafiles: 4, DistName: "basic_dist", Layout: proto.LayoutRandom}, proto.DirHint{Datafiles: a.Hint.Datafiles, DistName: a.Hint.DistName, Layout: a.Hint.Layout})
}

// TestSetAttrStaysWhole: a request that is refused halfway changes nothing.
func TestSetAttrStaysWhole(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	u := root(t, c)
	f, err := u.create(c.FS.Root, "f", 0o644)
	require.NoError(t, err)
	before := c.Server(0).Stats().Changes
	_, err = u.to(f, u.header(f), &proto.SetEattrReq{
		Handle: f, FS: u.fs(), Flags: 1, Keys: []string{"user.a", "user.a"}, Values: [][]byte{{1}, {2}},
	})
	require.Equal(t, proto.EEXIST, err)
	_, err = u.to(f, nil, &proto.GetEattrReq{Handle: f, FS: u.fs(), Keys: []string{"user.a"}, Sizes: []int64{9}})
	require.Equal(t, proto.ENOENT, err)
	require.Equal(t, before, c.Server(0).Stats().Changes)
}
