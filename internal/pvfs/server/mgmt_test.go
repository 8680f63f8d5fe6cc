package server_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func (k *kit) setParam(srv int, p proto.Param, value uint64) proto.Status {
	k.t.Helper()
	return k.status(srv, &k.root, &proto.SetParamReq{FS: k.c.FS.ID, Param: p, Value: value})
}

func TestSetParam(t *testing.T) {
	k := newKit(t, pvfstest.Options{})
	for _, tc := range []struct {
		param proto.Param
		value uint64
		want  proto.Status
	}{
		{proto.ParamFSID, uint64(k.c.FS.ID), proto.OK},
		{proto.ParamRootHandle, uint64(k.c.FS.Root), proto.OK},
		{proto.ParamRootHandle, 17, proto.ENOENT},
		{proto.ParamDebug, 5, proto.OK},
		{proto.ParamDropCaches, 0, proto.EOPNOTSUPP},
		{proto.ParamMode, 3, proto.EINVAL},
		{proto.ParamMode, 1 << 32, proto.EINVAL},
		{proto.ParamPerfHistory, 0, proto.EINVAL},
		{proto.ParamPerfHistory, math.MaxUint64, proto.EINVAL},
		{proto.ParamPerfHistory, 5, proto.OK},
		{proto.ParamPerfSample, 0, proto.EINVAL},
		{proto.ParamPerfSample, 100, proto.OK},
		{proto.ParamSyncMeta, 0, proto.OK},
		{proto.ParamSyncData, 1, proto.OK},
		{proto.ParamNoTimeouts, 1, proto.OK},
		{proto.ParamEventOn, 1, proto.EOPNOTSUPP},
		{99, 1, proto.EINVAL},
	} {
		require.Equal(t, tc.want, k.setParam(0, tc.param, tc.value), "%d %d", tc.param, tc.value)
	}
	require.Equal(t, proto.ENOENT, k.setParam(1, proto.ParamRootHandle, uint64(k.c.FS.Root)), "the root is on the other")
	require.True(t, k.c.Store(0).SyncsData())
	require.False(t, k.c.Store(0).SyncsMeta())
	require.Equal(t, proto.OK, k.status(0, nil, &proto.NoopReq{}))
}

func TestAdminMode(t *testing.T) {
	k := newKit(t, pvfstest.Options{})
	f := k.create(0, 2, stripe.Default(proto.DistStripe))
	f.write(0, []byte("before"))
	require.Equal(t, proto.OK, k.setParam(f.datafileServer(0), proto.ParamMode, 2))
	truncate := &proto.TruncateReq{Handle: f.attr.Datafiles[0], FS: k.c.FS.ID}
	require.Equal(t, proto.EAGAIN, k.status(f.datafileServer(0), &f.header, truncate))
	write := f.ioReq(0, f.op(0, 5))
	write.Type = proto.IOWrite
	require.Equal(t, proto.EAGAIN, k.status(f.datafileServer(0), &f.header, write))
	require.Equal(t, []byte("before"), f.read(0, 10))
	require.Equal(t, proto.OK, k.setParam(f.datafileServer(0), proto.ParamMode, 1))
	require.Equal(t, proto.OK, k.status(f.datafileServer(0), &f.header, truncate))
	require.Empty(t, f.read(0, 10))
}

// TestUntrusted sends management operations from a network where they are not allowed.
func TestUntrusted(t *testing.T) {
	k := newKit(t, pvfstest.Options{Method: pvfstest.TCP, Server: func(_ int, cfg *server.Config) { cfg.Trusted = []string{"tcp://10.1.2.3"} }})
	id := k.c.FS.ID
	for _, req := range []proto.Request{
		&proto.SetParamReq{FS: id, Param: proto.ParamMode, Value: 2},
		&proto.PerfMonReq{KeyCount: 5, SampleCount: 1},
		&proto.IterateHandlesReq{FS: id, Count: 10, Position: proto.TokenStart},
		&proto.DspaceInfoReq{FS: id, Handles: []proto.Handle{k.c.FS.Root}},
		&proto.RemoveObjectReq{FS: id, Handle: k.c.FS.Root},
		&proto.RemoveDirentReq{FS: id, Dirdata: k.attr(k.c.FS.Root).DistDir.Dirdata[0], Name: "lost+found"},
		&proto.GetUIDReq{History: 10},
	} {
		require.Equal(t, proto.EACCES, k.status(0, nil, req), "%s", req)
	}
	require.Equal(t, proto.OK, k.setParam(0, proto.ParamFSID, uint64(id)))
	require.Equal(t, proto.OK, k.setParam(0, proto.ParamRootHandle, uint64(k.c.FS.Root)))
	require.Equal(t, proto.OK, k.status(0, nil, &proto.NoopReq{}))
	k.create(1, 2, stripe.Default(proto.DistStripe)) // the servers trust each other
}

