package server_test

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestFailedSyncReachesClients: the disk of a server fails to sync once. Every flush of the datafile by any client fails, also
// after a restart, and so does every synced write, until the datafile is written again.
func TestFailedSyncReachesClients(t *testing.T) {
	var d disktest.Disk
	k := newKit(t, pvfstest.Options{Servers: 1, Store: func(_ int, o *store.Options) { o.Disk = &d }})
	f := k.create(0, 1, stripe.Default(proto.DistStripe))
	data := f.attr.Datafiles[0]
	flush := func() proto.Status { return k.status(0, nil, &proto.FlushReq{Handle: data, FS: k.c.FS.ID}) }
	fail := func() {
		var failed atomic.Bool
		d.Set(func(op disktest.Op, _ string) error {
			if op == disktest.Sync && !failed.Swap(true) {
				return syscall.EIO
			}
			return nil
		})
	}
	small := func(off int64, n int) proto.Status {
		op := f.op(off, n)
		return k.status(0, &f.header, f.smallReq(0, op, pattern(n, 1)))
	}
	f.write(0, pattern(100_000, 1))
	fail()
	require.Equal(t, proto.EIO, flush())
	require.Equal(t, proto.EIO, flush(), "again")
	require.Equal(t, proto.OK, k.status(0, nil, &proto.FlushReq{Handle: f.handle, FS: k.c.FS.ID}), "the metafile has no bytes")
	another := newClient(t, k.c)
	require.Equal(t, proto.EIO, another.status(0, nil, &proto.FlushReq{Handle: data, FS: k.c.FS.ID}))
	require.Equal(t, pattern(100_000, 1), f.read(0, 100_000), "it can be read")
	st := k.c.Server(0).Stats().Store
	assert.EqualValues(t, 1, st.SyncFailures)
	assert.Equal(t, 1, st.Marked)

	k.c.Stop(0)
	k.c.Start(0)
	k.c.WaitReady()
	require.Eventually(t, func() bool { // a request may meet the end of the old connection
		return k.ask(0, nil, &proto.NoopReq{}, &proto.NoopResp{}) == nil
	}, farOff, time.Millisecond)
	require.Equal(t, proto.EIO, flush(), "after a restart")
	k.c.Store(0).SetSync(false, true)
	require.Equal(t, proto.EIO, small(0, 1000), "a write that is to be synced")
	_, err := f.flow(f.op(0, 99_999), pattern(99_999, 1), proto.IOWrite)
	require.ErrorIs(t, err, syscall.EIO, "and one in a flow")
	f.write(0, pattern(100_000, 1)) // all of it
	require.Equal(t, proto.OK, flush())

	fail()
	require.Equal(t, proto.EIO, small(0, 1000))
	require.Equal(t, proto.EIO, flush())
	require.Equal(t, proto.OK, k.status(0, &f.header, &proto.TruncateReq{Handle: data, FS: k.c.FS.ID, Size: 0}))
	require.Equal(t, proto.OK, flush())
	require.Equal(t, proto.OK, small(0, 1000))
	assert.Zero(t, k.c.Server(0).Stats().Store.Marked)
}

// TestFailedDatabaseSyncReachesClients: no more changes are accepted, and no flush succeeds, but data can be read.
func TestFailedDatabaseSyncReachesClients(t *testing.T) {
	var d disktest.Disk
	k := newKit(t, pvfstest.Options{Servers: 1, Store: func(_ int, o *store.Options) { o.Disk = &d }})
	f := k.create(0, 1, stripe.Default(proto.DistStripe))
	f.write(0, pattern(1000, 1))
	var failed atomic.Bool
	d.Set(func(op disktest.Op, _ string) error {
		if op == disktest.SyncDatabase && !failed.Swap(true) {
			return syscall.EIO
		}
		return nil
	})
	for range 2 {
		require.Equal(t, proto.EIO, k.status(0, nil, &proto.FlushReq{Handle: f.handle, FS: k.c.FS.ID}))
		require.Equal(t, proto.EIO, k.status(0, nil, &proto.FlushReq{Handle: f.attr.Datafiles[0], FS: k.c.FS.ID}))
	}
	require.Equal(t, proto.EIO, k.status(0, &k.root, &proto.CreateReq{
		FS: k.c.FS.ID, Cred: k.cred, Datafiles: 1, Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin},
		Attr: proto.Attr{Perms: 0o644, Mask: proto.AttrCreate, Type: proto.TypeMetafile, Dist: f.attr.Dist},
	}))
	require.Equal(t, pattern(1000, 1), f.read(0, 1000))
	k.c.Kill(0) // its store cannot be closed properly
}

// TestDatafilesAheadAreSynced: datafiles that a server makes for another one are on its disk before the other gets them. That
// server may use them long after, and syncs only its own data.
func TestDatafilesAheadAreSynced(t *testing.T) {
	var d disktest.Disk
	k := newKit(t, pvfstest.Options{Servers: 2, Store: func(i int, o *store.Options) {
		o.SyncEvery = time.Hour // nothing is synced except on demand
		if i == 1 {
			o.Disk = &d
		}
	}})
	d.Set(func(op disktest.Op, _ string) error {
		if op == disktest.SyncDatabase {
			return syscall.EIO
		}
		return nil
	})
	require.Equal(t, proto.EIO, k.status(0, &k.root, &proto.CreateReq{
		FS: k.c.FS.ID, Cred: k.cred, Datafiles: 2, Layout: proto.Layout{Algorithm: proto.LayoutRandom},
		Attr: proto.Attr{Perms: 0o644, Mask: proto.AttrCreate, Type: proto.TypeMetafile, Dist: stripe.Default(proto.DistStripe)},
	}))
	k.c.Kill(1) // its store cannot be closed properly
}
