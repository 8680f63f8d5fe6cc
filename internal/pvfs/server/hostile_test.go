package server_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// samples are valid requests of every kind, with a server's headers.
func samples(t testing.TB, u *user) ([]*proto.Header, []proto.Request) {
	c := u.c
	d, err := u.mkdir(c.FS.Root, "d", 0o777)
	require.NoError(t, err)
	f, err := u.create(d, "f", 0o666)
	require.NoError(t, err)
	a, err := u.attr(d, proto.AttrMetafile)
	require.NoError(t, err)
	dd := a.DistDir.Dirdata[0]
	m, err := u.attr(f, proto.AttrStat)
	require.NoError(t, err)
	id, cred := u.fs(), u.cred
	everything := &proto.Header{
		Capability: proto.Capability{
			Issuer: "S:server0", FS: id, Mask: proto.MayAll, Timeout: farTime,
			Handles: append([]proto.Handle{c.FS.Root, d, f, dd}, m.Datafiles...),
		},
		Hints: proto.Hints{{Type: proto.HintServerID, Value: 0}, {Type: proto.HintHandle, Value: uint64(d)}},
	}
	return []*proto.Header{everything, u.header(d), u.header(f), {}}, []proto.Request{
		&proto.LookupPathReq{Path: "d/f", FS: id, Start: c.FS.Root, Mask: proto.AttrCommon, Cred: cred},
		&proto.GetAttrReq{Handle: f, FS: id, Mask: proto.AttrStat, Cred: cred},
		&proto.ListAttrReq{FS: id, Mask: proto.AttrListAttr, Handles: []proto.Handle{d, f, dd}},
		&proto.SetAttrReq{Handle: f, FS: id, Attr: m, Cred: cred},
		&proto.SetAttrReq{Handle: dd, FS: id, Attr: proto.Attr{Type: proto.TypeDirdata, Mask: proto.AttrDistDir, DistDir: a.DistDir}, Cred: cred},
		&proto.SetAttrReq{Handle: d, FS: id, Attr: proto.Attr{Type: proto.TypeDirectory, Mask: proto.AttrDistDir, DistDir: a.DistDir}, Cred: cred},
		create(u, proto.DistTwoD, proto.LayoutRandom, 2), create(u, proto.DistVar, proto.LayoutList, 1, c.Address(0)),
		create(u, proto.DistStripe, proto.LayoutRoundRobin, 3),
		&proto.MkdirReq{FS: id, Cred: cred, Attr: proto.Attr{Mask: proto.AttrMkdir, Type: proto.TypeDirectory}, InitialServers: 1, MaxServers: 2, SplitSize: 5},
		&proto.BatchCreateReq{FS: id, Type: proto.TypeDatafile, Count: 3, Extents: c.FS.Servers[0].Data},
		&proto.BatchRemoveReq{FS: id, Handles: []proto.Handle{1, 2}},
		&proto.RemoveReq{Handle: d, FS: id, Cred: cred},
		&proto.CrDirentReq{Cred: cred, Name: "g", New: f, Dir: d, Dirdata: dd, FS: id},
		&proto.RmDirentReq{Name: "g", Dirdata: dd, FS: id},
		&proto.ChDirentReq{Name: "f", New: d, Dirdata: dd, FS: id},
		&proto.ReadDirReq{Dirdata: dd, FS: id, Count: 10, Token: proto.TokenStart},
		&proto.UnstuffReq{Handle: f, FS: id, Mask: proto.AttrUnstuff, Cred: cred},
		&proto.GetEattrReq{Handle: f, FS: id, Keys: []string{"system.pvfs2.md", "user.a"}, Sizes: []int64{100, -5}},
		&proto.SetEattrReq{Handle: f, FS: id, Keys: []string{"user.a"}, Values: [][]byte{{1, 0, 0, 0}}},
		&proto.DelEattrReq{Handle: f, FS: id, Key: "user.b"},
		&proto.ListEattrReq{Handle: f, FS: id, Token: proto.TokenStart, Sizes: []int64{256, 256}},
		&proto.AtomicEattrReq{Handle: f, FS: id, Opcode: 0xADD, Keys: []string{"user.a"}, Values: [][]byte{{1, 0, 0, 0}}, Sizes: []int64{4}},
		&proto.SplitDirentReq{FS: id, Dirdata: dd, Dist: proto.Dist{Name: proto.DistBasic}, Handles: []proto.Handle{f}, Names: []string{"h"}},
		&proto.SplitDirentReq{FS: id, Dirdata: dd, Dist: proto.Dist{Name: proto.DistBasic}, Undo: 1},
		&proto.GetDirentReq{Dirdata: dd, FS: id, Name: "f"},
		&proto.TreeGetAttrReq{FS: id, Cred: cred, Mask: proto.AttrStat, Handles: []proto.Handle{d, f, dd}},
		&proto.TreeRemoveReq{FS: id, Cred: cred, Handles: m.Datafiles},
		&proto.DspaceInfoReq{FS: id, Handles: []proto.Handle{d, f, dd}},
		&proto.RemoveDirentReq{Dirdata: dd, FS: id, Name: "f"},
	}
}