// TestOnlyAdministratorsManage: operations that change something need more than a connection.
func TestOnlyAdministratorsManage(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	alice, bob := root(t, c), newUser(t, c, 5, 5)
	d, err := alice.mkdir(c.FS.Root, "d", 0o777)
	require.NoError(t, err)
	f, err := bob.create(d, "f", 0o644)
	require.NoError(t, err)
	a, err := bob.attr(d, proto.AttrMetafile)
	require.NoError(t, err)
	id, shown := c.FS.ID, []*proto.Header{nil, bob.header(d), bob.header(f)}
	for _, req := range []proto.Request{
		&proto.SetParamReq{FS: id, Param: proto.ParamMode, Value: 1},
		&proto.SetParamReq{FS: id, Param: proto.ParamSyncMeta, Value: 1},
		&proto.SetParamReq{FS: id, Param: proto.ParamNoTimeouts, Value: 1},
		&proto.RemoveObjectReq{FS: id, Handle: f},
		&proto.RemoveDirentReq{FS: id, Dirdata: a.DistDir.Dirdata[0], Name: "f"},
	} {
		for _, h := range shown {
			_, err := bob.do(0, h, req)
			require.Equal(t, proto.EACCES, err, "%s", req)
		}
		_, err := alice.do(0, alice.header(c.FS.Root), req)
		require.NoError(t, err, "%s", req)
	}
}

func TestPerfMon(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 1})
	f := k.create(0, 1, stripe.Default(proto.DistStripe))
	f.write(0, make([]byte, 1000))
	f.read(0, 300)
	var got proto.PerfMonResp
	require.Eventually(t, func() bool { // a flow is counted after its last message was sent
		require.NoError(t, k.ask(0, &k.root, &proto.PerfMonReq{KeyCount: 100, SampleCount: math.MaxUint32}, &got))
		return len(got.Values) > 13 && got.Values[12] == 300
	}, time.Minute, time.Millisecond)
	require.Equal(t, uint32(23), got.KeyCount)
	require.Len(t, got.Values, int(got.SampleCount)*25)
	require.Equal(t, []int64{300, 1000}, got.Values[:2])
	require.Equal(t, []int64{300, 1000}, got.Values[12:14], "by flows")
	require.Equal(t, int64(1), got.Values[14], "creates")
	require.NoError(t, k.ask(0, &k.root, &proto.PerfMonReq{KeyCount: 2, SampleCount: 1}, &got))
	require.Len(t, got.Values, 4)
	require.Eventually(t, func() bool { // the duration is counted after the answer
		require.NoError(t, k.ask(0, &k.root, &proto.PerfMonReq{Type: 1, KeyCount: 10, SampleCount: 1}, &got))
		require.Len(t, got.Values, 42)
		return got.Values[4*7+1] == 2 // I/O
	}, farOff, time.Millisecond)
	require.Equal(t, uint32(10), got.KeyCount)
	require.Equal(t, int64(1), got.Values[4*1+1], "creates")
	require.Positive(t, got.Values[4*7], "which took some time")
	require.GreaterOrEqual(t, got.Values[4*7+3], got.Values[4*7+2], "the longest and the shortest")
	require.Equal(t, proto.EINVAL, k.status(0, &k.root, &proto.PerfMonReq{Type: 9, KeyCount: 2}))
}

