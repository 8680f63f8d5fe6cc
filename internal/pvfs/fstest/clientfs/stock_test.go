package clientfs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest/clientfs"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// stockServers are the numbers of servers for these tests.
var stockServers = []int{1, 2, 4}

// stockLacks are the abilities that stock servers lack, see docs/guides/orangefs.md.
var stockLacks = map[fstest.Ability]string{
	fstest.OneClass:    "the server adds what the mode gives the group to what it gives the owner, or others",
	fstest.LongTargets: "the server answers with the first 256 bytes of a target",
}

// stockSubject is our client of stock servers.
func stockSubject(t *testing.T, servers int) *fstest.Subject {
	t.Helper()
	return stockClient(t, stock.Start(t, stock.Options{Servers: servers}), client.Options{})
}

func stockClient(t *testing.T, c *stock.Cluster, opt client.Options) *fstest.Subject {
	t.Helper()
	opt.User, opt.Seed, opt.Key = &client.Identity{Groups: []uint32{0}}, 1, c.Key()
	f, err := client.Mount(context.Background(), c.Source(), opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return &fstest.Subject{As: clientfs.New(f, "/"), Lacks: stockLacks}
}

// TestStockBehaviour runs every case against stock servers.
func TestStockBehaviour(t *testing.T) {
	for _, servers := range stockServers {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			s := stockSubject(t, servers)
			fstest.RunCases(t, fstest.All, func(fstest.T) *fstest.Subject { return s })
		})
	}
}

// TestStockRandom compares stock servers with the model.
func TestStockRandom(t *testing.T) {
	for _, servers := range stockServers {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			fstest.Random(t, func(fstest.T) *fstest.Subject { return stockSubject(t, servers) })
		})
	}
}

// TestStockRestart is the same with servers that are killed and restarted between operations.
func TestStockRestart(t *testing.T) {
	fstest.Random(t, func(fstest.T) *fstest.Subject {
		c := stock.Start(t, stock.Options{Servers: 2, Config: func(o *config.GenOptions) {
			o.NoSyncMeta, o.SyncData = false, true // killed stock servers lose data that they have not synced
		}})
		s := stockClient(t, c, client.Options{RetryLimit: 1000, RetryDelay: 10 * time.Millisecond})
		next := 0
		s.Disturb = func(fstest.T) {
			c.Kill(next % c.Len())
			c.Restart(next % c.Len())
			next++
		}
		return s
	})
}
