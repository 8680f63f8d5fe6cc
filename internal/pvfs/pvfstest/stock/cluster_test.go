package stock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// TestStockCluster: servers start, answer, are killed, and restart with their data.
func TestStockCluster(t *testing.T) {
	ctx := context.Background()
	c := stock.Start(t, stock.Options{Servers: 2})
	mount := func() *client.FS {
		f, err := client.Mount(ctx, c.Source(), client.Options{User: &client.Identity{Groups: []uint32{0}}, Key: c.Key()})
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	f := mount()
	for address, err := range f.Ping(ctx) {
		require.NoError(t, err, address)
	}
	require.NoError(t, f.Mkdir(ctx, "d", 0o755))
	for i := range c.Len() {
		c.Kill(i)
		require.True(t, c.Process(i).Ended())
		c.Restart(i)
	}
	names, err := mount().ReadNames(ctx, "/")
	require.NoError(t, err)
	require.Contains(t, names, "d")
}
