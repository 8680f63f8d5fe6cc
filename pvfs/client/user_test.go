package client

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// someone is a user with groups.
func someone(uid uint32, groups ...uint32) Identity { return Identity{UID: uid, Groups: groups} }

// TestUsersAreBounded uses many more users than are cached. The users in use stay.
func TestUsersAreBounded(t *testing.T) {
	_, f := newFake(t, Options{})
	often := f.As(someone(5, 5, 6))
	for i := range uint32(3 * usersKeptMax) {
		f.As(someone(100+i%7, i))
		require.Same(t, often.user, f.As(someone(5, 5, 6)).user)
	}
	assert.Len(t, f.users.all, usersKeptMax)
	assert.Equal(t, usersKeptMax, f.users.used.Len())
}

// TestUsersAreToldApart by user and groups in their order; groups beyond those that fit into a credential do not count.
func TestUsersAreToldApart(t *testing.T) {
	_, f := newFake(t, Options{})
	seen := make(map[*user]Identity)
	for _, id := range []Identity{
		someone(5), someone(5, 5), someone(5, 5, 6), someone(5, 6, 5), someone(6, 5), someone(5, 0), someone(0, 5), someone(5, 5<<8),
	} {
		u := f.As(id).user
		assert.NotContains(t, seen, u, "%v", id)
		seen[u] = id
		assert.Equal(t, id.UID, u.id.UID)
		assert.ElementsMatch(t, id.Groups, u.id.Groups)
	}
	many := make([]uint32, proto.MaxGroups+3)
	for i := range many {
		many[i] = uint32(i)
	}
	u := f.As(someone(5, many...)).user
	assert.Same(t, u, f.As(someone(5, many[:proto.MaxGroups]...)).user)
	many[0] = 99
	assert.EqualValues(t, 0, u.id.Groups[0], "the caller's groups are the caller's")
}

// TestForgottenUser: a user opens a file, and then so many other users act that the mount drops the first one. The caches of
// objects and the rights of the open file still belong to that user.
func TestForgottenUser(t *testing.T) {
	k, f := newFake(t, Options{})
	bob := f.As(someone(5, 5))
	file, err := bob.OpenFile(ctx, "f", os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, f.Chmod(ctx, "f", 0))
	_, err = bob.StatCtx(ctx, "f")
	require.NoError(t, err)
	for i := range uint32(usersKeptMax) {
		f.As(someone(100, i))
	}
	again := f.As(someone(5, 5))
	require.NotSame(t, bob.user, again.user)
	k.take()
	_, err = again.StatCtx(ctx, "f")
	require.NoError(t, err)
	assert.Empty(t, k.take(), "names and attributes are kept")
	_, ok := file.node.heldFor(again.user, proto.MayRead|proto.MayWrite, k.clock())
	assert.True(t, ok)
	require.NoError(t, file.TruncateCtx(ctx, 3))
	require.NoError(t, file.Close())
}

// TestGrantsAreBounded uses one object as many users.
func TestGrantsAreBounded(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "f")
	view := func(i uint32) *FS { return f.As(someone(100+i, 100)) }
	n := f.table.get(f.cfg.Root)
	defer f.put(n)
	for i := range uint32(3 * grantsKeptMax) {
		require.NoError(t, view(i).may(ctx, n, proto.MayExec))
		require.LessOrEqual(t, len(n.grants), grantsKeptMax)
	}
	k.take()
	for i := range uint32(grantsKeptMax / 2) {
		require.NoError(t, view(3*grantsKeptMax-1-i).may(ctx, n, proto.MayExec))
	}
	assert.Empty(t, k.take(), "those of the last users are kept")
	require.NoError(t, view(0).may(ctx, n, proto.MayExec))
	assert.Equal(t, "GETATTR", k.take())
}

// TestHoldEndsWithTheFile opens and closes a file that stays open elsewhere.
func TestHoldEndsWithTheFile(t *testing.T) {
	_, f := newFake(t, Options{})
	open, err := f.OpenFile(ctx, "f", os.O_RDWR|os.O_CREATE, 0o666)
	require.NoError(t, err)
	bob := f.As(someone(5, 5))
	for range 3 {
		for i := range uint32(100) {
			file, err := f.As(someone(100+i, 100)).OpenFile(ctx, "f", os.O_RDONLY, 0)
			require.NoError(t, err)
			require.NoError(t, file.Close())
		}
	}
	assert.Empty(t, open.node.holds)

	var files []*File
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDONLY} {
		file, err := bob.OpenFile(ctx, "f", flag, 0)
		require.NoError(t, err)
		files = append(files, file)
	}
	require.NoError(t, f.Chmod(ctx, "f", 0))
	held := func(need proto.OpMask) bool {
		_, ok := open.node.heldFor(bob.user, need, f.opt.Clock())
		return ok
	}
	require.NoError(t, files[0].Close())
	assert.True(t, held(proto.MayRead|proto.MayWrite))
	require.NoError(t, files[1].Close())
	assert.False(t, held(proto.MayWrite), "the file that could be written is closed")
	assert.True(t, held(proto.MayRead), "the other that can be read is open")
	require.NoError(t, files[2].Close())
	assert.False(t, held(proto.MayRead))
	require.NoError(t, open.Close())
}
