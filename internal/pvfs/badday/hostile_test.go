package badday_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// An attacker sends hand-made requests to a pvfsd. It knows one file.
type attacker struct {
	t  testing.TB
	f  *fileSystem
	m  *client.FS
	ep *bmi.Endpoint
	c  *bmi.Context
	to bmi.Addr

	id     proto.FSID
	root   proto.Handle
	cred   proto.Credential
	file   proto.Handle
	attr   proto.Attr
	header proto.Header // of the file
	dir    proto.Header // of the root
	bucket proto.Handle // of the root
	tag    bmi.Tag
}

func newAttacker(t *testing.T, change func(*config.GenOptions)) *attacker {
	t.Helper()
	a := &attacker{t: t, f: newFileSystem(t, "tcp", 1, change)}
	a.f.start()
	a.m = a.f.mount(patient())
	require.NoError(t, write(a.m, "/file", entryOf("file")))
	cfg := a.m.Config()
	a.id, a.root = cfg.ID, cfg.Root
	a.cred = proto.Credential{Groups: []uint32{0}, Issuer: "C:test", Timeout: time.Now().Add(time.Hour)}
	a.connect()
	t.Cleanup(func() { require.NoError(t, a.ep.Close()) })
	root := a.ask(nil, &proto.GetAttrReq{Handle: a.root, FS: a.id, Mask: proto.AttrMetafile, Cred: a.cred}).(*proto.GetAttrResp).Attr
	a.bucket = root.DistDir.Dirdata[0]
	a.dir = proto.Header{Capability: root.Capability, Hints: proto.Hints{{Type: proto.HintHandle, Value: uint64(a.root)}}}
	found := a.ask(&a.dir, &proto.LookupPathReq{Path: "file", FS: a.id, Start: a.root, Mask: proto.AttrCommon, Cred: a.cred}).(*proto.LookupPathResp)
	require.NotEmpty(t, found.Handles)
	a.file = found.Handles[len(found.Handles)-1]
	a.attr = a.ask(nil, &proto.GetAttrReq{Handle: a.file, FS: a.id, Mask: proto.AttrMetafile, Cred: a.cred}).(*proto.GetAttrResp).Attr
	a.header = proto.Header{Capability: a.attr.Capability, Hints: proto.Hints{{Type: proto.HintHandle, Value: uint64(a.file)}}}
	return a
}

// connect opens a connection, which replaces the previous one.
func (a *attacker) connect() {
	a.t.Helper()
	if a.ep != nil {
		require.NoError(a.t, a.ep.Close())
	}
	var err error
	a.ep, err = bmi.Open(background, bmi.Config{})
	require.NoError(a.t, err)
	a.c, err = a.ep.OpenContext()
	require.NoError(a.t, err)
	a.to, err = a.ep.Lookup(a.f.servers[0].address)
	require.NoError(a.t, err)
}

// send sends bytes and returns the answer.
func (a *attacker) send(b []byte) []byte {
	a.t.Helper()
	a.tag++
	into := make([]byte, 256<<10)
	n, err := a.c.Call(background, a.to, 0, a.tag, b, into)
	require.NoError(a.t, err)
	return into[:n]
}

// ask sends a request that must succeed.
func (a *attacker) ask(h *proto.Header, req proto.Request) proto.Response {
	a.t.Helper()
	resp := proto.NewResponse(req.Op())
	require.NoError(a.t, proto.ParseResponse(a.send(proto.AppendRequest(nil, h, req)), resp))
	return resp
}

// refused requires that a request is answered with an error, and returns the status.
func (a *attacker) refused(b []byte) proto.Status {
	a.t.Helper()
	_, status, err := proto.ParseAnyResponse(a.send(b))
	require.NoError(a.t, err)
	require.NotEqual(a.t, proto.OK, status)
	return status.Base()
}

// fine requires that the file is unchanged, and that the server still works.
func (a *attacker) fine() {
	a.t.Helper()
	require.NoError(a.t, sameNames(a.m, "/", []string{"file", "lost+found"}))
	data, err := readAll(a.m, "/file")
	require.NoError(a.t, err)
	require.True(a.t, bytes.Equal(entryOf("file").bytes(), data))
}

