package server_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// farOff limits operations that may hang. Nothing else waits for it.
const farOff = 5 * time.Minute

// kit is a client that sends requests one by one.
type kit struct {
	t      testing.TB
	c      *pvfstest.Cluster
	ctx    context.Context
	ep     *bmi.Endpoint
	caller *rpc.Caller
	cred   proto.Credential
	root   proto.Header // for making objects in the root directory
}

func newKit(t testing.TB, opts pvfstest.Options) *kit {
	t.Helper()
	return newClient(t, pvfstest.Start(t, opts))
}

// newClient makes a client of running servers.
func newClient(t testing.TB, c *pvfstest.Cluster) *kit {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), farOff)
	k := &kit{
		t: t, c: c, ctx: ctx, ep: c.Endpoint(),
		cred: proto.Credential{Groups: []uint32{0}, Issuer: "C:test", Timeout: time.Now().Add(time.Hour)},
	}
	k.caller = rpc.NewCaller(k.ep, rpc.Options{FlowBufferSize: c.FS.FlowBufferSize, FlowBuffers: c.FS.FlowBuffers})
	t.Cleanup(func() { cancel(); _ = k.caller.Close() })
	k.root = k.header(c.FS.Root)
	return k
}

// owner is the server of a handle.
func (k *kit) owner(h proto.Handle) int {
	i, ok := k.c.FS.Owner(h)
	require.True(k.t, ok)
	return i
}

func (k *kit) addr(server int) bmi.Addr {
	a, err := k.ep.Lookup(k.c.Address(server))
	require.NoError(k.t, err)
	return a
}

// ask sends one request to one server.
func (k *kit) ask(server int, h *proto.Header, req proto.Request, resp proto.Response) error {
	return k.caller.Call(k.ctx, k.addr(server), h, req, resp)
}

// status is the status of a request.
func (k *kit) status(server int, h *proto.Header, req proto.Request) proto.Status {
	k.t.Helper()
	err := k.ask(server, h, req, proto.NewResponse(req.Op()))
	if err == nil {
		return proto.OK
	}
	var s proto.Status
	require.ErrorAs(k.t, err, &s)
	return s
}

// attr returns the attributes that a client gets before it uses an object.
func (k *kit) attr(h proto.Handle) proto.Attr {
	k.t.Helper()
	var resp proto.GetAttrResp
	require.NoError(k.t, k.ask(k.owner(h), nil, &proto.GetAttrReq{Handle: h, FS: k.c.FS.ID, Mask: proto.AttrMetafile, Cred: k.cred}, &resp))
	return resp.Attr
}

// header has the capability of an object, and names the object.
func (k *kit) header(h proto.Handle) proto.Header {
	k.t.Helper()
	return proto.Header{
		Capability: k.attr(h).Capability,
		Hints:      proto.Hints{{Type: proto.HintHandle, Value: uint64(h)}},
	}
}

// file is a file that is not stuffed.
type file struct {
	k      *kit
	handle proto.Handle
	attr   proto.Attr
	header proto.Header
	layout stripe.Map
}

// create makes a file with its own datafiles, on a metadata server.
func (k *kit) create(server, datafiles int, dist proto.Dist) *file {
	k.t.Helper()
	var made proto.CreateResp
	require.NoError(k.t, k.ask(server, &k.root, &proto.CreateReq{
		FS: k.c.FS.ID, Cred: k.cred, Datafiles: int32(datafiles), Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin},
		Attr: proto.Attr{Perms: 0o644, Mask: proto.AttrCreate, Type: proto.TypeMetafile, Dist: dist},
	}, &made))
	f := &file{k: k, handle: made.Handle, header: k.header(made.Handle)}
	if made.Stuffed {
		var grown proto.UnstuffResp
		require.NoError(k.t, k.ask(server, &f.header, &proto.UnstuffReq{Handle: f.handle, FS: k.c.FS.ID, Mask: proto.AttrUnstuff, Cred: k.cred}, &grown))
		f.header = k.header(f.handle)
	}
	f.attr = k.attr(f.handle)
	require.Len(k.t, f.attr.Datafiles, datafiles)
	var err error
	f.layout, err = stripe.Of(f.attr.Dist)
	require.NoError(k.t, err)
	return f
}

