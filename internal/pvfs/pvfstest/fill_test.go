package pvfstest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// TestSymlinks: a client sees symlinks that were put into the store like its own.
func TestSymlinks(t *testing.T) {
	ctx := context.Background()
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
	f, err := client.Mount(ctx, c.Source(), client.Options{User: &client.Identity{Groups: []uint32{0}}})
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Close()) }()
	require.NoError(t, f.Mkdir(ctx, "/d", 0o755))
	c.Symlinks("d", "to/something", "a", "b", "c")
	entries, err := f.ReadDirCtx(ctx, "/d")
	require.NoError(t, err)
	require.Len(t, entries, 3)
	target, err := f.ReadLinkCtx(ctx, "/d/b")
	require.NoError(t, err)
	assert.Equal(t, "to/something", target)
	require.NoError(t, f.RemoveAll(ctx, "/d"))
	for i := range c.Len() {
		problems, err := c.Store(i).Check(false)
		require.NoError(t, err)
		assert.Empty(t, problems)
	}
}