// TestHostileRequests sends invalid requests. Each gets the protocol's error, and nothing changes.
func TestHostileRequests(t *testing.T) {
	a := newAttacker(t, nil)
	data := a.attr.Datafiles[0]
	long := strings.Repeat("x", 300)
	deep := make(proto.FileRequest, 100)
	for i := range deep {
		deep[i] = proto.ReqNode{NumEreqs: math.MaxInt32, NumBlocks: math.MaxInt32, Stride: math.MaxInt64, Aggregate: math.MaxInt64, Depth: math.MaxInt32, Nested: 99 - int32(i), Sequence: int32(i)}
	}
	crdirent := func(name string) proto.Request {
		return &proto.CrDirentReq{Cred: a.cred, Name: name, New: a.file, Dir: a.root, Dirdata: a.bucket, FS: a.id}
	}
	io := func(change func(*proto.IOReq)) proto.Request {
		r := &proto.IOReq{Handle: data, FS: a.id, Type: proto.IORead, Flow: proto.FlowMultiqueue, ServerCt: 1, Dist: a.attr.Dist, Request: proto.ByteStream(), Aggregate: 10}
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		header *proto.Header
		req    proto.Request
		want   []proto.Status
	}{
		"wrong fs id":           {nil, &proto.GetAttrReq{Handle: a.file, FS: a.id + 1, Mask: proto.AttrCommon, Cred: a.cred}, nil},
		"wrong fs id of a flow": {&a.header, io(func(r *proto.IOReq) { r.FS++ }), nil},
		"size 2^63":             {&a.header, &proto.TruncateReq{Handle: data, FS: a.id, Size: math.MinInt64}, []proto.Status{proto.EINVAL}},
		"offset -1":             {&a.header, io(func(r *proto.IOReq) { r.FileOffset = -1 }), []proto.Status{proto.EINVAL}},
		"length -1":             {&a.header, io(func(r *proto.IOReq) { r.Aggregate = -1 }), []proto.Status{proto.EINVAL}},
		"offset and length beyond all": {&a.header, io(func(r *proto.IOReq) {
			r.Type, r.FileOffset, r.Aggregate = proto.IOWrite, math.MaxInt64-5, math.MaxInt64
		}), nil},
		"name of 300 bytes":    {&a.dir, crdirent(long), []proto.Status{proto.ENAMETOOLONG, proto.EPROTO, proto.EINVAL}},
		"name with a slash":    {&a.dir, crdirent("a/b"), []proto.Status{proto.EINVAL}},
		"name with a zero":     {&a.dir, crdirent("a\x00b"), []proto.Status{proto.EINVAL, proto.EPROTO}},
		"name of nothing":      {&a.dir, crdirent(""), []proto.Status{proto.EINVAL, proto.EPROTO}},
		"name .":               {&a.dir, crdirent("."), nil},
		"name ..":              {&a.dir, crdirent(".."), nil},
		"handle 0":             {nil, &proto.GetAttrReq{FS: a.id, Mask: proto.AttrCommon, Cred: a.cred}, nil},
		"handle of nobody":     {nil, &proto.GetAttrReq{Handle: math.MaxUint64, FS: a.id, Mask: proto.AttrCommon, Cred: a.cred}, nil},
		"I/O on a directory":   {&a.dir, io(func(r *proto.IOReq) { r.Handle = a.root }), nil},
		"absurd datatype":      {&a.header, io(func(r *proto.IOReq) { r.Request = deep }), nil},
		"server 7 of 1":        {&a.header, io(func(r *proto.IOReq) { r.ServerNr = 7 }), nil},
		"2^31-1 servers":       {&a.header, io(func(r *proto.IOReq) { r.ServerCt = math.MaxInt32 }), nil},
		"strips of no bytes":   {&a.header, io(func(r *proto.IOReq) { r.Dist.StripSize = 0 }), nil},
		"no capability":        {nil, &proto.TruncateReq{Handle: data, FS: a.id, Size: 1}, nil},
		"another's capability": {&a.dir, &proto.TruncateReq{Handle: data, FS: a.id, Size: 1}, nil},
		"2^31-1 datafiles":     {&a.dir, &proto.CreateReq{FS: a.id, Cred: a.cred, Attr: proto.Attr{Mask: proto.AttrCreate, Type: proto.TypeMetafile}, Datafiles: math.MaxInt32, Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin}}, []proto.Status{proto.EINVAL}},
		"removal of the root":  {&a.dir, &proto.RemoveReq{Handle: a.root, FS: a.id, Cred: a.cred}, nil},
		"entries of a file":    {&a.header, &proto.ReadDirReq{Dirdata: a.file, FS: a.id, Count: math.MaxUint32, Token: proto.TokenStart}, nil},
		"attribute of 1 TiB":   {&a.header, &proto.GetEattrReq{Handle: a.file, FS: a.id, Keys: []string{"user.k"}, Sizes: []int64{1 << 40}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a.t = t
			status := a.refused(proto.AppendRequest(nil, c.header, c.req))
			if c.want != nil {
				assert.Contains(t, c.want, status)
			}
			a.fine()
		})
	}
	a.t = t
	t.Run("forged capability", func(t *testing.T) {
		forged := a.header
		forged.Capability.Mask = proto.MayAll
		forged.Capability.Handles = append([]proto.Handle{a.root}, forged.Capability.Handles...)
		a.refused(proto.AppendRequest(nil, &forged, &proto.TruncateReq{Handle: data, FS: a.id, Size: 1}))
		a.fine()
	})
	t.Run("every request a byte short", func(t *testing.T) {
		for _, req := range []proto.Request{
			&proto.GetAttrReq{Handle: a.file, FS: a.id, Mask: proto.AttrCommon, Cred: a.cred}, crdirent("short"), io(func(*proto.IOReq) {}),
			&proto.TruncateReq{Handle: data, FS: a.id, Size: 1}, &proto.RemoveReq{Handle: a.file, FS: a.id, Cred: a.cred},
			&proto.SetEattrReq{Handle: a.file, FS: a.id, Keys: []string{"user.a"}, Values: [][]byte{{1}}},
		} {
			whole := proto.AppendRequest(nil, &a.header, req)
			for _, n := range []int{len(whole) - 1, len(whole) / 2, 8, 1, 0} {
				a.refused(whole[:n])
			}
		}
		a.fine()
	})
	t.Run("huge counts", func(t *testing.T) {
		whole := proto.AppendRequest(nil, &a.header, &proto.ListAttrReq{FS: a.id, Mask: proto.AttrListAttr, Handles: []proto.Handle{a.file}})
		for at := 8; at+4 <= len(whole); at += 4 { // wherever the counts may be
			for _, n := range []uint32{math.MaxUint32, math.MaxInt32, 1 << 20} {
				b := append([]byte{}, whole...)
				binary.LittleEndian.PutUint32(b[at:], n)
				a.send(b)
			}
		}
		a.fine()
	})
}

