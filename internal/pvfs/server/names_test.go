package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

var farTime = time.Now().Add(24 * time.Hour)

func names(entries []proto.DirEntry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Name)
	}
	return all
}

func TestConfigAndRoot(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	u := root(t, c)
	for i := range c.Len() {
		resp, err := u.do(i, nil, &proto.GetConfigReq{})
		require.NoError(t, err)
		require.Equal(t, c.FS.Text, resp.(*proto.GetConfigResp).Text)
	}
	a, err := u.attr(c.FS.Root, proto.AttrMetafile)
	require.NoError(t, err)
	require.Equal(t, proto.AttrCommon|proto.AttrDirHint|proto.AttrDistDir|proto.AttrCapability, a.Mask)
	require.EqualValues(t, 0o777, a.Perms)
	require.Equal(t, proto.MayAll, a.Capability.Mask)
	require.Equal(t, append([]proto.Handle{c.FS.Root}, a.DistDir.Dirdata...), a.Capability.Handles)
	all, err := u.list(c.FS.Root, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"lost+found"}, names(all))
	d, err := u.attr(a.DistDir.Dirdata[0], proto.AttrOfDirdata)
	require.NoError(t, err)
	require.EqualValues(t, 1, d.DirentCount)
	require.Equal(t, proto.AttrOfDirdata, d.Mask)
}

func TestNames(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	u := root(t, c)
	r := c.FS.Root
	d, err := u.mkdir(r, "d", 0o755)
	require.NoError(t, err)
	e, err := u.mkdir(d, "e", 0o755)
	require.NoError(t, err)
	f, err := u.create(e, "f", 0o644)
	require.NoError(t, err)
	l, err := u.symlink(e, "l", "../f")
	require.NoError(t, err)
	for path, want := range map[string]proto.Handle{"d": d, "d/e": e, "/d//e/": e, "d/e/f": f, "d/e/l": l} {
		got, err := u.lookup(r, strings.Trim(strings.ReplaceAll(path, "//", "/"), "/"))
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
	for path, want := range map[string]proto.Status{
		"x": proto.ENOENT, "d/x": proto.ENOENT, "d/e/x": proto.ENOENT, "x/y": proto.ENOENT,
		"d/e/f/x": proto.ENOTDIR, "d/" + strings.Repeat("n", 256): proto.ENAMETOOLONG,
	} {
		_, err := u.lookup(r, path)
		require.Equal(t, want, err, path)
	}
	for name, want := range map[string]proto.Status{
		"e": proto.EEXIST, strings.Repeat("n", 256): proto.ENAMETOOLONG, "a/b": proto.EINVAL,
		".": proto.EINVAL, "..": proto.EINVAL, "": proto.EINVAL,
	} {
		_, err := u.mkdir(d, name, 0o755)
		require.Equal(t, want, err, name)
	}
	long := strings.Repeat("n", 255)
	_, err = u.create(d, long, 0o644)
	require.NoError(t, err)
	a, err := u.attr(l, proto.AttrStat)
	require.NoError(t, err)
	require.Equal(t, "../f", a.Target)

	require.Equal(t, proto.ENOTEMPTY, u.remove(r, "d"))
	require.NoError(t, u.remove(d, long))
	require.Equal(t, proto.ENOENT, u.remove(d, long))
	require.NoError(t, u.remove(e, "f"))
	_, err = u.attr(f, proto.AttrCommon)
	require.Equal(t, proto.ENOENT, err)
	require.NoError(t, u.remove(e, "l"))
	require.NoError(t, u.remove(d, "e"))
	require.NoError(t, u.remove(r, "d"))
	all, err := u.list(r, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"lost+found"}, names(all))
}

// TestRename: a rename as stock clients do it, in both orders.
func TestRename(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	u := root(t, c)
	d, err := u.mkdir(c.FS.Root, "d", 0o755)
	require.NoError(t, err)
	a, err := u.create(d, "a", 0o644)
	require.NoError(t, err)
	b, err := u.create(d, "b", 0o644)
	require.NoError(t, err)
	require.NoError(t, u.link(d, "c", a))
	require.NoError(t, u.link(d, "c", a), "a request that is repeated")
	require.Equal(t, proto.EEXIST, u.link(d, "c", b))
	was, err := u.unlink(d, "a")
	require.NoError(t, err)
	require.Equal(t, a, was)
	change := func(name string, to proto.Handle) (old proto.Handle, err error) {
		err = u.entry(d, name, func(dd proto.Handle, h *proto.Header) error {
			resp, err := u.to(dd, h, &proto.ChDirentReq{Name: name, New: to, Dirdata: dd, FS: u.fs()})
			if err == nil {
				old = resp.(*proto.ChDirentResp).Old
			}
			return err
		})
		return old, err
	}
	old, err := change("b", a)
	require.NoError(t, err)
	require.Equal(t, b, old)
	_, err = change("x", a)
	require.Equal(t, proto.ENOENT, err)
	_, err = change("b", 0)
	require.Equal(t, proto.EINVAL, err)
	got, err := u.lookup(c.FS.Root, "d/b")
	require.NoError(t, err)
	require.Equal(t, a, got)
}