// TestMutatedRequests: any request from any claimed user gets an answer, and the server continues.
func TestMutatedRequests(t *testing.T) {
	for _, unsigned := range []bool{false, true} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: 1, Unsigned: unsigned, Config: func(o *config.GenOptions) {
			o.DistrDir, o.NoTimeouts = config.DistrDir{Initial: 1, Max: 1, Split: 3}, unsigned
		}})
		u := root(t, c)
		headers, requests := samples(t, u)
		rng := rand.New(rand.NewPCG(1, 2))
		answered, decoded := 0, 0
		for range 1500 {
			b := proto.AppendRequest(nil, headers[rng.IntN(len(headers))], requests[rng.IntN(len(requests))])
			mutate(rng, b)
			h, req, err := proto.ParseRequest(b)
			if err != nil {
				continue
			}
			decoded++
			ctx, cancel := context.WithTimeout(t.Context(), farOff)
			resp, err := c.Server(0).Do(ctx, bmi.Addr{}, h, req)
			cancel()
			require.False(t, errors.Is(err, context.DeadlineExceeded))
			if err == nil {
				answered++
				require.Equal(t, req.Op(), resp.Op())
				require.LessOrEqual(t, len(proto.AppendResponse(nil, resp)), proto.MaxResponse(req.Op()))
			}
		}
		require.NotZero(t, decoded)
		require.NotZero(t, answered)
		_, err := u.attr(c.FS.Root, proto.AttrMetafile)
		require.NoError(t, err)
		problems, err := c.Store(0).Check(false)
		require.NoError(t, err)
		require.Empty(t, problems)
	}
}

// mutate changes a few bytes after the generic header.
func mutate(rng *rand.Rand, b []byte) {
	interesting := []byte{0, 1, 2, 0x7f, 0x80, 0xff}
	for range rng.IntN(4) {
		i := 8 + rng.IntN(len(b)-8)
		switch rng.IntN(3) {
		case 0:
			b[i] ^= 1 << rng.IntN(8)
		case 1:
			b[i] = interesting[rng.IntN(len(interesting))]
		case 2:
			for j := i; j < min(i+8, len(b)); j++ {
				b[j] = 0xff
			}
		}
	}
}

