package server_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// TestOtherKey: a server logs that a neighbour has another key or none, or does not trust its network. It does not log that about
// others.
func TestOtherKey(t *testing.T) {
	const same = "a key for tests and for nothing else"
	key := `msg="another server has a different key: operations that need both will fail; give all servers the same --key-file" server=`
	for name, c := range map[string]struct {
		key    string
		config func(*config.GenOptions)
		says   [2]string
	}{
		"same":  {same, nil, [2]string{}},
		"other": {"quite another key than all others have", nil, [2]string{key + "server1", key + "server0"}},
		"none":  {"", nil, [2]string{"", key + "server0"}}, // a server without a key accepts all
		"network": {
			same, func(g *config.GenOptions) { g.TrustedNetworks = []string{"tcp://10.0.0.0@8"} },
			[2]string{"its TrustedNetwork does not have this server's address\" server=server1", "server=server0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			logs := [2]logtext.Buffer{}
			servers := pvfstest.Start(t, pvfstest.Options{Config: c.config, Key: []byte(same), Server: func(i int, cfg *server.Config) {
				cfg.Log = slog.New(slog.NewTextHandler(&logs[i], nil))
				if i == 1 {
					cfg.Key = []byte(c.key)
				}
			}})
			for i := range logs {
				require.Eventually(t, func() bool { return strings.Contains(logs[i].String(), c.says[i]) }, wallclock.Patience, time.Millisecond, "server %d", i)
			}
			if name != "same" {
				return
			}
			for i := range logs {
				servers.Stop(i) // waits for background work
				require.NotContains(t, logs[i].String(), "another server")
			}
		})
	}
}
