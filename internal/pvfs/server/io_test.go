package server_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// smallFlows splits few bytes into many messages.
func smallFlows(g *config.GenOptions) { g.FlowBufferSize = 4096 }

func TestFlowAcrossStrips(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprint(n, " datafiles"), func(t *testing.T) {
			k := newKit(t, pvfstest.Options{Servers: n, Config: smallFlows})
			dist := proto.Dist{Name: proto.DistStripe, StripSize: 1000}
			f := k.create(n-1, n, dist)
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			model := make([]byte, 0, 40000)
			for i := range 40 {
				off, size := rng.IntN(20000), 1+rng.IntN(18000)
				data := pattern(size, byte(i))
				f.write(int64(off), data)
				if grow := off + size - len(model); grow > 0 {
					model = append(model, make([]byte, grow)...)
				}
				copy(model[off:], data)
				from, count := rng.IntN(20000), 1+rng.IntN(30000)
				want := model[min(from, len(model)):min(from+count, len(model))]
				require.True(t, bytes.Equal(want, f.read(int64(from), count)), "operation %d: read of %d at %d", i, count, from)
			}
		})
	}
}

func TestFlowEveryMethod(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			k := newKit(t, pvfstest.Options{Method: method})
			f := k.create(0, 2, stripe.Default(proto.DistStripe))
			data := pattern(3<<20+12345, 9)
			f.write(70000, data)
			got := f.read(0, 4<<20)
			require.Len(t, got, 70000+len(data))
			require.Equal(t, make([]byte, 70000), got[:70000], "the hole")
			require.True(t, bytes.Equal(data, got[70000:]))
		})
	}
}

func TestFlowEveryDistribution(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 4})
	for _, tc := range []struct {
		datafiles int
		dist      proto.Dist
	}{
		{1, stripe.Default(proto.DistBasic)},
		{4, proto.Dist{Name: proto.DistTwoD, StripSize: 100, Groups: 2, Factor: 3}},
		{2, proto.Dist{Name: proto.DistVar, Strips: "0:1K;1:3K"}},
	} {
		f := k.create(0, tc.datafiles, tc.dist)
		data := pattern(50000, 3)
		f.write(333, data)
		got := f.read(0, 60000)
		require.True(t, bytes.Equal(data, got[333:]), tc.dist.Name)
	}
}

func TestFlowOfDatatype(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 3})
	f := k.create(1, 3, proto.Dist{Name: proto.DistStripe, StripSize: 128})
	req, err := datatype.Vector(5, 100, 7, 50)
	require.NoError(t, err)
	op := datatype.Op{Map: f.layout, N: 3, Request: req, Aggregate: 700}
	require.NoError(t, datatype.CheckIO(req, 0, 700))
	data := pattern(700, 1)
	_, err = f.flow(op, data, proto.IOWrite)
	require.NoError(t, err)

	want := make([]byte, 5+99*50+7)
	for i := range 100 {
		copy(want[5+i*50:], data[i*7:i*7+7])
	}
	require.Equal(t, want, f.read(0, 10000))
	got := make([]byte, 700)
	_, err = f.flow(op, got, proto.IORead)
	require.NoError(t, err)
	require.Equal(t, data, got)
}

func TestFlowOfNothing(t *testing.T) {
	k := newKit(t, pvfstest.Options{})
	f := k.create(0, 2, stripe.Default(proto.DistStripe))
	require.Empty(t, f.read(0, 100))
	f.write(0, []byte("x"))
	require.Empty(t, f.read(1, 100))
	require.Equal(t, []byte("x"), f.read(0, 1<<20))
}

