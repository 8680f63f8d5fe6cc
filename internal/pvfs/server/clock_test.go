package server_test

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestClocksThatDiffer: a server whose neighbour's clock is an hour behind logs that once.
func TestClocksThatDiffer(t *testing.T) {
	var log logtext.Buffer
	var ahead atomic.Int64
	opts := pvfstest.Options{Config: func(g *config.GenOptions) { g.DistrDir = config.DistrDir{Initial: 2, Max: 2, Split: 100} }}
	opts.Server = func(i int, cfg *server.Config) {
		if i == 1 {
			cfg.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		}
	}
	c := pvfstest.Start(t, opts)
	u := root(t, c)
	ahead.Store(int64(time.Hour))
	for range 2 {
		_, err := u.do(0, u.header(c.FS.Root), &proto.MkdirReq{FS: u.fs(), Cred: u.cred, InitialServers: 2, MaxServers: 2,
			Attr: proto.Attr{Type: proto.TypeDirectory, Mask: proto.AttrCreate}})
		require.NoError(t, err, "the directory stays on one server")
	}
	require.Equal(t, 1, strings.Count(log.String(), "the clocks of the servers differ"), "%s", log.String())
}

// TestNoTimeouts: a server whose signatures never expire logs that.
func TestNoTimeouts(t *testing.T) {
	for _, off := range []bool{false, true} {
		var log logtext.Buffer
		pvfstest.Start(t, pvfstest.Options{Servers: 1, Config: func(g *config.GenOptions) { g.NoTimeouts = off },
			Server: func(_ int, cfg *server.Config) { cfg.Log = slog.New(slog.NewTextHandler(&log, nil)) }})
		require.Equal(t, off, strings.Contains(log.String(), "TurnOffTimeouts"))
	}
}
