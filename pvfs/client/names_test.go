package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

var ctx = context.Background()

// makeTree makes a tree: names that end in a slash are directories, those with an arrow symlinks.
func makeTree(t testing.TB, f *FS, names ...string) {
	t.Helper()
	for _, name := range names {
		if link, target, ok := strings.Cut(name, "->"); ok {
			require.NoError(t, f.Symlink(ctx, target, link), name)
		} else if strings.HasSuffix(name, "/") {
			require.NoError(t, f.Mkdir(ctx, strings.TrimSuffix(name, "/"), 0o755), name)
		} else {
			file, err := f.OpenFile(ctx, name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
			require.NoError(t, err, name)
			require.NoError(t, file.Close(), name)
		}
	}
}

func TestCreateIsTwoRequests(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "d/", "d/first")
	k.take()
	makeTree(t, f, "d/second")
	assert.Equal(t, "CREATE CRDIRENT", k.take())
	_, err := f.OpenFile(ctx, "d/second", os.O_CREATE|os.O_EXCL, 0o644)
	assert.ErrorIs(t, err, fs.ErrExist)
	assert.Equal(t, "", k.take())
}

func TestStatIsCached(t *testing.T) {
	now := time.Unix(1000, 0)
	k, f := newFake(t, Options{Clock: func() time.Time { return now }})
	makeTree(t, f, "f")
	_, err := f.StatCtx(ctx, "f")
	require.NoError(t, err)
	k.take()
	info, err := f.StatCtx(ctx, "f")
	require.NoError(t, err)
	assert.Equal(t, "", k.take())
	assert.Equal(t, fs.FileMode(0o644), info.Mode())

	now = now.Add(4 * time.Second)
	_, err = f.StatCtx(ctx, "f")
	require.NoError(t, err)
	assert.Equal(t, "LOOKUP_PATH", k.take())
	now = now.Add(11 * time.Second)
	_, err = f.StatCtx(ctx, "f")
	require.NoError(t, err)
	assert.Equal(t, "LOOKUP_PATH GETATTR", k.take(), "the size is too old")

	require.NoError(t, f.Chmod(ctx, "f", 0o600))
	info, err = f.StatCtx(ctx, "f")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode(), "what this client changed it sees")
}

func TestPaths(t *testing.T) {
	_, f := newFake(t, Options{})
	makeTree(t, f, "d/", "d/e/", "d/e/f", "abs->/d/e", "rel->d/e", "loop->loop", "a->b", "b->a", "d/up->../d/e/f", "gone->nothing")
	long := strings.Repeat("n", 256)
	for _, c := range []struct {
		path string
		want error
		typ  proto.ObjType
	}{
		{"", proto.ENOENT, 0},
		{"/", nil, proto.TypeDirectory},
		{".", nil, proto.TypeDirectory},
		{"..", nil, proto.TypeDirectory},
		{"/d/./e//f", nil, proto.TypeMetafile},
		{"d/e/../e/f", nil, proto.TypeMetafile},
		{"d/e/f/", proto.ENOTDIR, 0},
		{"d/e/f/x", proto.ENOTDIR, 0},
		{"d/e/f/..", proto.ENOTDIR, 0},
		{"d/x/f", proto.ENOENT, 0},
		{"d/x", proto.ENOENT, 0},
		{"abs/f", nil, proto.TypeMetafile},
		{"rel/f", nil, proto.TypeMetafile},
		{"abs/../up", nil, proto.TypeMetafile},
		{"d/up", nil, proto.TypeMetafile},
		{"loop", proto.ELOOP, 0},
		{"a", proto.ELOOP, 0},
		{"a/x", proto.ELOOP, 0},
		{"gone", proto.ENOENT, 0},
		{"gone/x", proto.ENOENT, 0},
		{long, proto.ENAMETOOLONG, 0},
		{long[1:], proto.ENOENT, 0},
		{"d/" + long + "/x", proto.ENAMETOOLONG, 0},
		{strings.Repeat("d/", 2049), proto.ENAMETOOLONG, 0},
		{"d\x00", proto.EINVAL, 0},
	} {
		for range 2 { // from the server, then from the cache
			info, err := f.StatCtx(ctx, c.path)
			if c.want != nil {
				assert.ErrorIs(t, err, c.want, c.path)
				var pe *fs.PathError
				assert.ErrorAs(t, err, &pe, c.path)
				continue
			}
			require.NoError(t, err, c.path)
			assert.Equal(t, c.typ, info.Attr.Type, c.path)
		}
	}
	target, err := f.ReadLinkCtx(ctx, "abs")
	require.NoError(t, err)
	assert.Equal(t, "/d/e", target)
	_, err = f.ReadLinkCtx(ctx, "d")
	assert.ErrorIs(t, err, syscall.EINVAL)
}