// TestSquashAndExports: the rights of clients in several networks.
func TestSquashAndExports(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	everyone := networks(t, "*")
	k := newClient(t, c)
	ask := func(req proto.Request, resp proto.Response) error {
		h := k.header(c.FS.Root)
		return k.ask(0, &h, req, resp)
	}
	mkdir := &proto.MkdirReq{FS: c.FS.ID, Cred: k.cred, Attr: proto.Attr{Mask: proto.AttrMkdir, Type: proto.TypeDirectory}}
	var made proto.MkdirResp
	require.NoError(t, ask(mkdir, &made))
	require.Zero(t, k.attr(made.Handle).Owner)

	c.Reload(func(fs *config.Config) { fs.Export.RootSquash = everyone })
	require.NoError(t, ask(mkdir, &made))
	require.EqualValues(t, 65534, k.attr(made.Handle).Owner)
	require.EqualValues(t, 65534, k.attr(made.Handle).Group)
	require.NotEqual(t, proto.MayAll, k.attr(c.FS.Root).Capability.Mask)
	c.Reload(func(fs *config.Config) { fs.Export.RootSquash, fs.Export.RootSquashExceptions = everyone, everyone })
	require.Equal(t, proto.MayAll, k.attr(c.FS.Root).Capability.Mask)
	c.Reload(func(fs *config.Config) {
		fs.Export.RootSquash, fs.Export.RootSquashExceptions, fs.Export.AllSquash = everyone, everyone, everyone
	})
	require.NotEqual(t, proto.MayAll, k.attr(c.FS.Root).Capability.Mask)

	c.Reload(func(fs *config.Config) { fs.Export.ReadOnly = everyone })
	require.ErrorIs(t, ask(mkdir, &made), proto.EROFS)
	require.NotZero(t, k.attr(c.FS.Root).Type)

	c.Reload(func(fs *config.Config) { fs.Security.TrustedNetworks = networks(t, "tcp://10.1.2.3") })
	require.ErrorIs(t, k.ask(0, nil, &proto.NoopReq{}, &proto.NoopResp{}), proto.EACCES)
	c.Reload(func(fs *config.Config) { fs.Security.TrustedNetworks = networks(t, "*") })
	require.NoError(t, k.ask(0, nil, &proto.NoopReq{}, &proto.NoopResp{}))
}

// TestOwnTrustedNetwork: a server uses the networks in its own <ServerOptions>.
func TestOwnTrustedNetwork(t *testing.T) {
	text, err := config.Generate(config.GenOptions{Servers: []config.GenServer{{Alias: "a", Address: "tcp://a:1"}}})
	require.NoError(t, err)
	text = strings.Replace(text, "Server a", "Server a\n<Security>\nTrustedNetwork tcp://10.1.2.3\n</Security>", 1)
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1, Text: text})
	ep := c.Endpoint()
	k := &kit{t: t, c: c, ctx: t.Context(), ep: ep, caller: rpc.NewCaller(ep, rpc.Options{})}
	defer k.caller.Close()
	require.Equal(t, proto.EACCES, k.status(0, nil, &proto.NoopReq{}))
}

// TestUnsigned: without a key servers believe capabilities, but not for handles that they do not list.
func TestUnsigned(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Unsigned: true})
	u := root(t, c)
	h := u.header(c.FS.Root)
	require.Empty(t, h.Capability.Signature)
	h.Capability.Handles = []proto.Handle{c.FS.Root}
	a, err := u.attr(c.FS.Root, proto.AttrMetafile)
	require.NoError(t, err)
	_, err = u.to(c.FS.Root, h, &proto.ReadDirReq{Dirdata: a.DistDir.Dirdata[0], FS: u.fs(), Count: 1, Token: proto.TokenStart})
	require.Equal(t, proto.EACCES, err)
	h = u.header(c.FS.Root)
	h.Capability.Timeout = time.Now().Add(-time.Minute)
	_, err = u.to(c.FS.Root, h, &proto.ReadDirReq{Dirdata: a.DistDir.Dirdata[0], FS: u.fs(), Count: 1, Token: proto.TokenStart})
	require.Equal(t, proto.EAGAIN, err)
}

func networks(t testing.TB, patterns ...string) config.Networks {
	var all config.Networks
	for _, p := range patterns {
		n, err := config.ParseNetwork(p)
		require.NoError(t, err)
		all = append(all, n)
	}
	return all
}