func TestIterateHandles(t *testing.T) {
	k := newKit(t, pvfstest.Options{})
	made := map[proto.Handle]bool{k.c.FS.Root: true}
	for range 5 {
		f := k.create(0, 2, stripe.Default(proto.DistStripe))
		made[f.handle], made[f.attr.Datafiles[0]], made[f.attr.Datafiles[1]] = true, true, true
	}
	list := func(srv int, flags int32, count int32) (all []proto.Handle) {
		for pos := uint64(proto.TokenStart); pos != proto.TokenEnd; {
			var got proto.IterateHandlesResp
			require.NoError(t, k.ask(srv, &k.root, &proto.IterateHandlesReq{FS: k.c.FS.ID, Count: count, Flags: flags, Position: pos}, &got))
			require.LessOrEqual(t, len(got.Handles), int(count))
			pos, all = got.Position, append(all, got.Handles...)
		}
		return all
	}
	var reserved []proto.Handle // before the objects, because more of both may be made at any time
	require.Eventually(t, func() bool {
		reserved = list(0, 1, 3)
		return len(reserved) > 0
	}, farOff, time.Millisecond, "datafiles of the other server")
	seen := map[proto.Handle]int{}
	for srv := range 2 {
		for _, h := range list(srv, 0, 7) {
			seen[h]++
		}
	}
	for h := range made {
		require.Equal(t, 1, seen[h], "%d", h)
	}
	for _, h := range reserved {
		require.Equal(t, 1, seen[h], "it is an object there")
		require.False(t, made[h], "and not in use")
	}
	for _, req := range []*proto.IterateHandlesReq{{Count: 0}, {Count: -1}, {Count: 1025}, {Count: 5, Flags: 2}} {
		req.FS = k.c.FS.ID
		require.Equal(t, proto.EINVAL, k.status(0, &k.root, req))
	}
}

func TestDspaceInfo(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 1})
	f := k.create(0, 1, stripe.Default(proto.DistStripe))
	f.write(0, make([]byte, 321))
	dirdata := k.attr(k.c.FS.Root).DistDir.Dirdata[0]
	var got proto.DspaceInfoResp
	require.NoError(t, k.ask(0, &k.root, &proto.DspaceInfoReq{FS: k.c.FS.ID, Handles: []proto.Handle{f.handle, f.attr.Datafiles[0], k.c.FS.Root, dirdata, 99}}, &got))
	require.Equal(t, []proto.DspaceInfo{
		{Handle: f.handle, Type: proto.TypeMetafile},
		{Handle: f.attr.Datafiles[0], Type: proto.TypeDatafile, Size: 321},
		{Handle: k.c.FS.Root, Type: proto.TypeDirectory, Dirdata: dirdata},
		{Handle: dirdata, Type: proto.TypeDirdata},
		{Handle: 99, Error: proto.ENOENT},
	}, got.Infos)
	var dir proto.GetDirdataHandleResp
	require.NoError(t, k.ask(0, nil, &proto.GetDirdataHandleReq{FS: k.c.FS.ID, Handle: k.c.FS.Root}, &dir))
	require.Equal(t, dirdata, dir.Handle)
	require.Equal(t, proto.ENOTDIR, k.status(0, nil, &proto.GetDirdataHandleReq{FS: k.c.FS.ID, Handle: f.handle}))
	require.Equal(t, proto.ENOENT, k.status(0, nil, &proto.GetDirdataHandleReq{FS: k.c.FS.ID, Handle: 99}))
	require.Equal(t, proto.ENOENT, k.status(0, &k.root, &proto.RemoveDirentReq{FS: k.c.FS.ID, Dirdata: dirdata, Name: "nothing"}))
	require.Equal(t, proto.ENOENT, k.status(0, &k.root, &proto.RemoveObjectReq{FS: k.c.FS.ID, Handle: 99}))
	require.Equal(t, proto.OK, k.status(0, &k.root, &proto.RemoveObjectReq{FS: k.c.FS.ID, Handle: f.handle}))
}

func TestRefused(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 1})
	for _, req := range []proto.Request{
		&proto.EventMonReq{Count: 5}, &proto.ImmCopiesReq{},
		&proto.MirrorReq{FS: k.c.FS.ID, Dist: stripe.Default(proto.DistStripe)},
	} {
		require.Equal(t, proto.EOPNOTSUPP, k.status(0, nil, req), "%s", req)
	}
}