// op is an I/O of contiguous bytes.
func (f *file) op(off int64, n int) datatype.Op {
	return datatype.Op{
		Map: f.layout, N: len(f.attr.Datafiles), Request: proto.ByteStream(), FileOffset: off, Aggregate: int64(n),
	}
}

// ioReq is the request of one datafile's part.
func (f *file) ioReq(datafile int, op datatype.Op) *proto.IOReq {
	return &proto.IOReq{
		Handle: f.attr.Datafiles[datafile], FS: f.k.c.FS.ID, Flow: proto.FlowMultiqueue,
		ServerNr: uint32(datafile), ServerCt: uint32(op.N), Dist: f.attr.Dist,
		Request: op.Request, FileOffset: op.FileOffset, Aggregate: op.Aggregate,
	}
}

// flow moves the bytes of an operation between memory and all datafiles.
func (f *file) flow(op datatype.Op, memory []byte, dir proto.IOType) (sizes []int64, err error) {
	move := f.k.caller.WriteFlow
	if dir == proto.IORead {
		move = f.k.caller.ReadFlow
	}
	sizes = make([]int64, op.N)
	for i, share := range op.Shares() {
		if share == 0 && dir == proto.IOWrite {
			continue
		}
		flow := &rpc.Flow{
			To: f.k.addr(f.k.owner(f.attr.Datafiles[i])), Header: &f.header, Request: f.ioReq(i, op),
			Total: share, Memory: piecesOf(op, i, memory),
			Below: func(size int64) int64 { return op.Stored(i, size) },
		}
		got, err := move(f.k.ctx, flow)
		if err != nil {
			return nil, err
		}
		sizes[i] = got.Size
	}
	return sizes, nil
}

// piecesOf is the memory of one datafile's part.
func piecesOf(op datatype.Op, datafile int, memory []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for p := range op.Pieces(datafile) {
			if !yield(memory[p.Mem : p.Mem+p.Len]) {
				return
			}
		}
	}
}

func (f *file) write(off int64, data []byte) {
	f.k.t.Helper()
	_, err := f.flow(f.op(off, len(data)), data, proto.IOWrite)
	require.NoError(f.k.t, err)
}

// read reads as a client does: zeros where nothing was written, up to the end of the file.
func (f *file) read(off int64, n int) []byte {
	f.k.t.Helper()
	memory := make([]byte, n)
	sizes, err := f.flow(f.op(off, n), memory, proto.IORead)
	require.NoError(f.k.t, err)
	return memory[:min(max(f.layout.Size(sizes)-off, 0), int64(n))]
}

// smallReq is the SMALL_IO request of one datafile's part; data is nil for a read.
func (f *file) smallReq(datafile int, op datatype.Op, data []byte) *proto.SmallIOReq {
	req := &proto.SmallIOReq{
		Handle: f.attr.Datafiles[datafile], FS: f.k.c.FS.ID, Type: proto.IORead,
		ServerNr: uint32(datafile), ServerCt: uint32(op.N), Dist: f.attr.Dist,
		Request: op.Request, FileOffset: op.FileOffset, Aggregate: op.Aggregate,
	}
	if data != nil {
		req.Type, req.Data, req.Total = proto.IOWrite, data, int64(len(data))
	}
	return req
}

// datafileServer is the server of a datafile.
func (f *file) datafileServer(i int) int { return f.k.owner(f.attr.Datafiles[i]) }

// pattern is bytes that encode their offset. The race detector would only make it slow.
//
//go:norace
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7+i>>8*13) ^ seed
	}
	return b
}
