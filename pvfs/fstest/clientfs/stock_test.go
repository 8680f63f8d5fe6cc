package clientfs_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/pvfs/fstest/clientfs"
	"github.com/viaduct-hpc/viaduct/pvfs/pvfstest/stock"
)

// stockServers are how many servers a file system of OrangeFS has in these tests.
var stockServers = []int{1, 2, 4}

// stockLacks are the abilities that stock servers do not have, see docs/orangefs.md.
var stockLacks = map[fstest.Ability]string{
	fstest.OneClass:    "the server adds what the mode gives the group to what it gives the owner, or others",
	fstest.LongTargets: "the server answers with the first 256 bytes of a target",
}

// stockSubject is our client of so many stock servers.
func stockSubject(t *testing.T, servers int) *fstest.Subject {
	t.Helper()
	c := stock.Start(t, stock.Options{Servers: servers})
	f, err := client.Mount(context.Background(), c.Source(), client.Options{User: &client.Identity{Groups: []uint32{0}}, Seed: 1})
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
