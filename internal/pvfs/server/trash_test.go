package server_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// thrownAway is the number of objects that a server still has to remove from others.
func thrownAway(t *testing.T, c *pvfstest.Cluster, server int) (n int) {
	t.Helper()
	require.NoError(t, c.Store(server).View(func(tx *store.Tx) error {
		n = 0
		for range tx.Records("trash/") {
			n++
		}
		return nil
	}))
	return n
}

// emptied waits until all servers have removed these objects.
func emptied(t *testing.T, c *pvfstest.Cluster) {
	t.Helper()
	for i := range c.Len() {
		require.Eventually(t, func() bool { return thrownAway(t, c, i) == 0 }, farOff, time.Millisecond, "server %d", i)
	}
}

// dirOn makes a directory whose names are on one server.
func dirOn(t *testing.T, u *user, server int) proto.Handle {
	t.Helper()
	for i := range 100 {
		dir, err := u.mkdir(u.c.FS.Root, fmt.Sprintf("d%d-%d", server, i), 0o777)
		require.NoError(t, err)
		a, err := u.attr(dir, proto.AttrMetafile)
		require.NoError(t, err)
		if len(a.DistDir.Dirdata) == 1 && owner(t, u.c, a.DistDir.Dirdata[0]) == server {
			return dir
		}
	}
	require.Fail(t, "no directory is on server %d", server)
	return 0
}

// createOn makes a file on one server.
func createOn(t *testing.T, u *user, dir proto.Handle, name string, server int) proto.Handle {
	t.Helper()
	u.turn = server + u.c.Len() - 1
	f, err := u.create(dir, name, 0o600)
	require.NoError(t, err)
	require.Equal(t, server, owner(t, u.c, f))
	return f
}

// acquainted waits until the server of a directory's names knows that another server is one of ours.
func acquainted(t *testing.T, u *user, dir proto.Handle, server int) {
	t.Helper()
	for range 5000 {
		f := createOn(t, u, dir, "first", server)
		got, err := u.unlinkWith(dir, "first", f)
		require.NoError(t, err)
		if got.Mark == proto.MarkRemoved {
			return
		}
		time.Sleep(time.Millisecond) // it is being asked; nothing depends on it
	}
	require.Fail(t, "a server is not asked what it is", "server %d", server)
}

// TestLeftToServerAway: a file on a server that is down is removed after its restart. Removals on other servers do not wait for
// it, not even behind more objects than fit into one request.
func TestLeftToServerAway(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
	u := root(t, c)
	dir := dirOn(t, u, 0)
	acquainted(t, u, dir, 1)
	acquainted(t, u, dir, 2)
	lost, kept, other := createOn(t, u, dir, "lost", 1), createOn(t, u, dir, "kept", 1), createOn(t, u, dir, "other", 2)
	require.Less(t, lost, other, "those of the first server come first")
	emptied(t, c)
	c.Stop(1)
	const more = 600
	require.NoError(t, c.Store(0).Update(func(tx *store.Tx) error {
		for i := range proto.Handle(more) { // objects that do not exist
			if err := tx.SetRecord(fmt.Sprintf("trash/%016x", uint64(c.FS.Servers[1].Meta[0].First+i)), []byte{1}); err != nil {
				return err
			}
		}
		return nil
	}))
	got, err := u.unlinkWith(dir, "lost", lost)
	require.NoError(t, err)
	require.Equal(t, proto.MarkedRmDirentResp{Handle: lost, Mark: proto.MarkRemoved}, got, "nobody knows yet that it is away")
	_, err = u.unlinkWith(dir, "other", other)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return u.gone(other) }, farOff, time.Millisecond)
	require.Greater(t, thrownAway(t, c, 0), more)

	c.Stop(0)
	c.Start(0) // it has a record of it
	c.Start(1)
	c.WaitReady()
	emptied(t, c)
	require.True(t, u.gone(lost))
	require.False(t, u.gone(kept))
}

// TestLeftToNoneOfOurs: a server that is not one of ours is not told to remove files. It would remove them without a check of the
// rights, and without their datafiles.
func TestLeftToNoneOfOurs(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2})
	u := root(t, c)
	dir := dirOn(t, u, 0)
	acquainted(t, u, dir, 1)
	left, kept := createOn(t, u, dir, "left", 1), createOn(t, u, dir, "kept", 1)
	emptied(t, c)
	c.Stop(1)
	got, err := u.unlinkWith(dir, "left", left)
	require.NoError(t, err)
	require.Equal(t, proto.MarkRemoved, got.Mark, "it is known as one of ours still")

	ep, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{c.Address(1)}})
	require.NoError(t, err)
	var asked, others atomic.Int32
	stock := rpc.NewServer(ep, func(call *rpc.Call) {
		if call.Request.Op() != proto.OpNoop {
			others.Add(1)
			call.Fail(proto.EINVAL)
			return
		}
		asked.Add(1)
		call.Reply(&proto.NoopResp{})
	}, rpc.ServerOptions{})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- stock.Serve(ctx) }()
	require.Eventually(t, func() bool { return thrownAway(t, c, 0) == 0 }, farOff, time.Millisecond, "it is given up")
	got, err = u.unlinkWith(dir, "kept", kept)
	require.NoError(t, err)
	assert.Equal(t, proto.MarkKept, got.Mark)
	assert.Zero(t, thrownAway(t, c, 0))
	assert.NotZero(t, asked.Load())
	assert.Zero(t, others.Load())
	stop()
	require.NoError(t, <-done)
	require.NoError(t, ep.Close())
	c.Start(1)
	assert.False(t, u.gone(left), "check --repair finds it")
}

// TestTrashWithoutMetafiles: a request that names no metafiles, as after a power loss (leavePools), is accepted from the server that owns
// the metafile, whatever else that server removes in the same request.
func TestTrashWithoutMetafiles(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Config: func(g *config.GenOptions) { g.NoStuffing = true }})
	k := newClient(t, c)
	f := k.create(0, 2, stripe.Default(proto.DistStripe))
	f.write(0, pattern(200_000, 1)) // now both datafiles know their metafile
	far := slices.IndexFunc(f.attr.Datafiles, func(h proto.Handle) bool { return owner(t, c, h) == 1 })
	require.NoError(t, c.Store(0).Update(func(tx *store.Tx) error {
		for _, h := range []proto.Handle{c.FS.Servers[1].Meta[0].First + 9, f.attr.Datafiles[far]} {
			if err := tx.SetRecord(fmt.Sprintf("trash/%016x", uint64(h)), []byte{1}); err != nil {
				return err
			}
		}
		return nil
	}))
	c.Stop(0)
	c.Start(0)
	emptied(t, c)
	require.NoError(t, c.Store(1).View(func(tx *store.Tx) error {
		_, err := tx.Get(f.attr.Datafiles[far])
		require.Equal(t, proto.ENOENT, proto.StatusOf(err))
		return nil
	}))
}
