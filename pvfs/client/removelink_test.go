package client

import (
	"context"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestRemoveAllFollowsNoLink: while a tree is removed, another user replaces a directory in it by a link. The link is never
// followed. The replacement comes after each possible request.
func TestRemoveAllFollowsNoLink(t *testing.T) {
	ctx := context.Background()
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	open := func() *FS {
		f, err := Mount(ctx, c.Source(), Options{Endpoint: c.Endpoint(), User: &Identity{Groups: []uint32{0}}, Seed: 1, AttrTime: -1, NameTime: -1})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.Close()) })
		return f
	}
	f, other := open(), open()
	require.NoError(t, other.MkdirAll(ctx, "victim/deep", 0o755))
	requests, moment := 0, 0
	sent := func() {
		if requests++; requests != moment {
			return
		}
		if other.Rename(ctx, "tree/b", "hidden") == nil { // it existed
			require.NoError(t, other.Symlink(ctx, "/victim", "tree/b"))
		}
	}
	send, begin := f.send, f.begin
	f.send = func(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) error {
		defer sent()
		return send(ctx, server, h, req, resp)
	}
	f.begin = func(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) func() error {
		wait := begin(ctx, server, h, req, resp)
		return func() error {
			defer sent()
			return wait()
		}
	}
	swaps := 0
	for moment = 1; requests >= moment-1; moment++ {
		require.NoError(t, other.MkdirAll(ctx, "tree/b/deep", 0o755))
		requests = 0
		err := f.RemoveAll(ctx, "tree")
		if err != nil {
			require.ErrorIs(t, err, proto.ELOOP, "a link behind request %d", moment)
		}
		_, err = other.StatCtx(ctx, "victim/deep")
		require.NoError(t, err, "a link behind request %d", moment)
		if _, err := other.LstatCtx(ctx, "hidden"); err == nil {
			swaps++
		}
		for _, name := range []string{"tree", "hidden"} {
			require.NoError(t, other.RemoveAll(ctx, name))
			_, err = other.LstatCtx(ctx, name)
			require.ErrorIs(t, err, fs.ErrNotExist)
		}
	}
	require.Greater(t, swaps, 5)
	t.Logf("%d of %d moments at which the directory was there", swaps, moment-1)
}