// TestIOErrors sends invalid requests of both kinds.
func TestIOErrors(t *testing.T) {
	k := newKit(t, pvfstest.Options{})
	f, other := k.create(0, 2, stripe.Default(proto.DistStripe)), k.create(0, 2, stripe.Default(proto.DistStripe))
	f.write(0, []byte("hello"))
	none := proto.Header{Hints: f.header.Hints}
	noHint := proto.Header{Capability: f.header.Capability}
	foreignHint := f.header
	foreignHint.Hints = other.header.Hints
	forged := f.header
	forged.Capability.Handles = append([]proto.Handle{}, f.header.Capability.Handles...)
	forged.Capability.Handles = append(forged.Capability.Handles, other.attr.Datafiles[0])
	for _, tc := range []struct {
		name   string
		header *proto.Header
		change func(r *proto.IOReq)
		want   proto.Status
	}{
		{"no capability", &none, nil, proto.EACCES},
		{"no hint", &noHint, nil, proto.EINVAL},
		{"another metafile", &foreignHint, nil, proto.EACCES},
		{"a forged capability", &forged, nil, proto.EPERM},
		{"another file's datafile", &f.header, func(r *proto.IOReq) { r.Handle = other.attr.Datafiles[0] }, proto.EACCES},
		{"the metafile", &f.header, func(r *proto.IOReq) { r.Handle = f.handle }, proto.EINVAL},
		{"another file system", &f.header, func(r *proto.IOReq) { r.FS++ }, proto.EINVAL},
		{"no direction", &f.header, func(r *proto.IOReq) { r.Type = 3 }, proto.EINVAL},
		{"no datafiles", &f.header, func(r *proto.IOReq) { r.ServerCt = 0 }, proto.EINVAL},
		{"a datafile beyond", &f.header, func(r *proto.IOReq) { r.ServerNr = 2 }, proto.EINVAL},
		{"too many datafiles", &f.header, func(r *proto.IOReq) { r.ServerCt = math.MaxUint32 }, proto.EINVAL},
		{"strips of 0", &f.header, func(r *proto.IOReq) { r.Dist.StripSize = 0 }, proto.EINVAL},
		{"negative strips", &f.header, func(r *proto.IOReq) { r.Dist.StripSize = -5 }, proto.EINVAL},
		{"negative offset", &f.header, func(r *proto.IOReq) { r.FileOffset = -1 }, proto.EINVAL},
		{"negative count", &f.header, func(r *proto.IOReq) { r.Aggregate = -1 }, proto.EINVAL},
		{"beyond 2^63", &f.header, func(r *proto.IOReq) { r.FileOffset, r.Aggregate = math.MaxInt64-3, 10 }, proto.EINVAL},
		{"an empty request", &f.header, func(r *proto.IOReq) { r.Request[0].NumEreqs, r.Request[0].Aggregate = 0, 0 }, proto.EINVAL},
		{"a cycle", &f.header, func(r *proto.IOReq) { r.Request[0].Element = 0 }, proto.EINVAL},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, dir := range []proto.IOType{proto.IORead, proto.IOWrite} {
				op := f.op(0, 5)
				req := f.ioReq(0, op)
				req.Type = dir
				if tc.change != nil {
					tc.change(req)
				}
				small := &proto.SmallIOReq{
					Handle: req.Handle, FS: req.FS, Type: req.Type, ServerNr: req.ServerNr, ServerCt: req.ServerCt,
					Dist: req.Dist, Request: req.Request, FileOffset: req.FileOffset, Aggregate: req.Aggregate,
				}
				if small.Type == proto.IOWrite {
					small.Data, small.Total = []byte("other"), 5
				}
				server := f.datafileServer(0)
				require.Equal(t, tc.want, k.status(server, tc.header, small), "SMALL_IO %d", dir)
				require.Equal(t, tc.want, k.status(server, tc.header, req), "IO %d", dir)
			}
		})
	}
	t.Run("another flow", func(t *testing.T) {
		req := f.ioReq(0, f.op(0, 5))
		req.Type, req.Flow = proto.IORead, 2
		require.Equal(t, proto.EINVAL, k.status(f.datafileServer(0), &f.header, req))
	})
	require.Equal(t, []byte("hello"), f.read(0, 10), "nothing was written")
}

// TestFlowTooFar writes beyond the largest offset: the client gets the error after its data, and can go on.
func TestFlowTooFar(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 1, Config: smallFlows, Dir: shortFiles(t)})
	f := k.create(0, 1, stripe.Default(proto.DistBasic))
	f.write(0, []byte("hello"))
	data := pattern(100000, 1)
	_, err := f.flow(f.op(math.MaxInt64-200000, len(data)), data, proto.IOWrite)
	var status proto.Status
	require.ErrorAs(t, err, &status)
	require.Contains(t, []proto.Status{proto.EFBIG, proto.EINVAL}, status)
	require.Equal(t, []byte("hello"), f.read(0, 100))
	require.Empty(t, f.read(math.MaxInt64-200000, 100))
}

func TestRemovedDatafile(t *testing.T) {
	k := newKit(t, pvfstest.Options{})
	f := k.create(0, 2, stripe.Default(proto.DistStripe))
	s := f.datafileServer(1)
	require.Equal(t, proto.OK, k.status(s, &k.root, &proto.RemoveObjectReq{Handle: f.attr.Datafiles[1], FS: k.c.FS.ID}))
	req := f.ioReq(1, f.op(0, 100000))
	req.Type = proto.IOWrite
	require.Equal(t, proto.ENOENT, k.status(s, &f.header, req))
	require.Equal(t, proto.ENOENT, k.status(s, &f.header, f.smallReq(1, f.op(70000, 5), []byte("12345"))))
	require.Equal(t, proto.ENOENT, k.status(s, &f.header, &proto.TruncateReq{Handle: f.attr.Datafiles[1], FS: k.c.FS.ID}))
	require.Equal(t, proto.ENOENT, k.status(s, &f.header, &proto.FlushReq{Handle: f.attr.Datafiles[1], FS: k.c.FS.ID}))
}

// TestAbandonedFlows: clients stop in the middle of flows while another one goes on.
func TestAbandonedFlows(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			k := newKit(t, pvfstest.Options{Method: method})
			f := k.create(0, 2, stripe.Default(proto.DistStripe))
			data := pattern(1<<20, 5)
			f.write(0, data)
			for range 10 {
				rude := newClient(t, k.c)
				req := f.ioReq(0, f.op(4<<20, 64<<20))
				req.Type = proto.IOWrite
				buf := make([]byte, 64)
				bc, err := rude.ep.OpenContext()
				require.NoError(t, err)
				n, err := bc.Call(rude.ctx, rude.addr(f.datafileServer(0)), 0, 77, proto.AppendRequest(nil, &f.header, req), buf)
				require.NoError(t, err)
				var begun proto.IOResp
				require.NoError(t, proto.ParseResponse(buf[:n], &begun))
				require.NoError(t, bc.Send(rude.ctx, rude.addr(f.datafileServer(0)), 77, make([]byte, k.c.FS.FlowBufferSize)))
				require.NoError(t, rude.ep.Close())
				require.True(t, bytes.Equal(data, f.read(0, 1<<20)))
			}
		})
	}
}