// TestPermissions: the rights of users to each other's objects.
func TestPermissions(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	r := root(t, c)
	ann, bob := newUser(t, c, 1001, 101, 7), newUser(t, c, 1002, 102, 7)
	home, err := r.mkdir(c.FS.Root, "home", 0o777)
	require.NoError(t, err)
	d, err := ann.mkdir(home, "ann", 0o750)
	require.NoError(t, err)
	a, err := ann.attr(d, proto.AttrCommon)
	require.NoError(t, err)
	require.EqualValues(t, 1001, a.Owner)
	require.EqualValues(t, 101, a.Group)
	f, err := ann.create(d, "f", 0o640)
	require.NoError(t, err)

	_, err = bob.create(d, "x", 0o644)
	require.Equal(t, proto.EACCES, err)
	_, err = bob.lookup(home, "ann/f")
	require.Equal(t, proto.EACCES, err)
	_, err = bob.list(d, 10)
	require.Equal(t, proto.EACCES, err)
	_, err = bob.unlink(d, "f")
	require.Equal(t, proto.EACCES, err)

	set := func(u *user, h proto.Handle, a proto.Attr) error {
		_, err := u.to(h, u.header(h), &proto.SetAttrReq{Handle: h, FS: u.fs(), Attr: a, Cred: u.cred})
		return err
	}
	chmod := proto.Attr{Perms: 0o777, Mask: proto.AttrPerm}
	require.Equal(t, proto.EACCES, set(bob, f, chmod))
	require.Equal(t, proto.EACCES, set(bob, f, proto.Attr{Mask: proto.AttrMTime}))
	require.Equal(t, proto.EACCES, set(bob, d, chmod))
	require.Equal(t, proto.EACCES, set(bob, c.FS.Root, chmod), "a directory of root is not a fresh object")
	require.NoError(t, set(ann, f, proto.Attr{Perms: 0o664, Group: 7, Mask: proto.AttrPerm | proto.AttrGID}))
	require.NoError(t, set(bob, f, proto.Attr{Mask: proto.AttrMTime}), "he is of the group")
	require.Equal(t, proto.EPERM, set(ann, f, proto.Attr{Owner: 1002, Mask: proto.AttrUID}))
	require.Equal(t, proto.EPERM, set(ann, f, proto.Attr{Group: 102, Mask: proto.AttrGID}))
	require.NoError(t, set(r, f, proto.Attr{Owner: 1002, Group: 102, Mask: proto.AttrUID | proto.AttrGID}))
	require.Equal(t, proto.EACCES, set(ann, f, chmod))
	for _, mask := range []proto.AttrMask{proto.AttrDist, proto.AttrDatafiles, proto.AttrDistDir} {
		require.Equal(t, proto.EPERM, set(r, f, proto.Attr{Mask: mask, Type: proto.TypeMetafile}))
	}
	require.Equal(t, proto.EACCES, set(r, f, proto.Attr{Mask: proto.AttrPerm, Type: proto.TypeDirectory}))

	require.NoError(t, set(ann, d, proto.Attr{Perms: 0o751, Mask: proto.AttrPerm}))
	got, err := bob.lookup(home, "ann/f")
	require.NoError(t, err)
	require.Equal(t, f, got)
	other := newUser(t, c, 1003, 103)
	require.Zero(t, other.header(d).Capability.Mask&proto.MayRead)
	require.NoError(t, set(ann, d, proto.Attr{Perms: 0o707, Group: 7, Mask: proto.AttrPerm | proto.AttrGID}))
	require.Zero(t, bob.header(d).Capability.Mask, "the group's bits decide, not others'")
}

// TestOwnerGIDHint: the group must be one of the credential's.
func TestOwnerGIDHint(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	ann := newUser(t, c, 1001, 101, 7)
	try := func(u *user, gid uint64) (uint32, error) {
		h := u.header(c.FS.Root)
		h.Hints = append(h.Hints, proto.Hint{Type: proto.HintOwnerGID, Value: gid})
		resp, err := u.do(0, h, &proto.MkdirReq{FS: u.fs(), Cred: u.cred, Attr: proto.Attr{Mask: proto.AttrMkdir, Type: proto.TypeDirectory}})
		if err != nil {
			return 0, err
		}
		a, err := u.attr(resp.(*proto.MkdirResp).Handle, proto.AttrCommon)
		return a.Group, err
	}
	g, err := try(ann, 7)
	require.NoError(t, err)
	require.EqualValues(t, 7, g)
	_, err = try(ann, 8)
	require.Equal(t, proto.EPERM, err)
	g, err = try(root(t, c), 8)
	require.NoError(t, err)
	require.EqualValues(t, 8, g)
}