func TestDeepPath(t *testing.T) {
	k, f := newFake(t, Options{NameTime: -1})
	path := ""
	for range 100 {
		path += "/x"
		require.NoError(t, f.Mkdir(ctx, path, 0o755))
	}
	k.take()
	_, err := f.StatCtx(ctx, path)
	require.NoError(t, err)
	_, err = f.StatCtx(ctx, path+"/y")
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestUsersAreKeptApart(t *testing.T) {
	_, f := newFake(t, Options{})
	require.NoError(t, f.Mkdir(ctx, "secret", 0o700))
	makeTree(t, f, "secret/f")
	_, err := f.StatCtx(ctx, "secret/f")
	require.NoError(t, err)
	other := f.As(Identity{UID: 5, Groups: []uint32{5}})
	_, err = other.StatCtx(ctx, "secret/f")
	assert.ErrorIs(t, err, fs.ErrPermission)
	require.NoError(t, f.Chmod(ctx, "secret", 0o755))
	_, err = other.StatCtx(ctx, "secret/f")
	assert.NoError(t, err)
	_, err = other.OpenFile(ctx, "secret/f", os.O_RDWR, 0)
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.ErrorIs(t, other.Remove(ctx, "secret/f"), fs.ErrPermission)
	require.NoError(t, f.Chmod(ctx, "secret", 0o700))
	_, err = other.StatCtx(ctx, "secret/f")
	assert.ErrorIs(t, err, fs.ErrPermission, "a name that was allowed may be forbidden")
}

func TestCapabilityIsRenewed(t *testing.T) {
	now := time.Unix(1000, 0)
	k, f := newFake(t, Options{Clock: func() time.Time { return now }, AttrTime: time.Hour})
	makeTree(t, f, "one")
	now = now.Add(9*time.Minute + 45*time.Second)
	k.take()
	makeTree(t, f, "two")
	assert.Equal(t, "GETATTR CREATE CRDIRENT", k.take())

	// For a server whose clock is ahead, the capability has expired. The client must renew it.
	k.expires = 2 * time.Minute
	f.table.get(10).changed()
	require.NoError(t, f.Chmod(ctx, "two", 0o600))
	k.take()
	n := f.table.get(10)
	n.mu.Lock()
	for i := range n.grants {
		n.grants[i].cap.Timeout = now
	}
	n.mu.Unlock()
	makeTree(t, f, "three")
}

func TestStaleCapability(t *testing.T) {
	k, f := newFake(t, Options{})
	bob := f.As(Identity{UID: 5, Groups: []uint32{5}})
	require.NoError(t, f.Mkdir(ctx, "d", 0o755))
	_, err := bob.OpenFile(ctx, "d/f", os.O_CREATE, 0o644)
	require.ErrorIs(t, err, fs.ErrPermission)
	for h, o := range k.objects { // another client does this
		if o.attr.Type == proto.TypeDirectory && h != 10 {
			o.attr.Perms = 0o777
		}
	}
	_, err = bob.OpenFile(ctx, "d/f", os.O_CREATE, 0o644)
	assert.NoError(t, err)
}

func TestRequestsAreRepeated(t *testing.T) {
	lost := &rpc.CallError{Kind: rpc.ErrNoAnswer, Err: errors.New("broken")}
	never := &rpc.CallError{Kind: rpc.ErrNotSent, Err: errors.New("broken")}
	for _, c := range []struct {
		what string
		op   proto.Op
		done bool
		err  error
	}{
		{"not sent", proto.OpCrDirent, false, never},
		{"lost before", proto.OpCrDirent, false, lost},
		{"lost after", proto.OpCrDirent, true, lost},
		{"lost after", proto.OpRmDirent, true, lost},
		{"lost after", proto.OpChDirent, true, lost},
		{"lost after", proto.OpRemove, true, lost},
		{"lost after", proto.OpTreeRemove, true, lost},
		{"lost after", proto.OpSetEattr, true, lost},
		{"lost after", proto.OpDelEattr, true, lost},
		{"lost after", proto.OpMkdir, true, lost},
		{"lost after", proto.OpSetAttr, true, lost},
	} {
		t.Run(fmt.Sprint(c.op, " ", c.what), func(t *testing.T) {
			k, f := newFake(t, Options{RetryDelay: -1})
			again := 0
			k.fail = func(req proto.Request, h *proto.Header) (bool, error) {
				if req.Op() != c.op {
					again = 0
					return false, nil
				}
				again++
				if again == 1 {
					return c.done, c.err
				}
				return false, nil
			}
			makeTree(t, f, "d/", "d/f", "d/g", "l->d/f")
			require.NoError(t, f.SetXattr(ctx, "d/f", "user.x", []byte("v"), XattrCreate))
			require.NoError(t, f.RemoveXattr(ctx, "d/f", "user.x"))
			require.NoError(t, f.Chmod(ctx, "d/f", 0o600))
			require.NoError(t, f.Rename(ctx, "d/f", "d/h"))
			require.NoError(t, f.Rename(ctx, "d/h", "d/g"))
			names, err := f.ReadNames(ctx, "d")
			require.NoError(t, err)
			assert.Equal(t, []string{"g"}, names)
			require.NoError(t, f.RemoveAll(ctx, "d"))
			require.NoError(t, f.Remove(ctx, "l"))
			names, err = f.ReadNames(ctx, "/")
			require.NoError(t, err)
			assert.Empty(t, names)
		})
	}
}

func TestGivesUp(t *testing.T) {
	k, f := newFake(t, Options{RetryDelay: -1})
	makeTree(t, f, "d/")
	k.fail = func(req proto.Request, h *proto.Header) (bool, error) {
		if req.Op() == proto.OpCrDirent {
			return true, &rpc.CallError{Kind: rpc.ErrNoAnswer, Err: errors.New("broken")}
		}
		return false, nil
	}
	k.take()
	_, err := f.OpenFile(ctx, "d/f", os.O_CREATE|os.O_EXCL, 0o644)
	assert.ErrorIs(t, err, rpc.ErrNoAnswer, "it may have been made")
	assert.Equal(t, "GETATTR CREATE CRDIRENT CRDIRENT CRDIRENT CRDIRENT", k.take(), "nothing is undone that may be done")
	k.fail = nil
	_, err = f.StatCtx(ctx, "d/f")
	assert.NoError(t, err, "and it was")

	stopped, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, f.Remove(stopped, "d/f"), context.Canceled)
}
