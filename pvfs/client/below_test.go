package client_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestBelow: names in a view of a directory do not lead out of it, and no link is followed. Everything else works as usual.
func TestBelow(t *testing.T) {
	f := mount(t, pvfstest.Start(t, pvfstest.Options{}), client.Options{})
	require.NoError(t, f.MkdirAll(ctx, "/a/b/c", 0o755))
	require.NoError(t, f.Mkdir(ctx, "/secret", 0o755))
	write(t, f, "/secret/f", "secret")
	write(t, f, "/a/b/f", "ours")
	for name, target := range map[string]string{"/link": "a", "/a/b/up": "../../secret", "/a/b/abs": "/secret", "/a/b/in": "c", "/a/b/file": "f", "/a/b/none": "nothing"} {
		require.NoError(t, f.Symlink(ctx, target, name))
	}
	outer, err := f.Below(ctx, "/link")
	require.NoError(t, err, "the way to the top may have links")
	v, err := outer.Below(ctx, "b")
	require.NoError(t, err)
	_, err = v.Below(ctx, "in")
	assert.ErrorIs(t, err, proto.ELOOP)
	_, err = v.Below(ctx, "f")
	assert.ErrorIs(t, err, proto.ENOTDIR)

	now := time.Now()
	for _, name := range []string{"up", "abs", "in", "file", "none", "up/f", "abs/f", "in/f", "up/", "../c/../up/f"} {
		for what, do := range map[string]func() error{
			"stat": func() error { _, err := v.StatCtx(ctx, name); return err },
			"open": func() error { _, err := v.OpenFile(ctx, name, os.O_RDONLY, 0); return err },
			"create": func() error {
				_, err := v.OpenFile(ctx, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
				return err
			},
			"list":    func() error { _, err := v.ReadDirCtx(ctx, name); return err },
			"chmod":   func() error { return v.Chmod(ctx, name, 0o777) },
			"chtimes": func() error { return v.Chtimes(ctx, name, now, now) },
			"mkdir":   func() error { return v.Mkdir(ctx, name+"/new", 0o755) },
			"remove":  func() error { return v.Remove(ctx, name+"/f") },
			"rename":  func() error { return v.Rename(ctx, "f", name+"/g") },
			"symlink": func() error { return v.Symlink(ctx, "x", name+"/new") },
		} {
			assert.ErrorIs(t, do(), proto.ELOOP, "%s %s", what, name)
		}
	}
	assert.ErrorIs(t, v.Mkdir(ctx, "up", 0o755), fs.ErrExist)
	_, err = v.OpenFile(ctx, "none", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	assert.ErrorIs(t, err, fs.ErrExist)
	entries, err := f.ReadNames(ctx, "/secret")
	require.NoError(t, err)
	assert.Equal(t, []string{"f"}, entries)

	info, err := v.LstatCtx(ctx, "up")
	require.NoError(t, err)
	assert.Equal(t, fs.ModeSymlink, info.Mode().Type())
	target, err := v.ReadLinkCtx(ctx, "up")
	require.NoError(t, err)
	assert.Equal(t, "../../secret", target)
	_, err = v.StatCtx(ctx, "/../../secret")
	assert.ErrorIs(t, err, fs.ErrNotExist, "the top is its own parent")
	write(t, v, "/c/new", "bytes")
	require.NoError(t, f.Rename(ctx, "/a/b", "/moved"))
	for _, view := range []*client.FS{v, v.WithContext(ctx), v.As(v.Identity())} {
		got, err := fs.ReadFile(view, "c/new")
		require.NoError(t, err, "it is the directory that counts, not its name")
		assert.Equal(t, "bytes", string(got))
		_, err = view.StatCtx(ctx, "in")
		assert.ErrorIs(t, err, proto.ELOOP)
	}
	require.NoError(t, v.Remove(ctx, "up"))
	require.NoError(t, f.RemoveAll(ctx, "/moved"))
	_, err = v.ReadDirCtx(ctx, ".")
	assert.True(t, errors.Is(err, fs.ErrNotExist), "%v", err)
}