// TestCapabilities: which capabilities are accepted.
func TestCapabilities(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	u := root(t, c)
	d, err := u.mkdir(c.FS.Root, "d", 0o777)
	require.NoError(t, err)
	a, err := u.attr(d, proto.AttrMetafile)
	require.NoError(t, err)
	good := func() *proto.Header { return u.header(d) }
	for name, test := range map[string]struct {
		spoil func(h *proto.Header)
		want  error
	}{
		"good":            {func(*proto.Header) {}, nil},
		"none":            {func(h *proto.Header) { h.Capability = proto.Capability{} }, proto.EACCES},
		"other mask":      {func(h *proto.Header) { h.Capability.Mask ^= 1 << 20 }, proto.EPERM},
		"other handle":    {func(h *proto.Header) { h.Capability.Handles[0]++ }, proto.EPERM},
		"more handles":    {func(h *proto.Header) { h.Capability.Handles = append(h.Capability.Handles, 5) }, proto.EPERM},
		"other issuer":    {func(h *proto.Header) { h.Capability.Issuer = "S:me" }, proto.EPERM},
		"longer":          {func(h *proto.Header) { h.Capability.Timeout = farTime }, proto.EPERM},
		"other fs":        {func(h *proto.Header) { h.Capability.FS++ }, proto.EPERM},
		"no signature":    {func(h *proto.Header) { h.Capability.Signature = nil }, proto.EPERM},
		"other directory": {func(h *proto.Header) { *h = *u.header(c.FS.Root) }, proto.EACCES},
		"claims a server": {func(h *proto.Header) {
			h.Capability = proto.Capability{Issuer: "S:server0", FS: u.fs(), Mask: proto.MayAll, Timeout: farTime, Handles: a.DistDir.Dirdata}
			h.Hints = append(h.Hints, proto.Hint{Type: proto.HintServerID, Value: 1})
		}, proto.EPERM},
	} {
		h := good()
		test.spoil(h)
		_, err := u.to(d, h, &proto.ReadDirReq{Dirdata: a.DistDir.Dirdata[0], FS: u.fs(), Count: 1, Token: proto.TokenStart})
		require.Equal(t, test.want, err, name)
	}
	// Requests only for servers.
	for _, req := range []proto.Request{
		&proto.SplitDirentReq{FS: u.fs(), Dirdata: a.DistDir.Dirdata[0], Dist: proto.Dist{Name: proto.DistBasic}, Undo: 1},
		&proto.CreateRootDirReq{Handle: c.FS.Root, FS: u.fs()},
	} {
		_, err := u.to(d, good(), req)
		require.Equal(t, proto.EACCES, err)
	}
	bob := newUser(t, c, 5, 5)
	_, err = bob.to(d, bob.header(d), &proto.GetDirentReq{Dirdata: a.DistDir.Dirdata[0], FS: u.fs(), Name: "x"})
	require.Equal(t, proto.EACCES, err)
	_, err = bob.to(d, bob.header(d), &proto.RemoveReq{Handle: a.DistDir.Dirdata[0], FS: u.fs(), Cred: bob.cred})
	require.Equal(t, proto.EPERM, err)
	_, err = u.to(c.FS.Root, u.header(c.FS.Root), &proto.RemoveReq{Handle: c.FS.Root, FS: u.fs(), Cred: u.cred})
	require.Equal(t, proto.EBUSY, err)
}

// TestTimeouts: an expired capability must be requested again.
func TestTimeouts(t *testing.T) {
	for _, off := range []bool{false, true} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: 1, Config: func(o *config.GenOptions) { o.NoTimeouts = off }})
		u := root(t, c)
		old := *u
		old.cred.Timeout = time.Now().Add(-time.Minute)
		_, err := old.attr(c.FS.Root, proto.AttrCommon)
		if off {
			require.NoError(t, err)
		} else {
			require.Equal(t, proto.EAGAIN, err)
		}
	}
}

