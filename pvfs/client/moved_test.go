package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestMovedIsNoted: after a rename to another directory, the object may be removed from that one. After a rename inside a
// directory nothing has changed.
func TestMovedIsNoted(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	f := mount(t, c, client.Options{})
	handle := func(name string) proto.Handle {
		info, err := f.LstatCtx(ctx, name)
		require.NoError(t, err)
		return info.Handle
	}
	in := func(name, dir string) {
		t.Helper()
		h := handle(name)
		require.NoError(t, c.Store(0).View(func(tx *store.Tx) error {
			o, err := tx.Get(h)
			require.Equal(t, handle(dir), o.Parent)
			return err
		}))
	}
	require.NoError(t, f.Mkdir(ctx, "/a", 0o755))
	require.NoError(t, f.Mkdir(ctx, "/b", 0o755))
	write(t, f, "a/file", "text")
	require.NoError(t, f.Symlink(ctx, "x", "/a/link"))
	require.NoError(t, f.Mkdir(ctx, "/a/dir", 0o755))
	write(t, f, "b/old", "text")
	for _, name := range []string{"file", "link", "dir"} {
		require.NoError(t, f.Rename(ctx, "/a/"+name, "/a/other"))
		in("/a/other", "/a")
		require.NoError(t, f.Rename(ctx, "/a/other", "/b/"+name))
		in("/b/"+name, "/b")
	}
	require.NoError(t, f.Rename(ctx, "/b/old", "/a/old"))
	require.NoError(t, f.Rename(ctx, "/b/file", "/a/old"), "over another")
	in("/a/old", "/a")
	for _, name := range []string{"/a/old", "/b/link", "/b/dir", "/a", "/b"} {
		require.NoError(t, f.Remove(ctx, name))
	}
}
