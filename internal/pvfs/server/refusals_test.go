package server_test

import (
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// row is a line of a server's statistics.
func row(t testing.TB, s *server.Server, name string) uint64 {
	t.Helper()
	for _, r := range s.Statistics() {
		if r.Name == name {
			return r.Count
		}
	}
	require.Fail(t, "no such row", name)
	return 0
}

// TestRefusalsAreCounted: each kind of refusal has a row of its own, and a log line with the client's address. A hundred refusals
// have one line.
func TestRefusalsAreCounted(t *testing.T) {
	var log logtext.Buffer
	var later atomic.Int64
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1, Server: func(_ int, cfg *server.Config) {
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		cfg.Clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	}})
	k := newClient(t, c)
	k.cred.User, k.cred.Groups = stranger, []uint32{stranger}
	own := k.header(c.FS.Root)
	forged := own
	forged.Capability.Mask = proto.MayAll
	dirdata := k.attr(c.FS.Root).DistDir.Dirdata[0]
	readDir := &proto.ReadDirReq{Dirdata: dirdata, FS: c.FS.ID, Count: 1, Token: proto.TokenStart}
	mkdir := func() proto.Request {
		return &proto.MkdirReq{FS: c.FS.ID, Cred: k.cred, Attr: proto.Attr{Mask: proto.AttrMkdir, Type: proto.TypeDirectory}}
	}
	const often = 100
	for _, test := range []struct {
		reason refusal.Reason
		with   *proto.Header
		req    func() proto.Request
		status proto.Status
		before func(*config.Config)
		after  time.Duration
		quiet  bool
	}{
		{reason: refusal.NoRight, req: func() proto.Request { return readDir }, status: proto.EACCES, quiet: true},
		{reason: refusal.ForgedCapability, with: &forged, req: func() proto.Request { return readDir }, status: proto.EPERM},
		{reason: refusal.ReadOnly, with: &own, req: mkdir, status: proto.EROFS, before: func(fs *config.Config) { fs.Export.ReadOnly = networks(t, "*") }},
		{reason: refusal.Network, req: mkdir, status: proto.EACCES, before: func(fs *config.Config) {
			fs.Security.TrustedNetworks = networks(t, "tcp://10.1.2.3")
		}},
		{reason: refusal.OldCapability, with: &own, req: mkdir, status: proto.EAGAIN, after: 11 * time.Minute, quiet: true},
		{reason: refusal.OldCredential, req: mkdir, status: proto.EAGAIN, after: 2 * time.Hour},
	} {
		c.Reload(func(fs *config.Config) {
			if test.before != nil {
				test.before(fs)
			}
		})
		later.Add(int64(test.after))
		before := row(t, c.Server(0), test.reason.String())
		for range often {
			require.Equal(t, test.status, k.status(0, test.with, test.req()), "%s", test.reason)
		}
		assert.EqualValues(t, often, row(t, c.Server(0), test.reason.String())-before, "%s", test.reason)
		lines := 0
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, test.reason.String()) {
				lines++
				assert.Contains(t, line, "client=mem://")
			}
		}
		if test.quiet {
			assert.Zero(t, lines, "%s", test.reason)
		} else {
			assert.Positive(t, lines, "%s", test.reason)
			assert.LessOrEqual(t, lines, often/2, "%s", test.reason)
		}
	}
}

// TestBytesOfSmallFilesAreCounted: SMALL_IO counts bytes, and so does a transfer.
func TestBytesOfSmallFilesAreCounted(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	k := newClient(t, c)
	f := k.create(0, 1, stripe.Default(proto.DistStripe))
	before := c.Server(0).Stats()
	require.Equal(t, proto.OK, k.status(f.datafileServer(0), &f.header, f.smallReq(0, f.op(0, 1000), make([]byte, 1000))))
	require.Equal(t, proto.OK, k.status(f.datafileServer(0), &f.header, f.smallReq(0, f.op(0, 300), nil)))
	after := c.Server(0).Stats()
	assert.EqualValues(t, 1000, after.BytesIn-before.BytesIn)
	assert.EqualValues(t, 300, after.BytesOut-before.BytesOut)
	f.write(0, pattern(50_000, 1))
	assert.EqualValues(t, 51_000, c.Server(0).Stats().BytesIn-before.BytesIn)
	assert.EqualValues(t, 51_000, row(t, c.Server(0), "bytes in")-before.BytesIn)
}

// TestLookupsThatFindNothing: they do not count as failures.
func TestLookupsThatFindNothing(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	k := newClient(t, c)
	failed := row(t, c.Server(0), "requests refused or failed")
	require.Equal(t, proto.ENOENT, k.status(0, &k.root, &proto.LookupPathReq{Path: "none", FS: c.FS.ID, Start: c.FS.Root, Mask: proto.AttrCommon, Cred: k.cred}))
	assert.EqualValues(t, 1, row(t, c.Server(0), "lookups that found nothing"))
	assert.Equal(t, failed, row(t, c.Server(0), "requests refused or failed"))
}

// TestStatisticsAreDocumented: docs/reference/pvfs.md has each row.
func TestStatisticsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/pvfs.md")
	require.NoError(t, err)
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	seen := make(map[string]bool)
	for _, r := range c.Server(0).Statistics() {
		assert.Contains(t, string(page), "\n| "+r.Name+" |")
		assert.False(t, seen[r.Name], "%s twice", r.Name)
		seen[r.Name] = true
	}
}