func TestStatFS(t *testing.T) {
	k := newKit(t, pvfstest.Options{})
	var before, after proto.StatFSResp
	require.NoError(t, k.ask(0, nil, &proto.StatFSReq{FS: k.c.FS.ID}, &before))
	require.Positive(t, before.BytesTotal)
	require.LessOrEqual(t, before.BytesAvailable, before.BytesTotal)
	require.Positive(t, before.RAMTotal)
	require.Greater(t, before.HandlesTotal, before.HandlesAvailable)
	k.create(0, 1, stripe.Default(proto.DistBasic))
	require.NoError(t, k.ask(0, nil, &proto.StatFSReq{FS: k.c.FS.ID}, &after))
	require.Less(t, after.HandlesAvailable, before.HandlesAvailable)
	require.Equal(t, proto.EINVAL, k.status(0, nil, &proto.StatFSReq{FS: k.c.FS.ID + 1}))
}

func TestTruncateFlush(t *testing.T) {
	k := newKit(t, pvfstest.Options{Dir: shortFiles(t)})
	f := k.create(0, 2, proto.Dist{Name: proto.DistStripe, StripSize: 100})
	data := pattern(1000, 1)
	f.write(0, data)
	for _, size := range []int64{550, 720, 0, 99, 3000} {
		was := f.read(0, 10000)
		for i, h := range f.attr.Datafiles {
			require.Equal(t, proto.OK, k.status(f.datafileServer(i), &f.header, &proto.TruncateReq{Handle: h, FS: k.c.FS.ID, Size: f.layout.Cut(size, i, 2)}))
			require.Equal(t, proto.OK, k.status(f.datafileServer(i), nil, &proto.FlushReq{Handle: h, FS: k.c.FS.ID}))
		}
		want := make([]byte, size)
		copy(want, was)
		require.Equal(t, want, f.read(0, 10000))
	}
	require.Equal(t, proto.OK, k.status(k.owner(f.handle), nil, &proto.FlushReq{Handle: f.handle, FS: k.c.FS.ID}))
	s := f.datafileServer(0)
	at := func(h proto.Handle, size int64) *proto.TruncateReq {
		return &proto.TruncateReq{Handle: h, FS: k.c.FS.ID, Size: size}
	}
	require.Equal(t, proto.EINVAL, k.status(s, &f.header, at(f.attr.Datafiles[0], -1)))
	require.Equal(t, proto.EINVAL, k.status(s, &f.header, at(f.handle, 1)))
	require.Equal(t, proto.EACCES, k.status(s, nil, at(f.attr.Datafiles[0], 1)))
	require.Equal(t, proto.EACCES, k.status(s, &k.root, at(f.attr.Datafiles[0], 1)))
	require.Contains(t, []proto.Status{proto.EFBIG, proto.EINVAL}, k.status(s, &f.header, at(f.attr.Datafiles[0], math.MaxInt64)))
	require.Len(t, f.read(0, 10000), 3000)
}

func TestSmallIO(t *testing.T) {
	k := newKit(t, pvfstest.Options{})
	f := k.create(0, 2, proto.Dist{Name: proto.DistStripe, StripSize: 20000})
	s := f.datafileServer(0)
	ask := func(req *proto.SmallIOReq) *proto.SmallIOResp {
		t.Helper()
		var resp proto.SmallIOResp
		require.NoError(t, k.ask(s, &f.header, req, &resp))
		return &resp
	}
	data := pattern(6768, 4)
	require.Equal(t, &proto.SmallIOResp{Type: proto.IOWrite, Result: 6768}, ask(f.smallReq(0, f.op(100, 6768), data)))
	require.Equal(t, int64(6868), ask(f.smallReq(0, f.op(0, 10), data[:10])).Size, "before the write")
	got := ask(f.smallReq(0, f.op(50, 16344), nil))
	require.Equal(t, int64(6868), got.Size)
	require.Equal(t, int64(6818), got.Result)
	require.Equal(t, append(make([]byte, 50), data...), got.Data)
	require.Empty(t, ask(f.smallReq(0, f.op(6868, 100), nil)).Data)
	require.Empty(t, ask(f.smallReq(0, f.op(40000000000, 100), nil)).Data)
	require.Empty(t, ask(f.smallReq(0, f.op(0, 0), nil)).Data)

	short := f.smallReq(0, f.op(0, 100), data[:99])
	require.Equal(t, proto.EINVAL, k.status(s, &f.header, short))
	f.write(0, make([]byte, 20000))
	require.Equal(t, proto.EINVAL, k.status(s, &f.header, f.smallReq(0, f.op(0, 20000), nil)), "more than fits")
}
