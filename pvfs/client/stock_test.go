package client

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// These tests are about features that stock servers lack. The fake lacks them here too. internal/pvfs/fstest/clientfs tests the same with
// real stock servers.

// TestAttributesOfRoot: a stock server lets every user set attributes of an object that belongs to root and has no datafiles.
func TestAttributesOfRoot(t *testing.T) {
	k, f := newFake(t, Options{})
	k.stock = true
	makeTree(t, f, "d/", "l->nothing")
	bob := f.As(Identity{UID: 5, Groups: []uint32{5}})
	when := time.Unix(1, 0)
	assert.ErrorIs(t, bob.Chmod(ctx, "d", 0o777), fs.ErrPermission)
	assert.ErrorIs(t, bob.Chown(ctx, "d", 5, 5), fs.ErrPermission)
	assert.ErrorIs(t, bob.Lchown(ctx, "l", 5, -1), fs.ErrPermission)
	assert.ErrorIs(t, bob.Chtimes(ctx, "d", when, when), fs.ErrPermission)
	info, err := f.StatCtx(ctx, "d")
	require.NoError(t, err)
	assert.Equal(t, fs.ModeDir|0o755, info.Mode())
	assert.Zero(t, info.Attr.Owner)
	require.NoError(t, f.Chown(ctx, "d", 5, 5))
	require.NoError(t, bob.Chmod(ctx, "d", 0o700), "it is his now")
}

// TestXattrCreateOnly: a stock server replaces an existing value.
func TestXattrCreateOnly(t *testing.T) {
	k, f := newFake(t, Options{})
	k.stock = true
	makeTree(t, f, "f")
	require.NoError(t, f.SetXattr(ctx, "f", "user.k", []byte("1"), XattrCreate))
	require.ErrorIs(t, f.SetXattr(ctx, "f", "user.k", []byte("2"), XattrCreate), fs.ErrExist)
	bob := f.As(Identity{UID: 5, Groups: []uint32{5}})
	require.ErrorIs(t, bob.SetXattr(ctx, "f", "user.k", []byte("2"), XattrCreate), fs.ErrPermission)
	value, err := f.GetXattr(ctx, "f", "user.k")
	require.NoError(t, err)
	require.Equal(t, "1", string(value))
}

// TestLongTargets: a stock server drops all but the first 256 bytes of a symlink's target.
func TestLongTargets(t *testing.T) {
	k, f := newFake(t, Options{})
	long, longest := strings.Repeat("t/", 500), strings.Repeat("t/", 127)+"t"
	require.NoError(t, f.Symlink(ctx, long, "here"))
	k.stock = true
	before := len(k.objects)
	require.ErrorIs(t, f.Symlink(ctx, long, "l"), syscall.ENAMETOOLONG)
	_, err := f.LstatCtx(ctx, "l")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Len(t, k.objects, before, "nothing is left of it")
	require.NoError(t, f.Symlink(ctx, longest, "l"))
	target, err := f.ReadLinkCtx(ctx, "l")
	require.NoError(t, err)
	require.Equal(t, longest, target)
}

// TestAnotherServerAway: a server reports that another one, which it needs, does not answer. Stock servers have several status
// codes for that, and may add the class of the component.
func TestAnotherServerAway(t *testing.T) {
	k, f := newFake(t, Options{RetryDelay: -1})
	makeTree(t, f, "d/")
	const bmiClass = 1 << 7
	for _, s := range []proto.Status{
		proto.EHOSTUNREACH, proto.ECONNREFUSED, proto.ECONNRESET, proto.EHOSTDOWN, proto.ETIMEDOUT, proto.EPIPE, -(-proto.ECONNREFUSED | bmiClass),
	} {
		refused := false
		k.fail = func(req proto.Request, h *proto.Header) (bool, error) {
			if req.Op() != proto.OpMkdir || refused {
				return false, nil
			}
			refused = true
			return false, s
		}
		require.NoError(t, f.Mkdir(ctx, "d/"+s.Name(), 0o755), s.Name())
		require.NoError(t, f.Remove(ctx, "d/"+s.Name()))
		require.True(t, refused)
	}
}

// TestListedWhileRemoved: a stock server answers ENOENT for the whole request if none of the requested objects exists.
func TestListedWhileRemoved(t *testing.T) {
	k, f := newFake(t, Options{AttrTime: -1})
	k.stock = true
	for i := range 9 {
		makeTree(t, f, fmt.Sprint("name", i))
	}
	k.fail = func(req proto.Request, h *proto.Header) (bool, error) {
		if r, ok := req.(*proto.ListAttrReq); ok {
			for _, gone := range r.Handles {
				delete(k.objects, gone)
			}
		}
		return false, nil
	}
	list, err := f.ReadDirCtx(ctx, "/")
	require.NoError(t, err)
	require.Len(t, list, 9)
	infos, err := f.ReadDirPlus(ctx, "/")
	require.NoError(t, err)
	require.Empty(t, infos)
}