// TestExpired: with time-outs on, expired credentials and capabilities are refused, and a client renews them itself.
func TestExpired(t *testing.T) {
	a := newAttacker(t, nil)
	old := a.cred
	old.Timeout = time.Now().Add(-time.Hour)
	a.refused(proto.AppendRequest(nil, &a.dir, &proto.CreateReq{
		FS: a.id, Cred: old, Attr: proto.Attr{Mask: proto.AttrCreate, Type: proto.TypeMetafile}, Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin},
	}))
	expired := a.header
	expired.Capability.Timeout = time.Now().Add(-time.Hour)
	a.refused(proto.AppendRequest(nil, &expired, &proto.TruncateReq{Handle: a.attr.Datafiles[0], FS: a.id, Size: 1}))
	a.fine()
}

// TestLoops: paths that contain loops end with an error.
func TestLoops(t *testing.T) {
	a := newAttacker(t, nil)
	require.NoError(t, a.m.Symlink(background, "b", "/a"))
	require.NoError(t, a.m.Symlink(background, "a", "/b"))
	for _, path := range []string{"/a", "/a/x", strings.Repeat("/a", 1000)} {
		_, err := a.m.OpenFile(background, path, os.O_RDONLY, 0)
		require.ErrorIs(t, err, syscall.ELOOP, path)
	}
	require.NoError(t, errors.Join(a.m.Remove(background, "/a"), a.m.Remove(background, "/b")))
	a.fine()
}

// TestFlows repeatedly starts reads whose data it does not receive, and writes without data. It leaves some of them open and ends
// others by disconnecting. Other clients are served meanwhile, and all resources are freed.
func TestFlows(t *testing.T) {
	a := newAttacker(t, func(o *config.GenOptions) { o.NoSyncMeta = true })
	pid := a.f.servers[0].cmd.Process.Pid
	flows, atOnce := 2000, 40
	if testing.Short() {
		flows = 400
	}
	open := func(typ proto.IOType) {
		req := &proto.IOReq{
			Handle: a.attr.Datafiles[0], FS: a.id, Type: typ, Flow: proto.FlowMultiqueue, ServerCt: 1, Dist: a.attr.Dist,
			Request: proto.ByteStream(), Aggregate: 150_000,
		}
		if typ == proto.IOWrite {
			req.FileOffset, req.Aggregate = 1<<30, 1<<40
		}
		a.tag++
		require.NoError(t, a.c.SendUnexpected(background, a.to, 0, a.tag, proto.AppendRequest(nil, &a.header, req)))
	}
	storm := func(count int) {
		for i := range count {
			if i%atOnce == 0 {
				a.connect() // and leave the earlier ones unfinished
				a.fine()
			}
			open([]proto.IOType{proto.IORead, proto.IOWrite}[i%2])
		}
		a.connect()
		a.fine()
	}
	storm(flows / 10)
	before, socketsBefore := resident(t, pid), sockets(t, pid)
	storm(flows)
	require.Eventually(t, func() bool { return sockets(t, pid) <= socketsBefore }, far, tick, "connections stay behind")
	after := resident(t, pid)
	t.Logf("%d flows left open: resident memory %.1f MiB before, %.1f MiB after", flows, mib(before), mib(after))
	most := int64(96 << 20) // the buffers of flows are limited to 64 MiB
	if race.Enabled {
		most *= 4
	}
	require.LessOrEqual(t, after, before+most)
	a.f.kill()
	lines, code := a.f.check()
	require.Zero(t, code, fmt.Sprint(lines))
}