// TestNameRequestsRefused: requests that no server carries out for any sender.
func TestNameRequestsRefused(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	u := root(t, c)
	h := u.header(c.FS.Root)
	fsid := u.fs()
	a, err := u.attr(c.FS.Root, proto.AttrMetafile)
	require.NoError(t, err)
	dd := a.DistDir.Dirdata[0]
	nobody := proto.Handle(1 << 63)
	foreign := c.FS.Servers[1].Meta[0].Last - 9
	for name, test := range map[string]struct {
		req  proto.Request
		want proto.Status
	}{
		"other fs":            {&proto.GetAttrReq{Handle: c.FS.Root, FS: fsid + 1, Cred: u.cred}, proto.EINVAL},
		"no such object":      {&proto.GetAttrReq{Handle: c.FS.Root + 1, FS: fsid, Cred: u.cred}, proto.ENOENT},
		"no such range":       {&proto.GetAttrReq{Handle: nobody, FS: fsid, Cred: u.cred}, proto.ENOENT},
		"other server's":      {&proto.GetAttrReq{Handle: foreign, FS: fsid, Cred: u.cred}, proto.ENOENT},
		"no groups":           {&proto.GetAttrReq{Handle: c.FS.Root, FS: fsid}, proto.EINVAL},
		"entry for nothing":   {&proto.CrDirentReq{Cred: u.cred, Name: "n", New: 0, Dir: c.FS.Root, Dirdata: dd, FS: fsid}, proto.EINVAL},
		"entry for nobody's":  {&proto.CrDirentReq{Cred: u.cred, Name: "n", New: nobody, Dir: c.FS.Root, Dirdata: dd, FS: fsid}, proto.EINVAL},
		"entry for no object": {&proto.CrDirentReq{Cred: u.cred, Name: "n", New: c.FS.Root + 1, Dir: c.FS.Root, Dirdata: dd, FS: fsid}, proto.ENOENT},
		"entry for datafile":  {&proto.CrDirentReq{Cred: u.cred, Name: "n", New: c.FS.Servers[0].Data[0].First, Dir: c.FS.Root, Dirdata: dd, FS: fsid}, proto.EINVAL},
		"entry in directory":  {&proto.CrDirentReq{Cred: u.cred, Name: "n", New: c.FS.Root, Dir: c.FS.Root, Dirdata: c.FS.Root, FS: fsid}, proto.ENOTDIR},
		"list a directory":    {&proto.ReadDirReq{Dirdata: c.FS.Root, FS: fsid, Count: 1}, proto.ENOTDIR},
		"mkdir of a file":     {&proto.MkdirReq{FS: fsid, Cred: u.cred, Attr: proto.Attr{Type: proto.TypeMetafile}}, proto.EINVAL},
		"few of many":         {&proto.MkdirReq{FS: fsid, Cred: u.cred, Attr: proto.Attr{Type: proto.TypeDirectory}, InitialServers: 3, MaxServers: 2}, proto.EINVAL},
		"batch of none":       {&proto.BatchCreateReq{FS: fsid, Type: proto.TypeSymlink}, proto.EINVAL},
		"batch of internal":   {&proto.BatchCreateReq{FS: fsid, Type: proto.TypeInternal, Count: 1}, proto.EACCES},
		"foreign extent":      {&proto.BatchCreateReq{FS: fsid, Type: proto.TypeMetafile, Count: 1, Extents: c.FS.Servers[1].Meta}, proto.EACCES},
		"unstuff a directory": {&proto.UnstuffReq{Handle: c.FS.Root, FS: fsid, Mask: proto.AttrUnstuff, Cred: u.cred}, proto.EINVAL},
		"empty path":          {&proto.LookupPathReq{Path: "//", FS: fsid, Start: c.FS.Root, Cred: u.cred}, proto.ENOENT},
		"deep path":           {&proto.LookupPathReq{Path: strings.Repeat("a/", 41), FS: fsid, Start: c.FS.Root, Cred: u.cred}, proto.ENAMETOOLONG},
		"remove nothing":      {&proto.RemoveReq{Handle: c.FS.Root + 1, FS: fsid, Cred: u.cred}, proto.ENOENT},
		"unknown layout":      {create(u, proto.DistStripe, 9, 1), proto.EINVAL},
		"layout of strangers": {create(u, proto.DistStripe, proto.LayoutList, 1, "tcp://nowhere:1"), proto.EINVAL},
		"negative datafiles":  {create(u, proto.DistStripe, proto.LayoutRoundRobin, -1), proto.EINVAL},
	} {
		_, err := u.do(0, h, test.req)
		require.Equal(t, test.want, err, name)
	}
	bad := *h
	bad.Hints = nil
	_, err = u.do(0, &bad, &proto.RemoveReq{Handle: c.FS.Root + 1, FS: fsid, Cred: u.cred})
	require.Equal(t, proto.EINVAL, err, "no hint")
}

func create(u *user, dist string, layout proto.LayoutAlgorithm, n int32, servers ...string) *proto.CreateReq {
	return &proto.CreateReq{
		FS: u.fs(), Cred: u.cred, Datafiles: n, Layout: proto.Layout{Algorithm: layout, Servers: servers},
		Attr: proto.Attr{
			Perms: 0o644, Mask: proto.AttrCreate, Type: proto.TypeMetafile,
			Dist: proto.Dist{Name: dist, StripSize: 65536},
		},
	}
}
