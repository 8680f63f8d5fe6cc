package store

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestFailedDatabaseSyncEndsUpdates: the cached data of the database may not be on the disk, and nothing based on it is safe.
func TestFailedDatabaseSyncEndsUpdates(t *testing.T) {
	dir := memory.Dir(t)
	s, d := failing(t, dir, func(*Options) {})
	h := create(t, s, MetaSpace, proto.TypeMetafile)
	d.Set(once(disktest.SyncDatabase, syscall.EIO))
	require.ErrorIs(t, s.Sync(), syscall.EIO)
	assert.ErrorIs(t, s.Sync(), syscall.EIO, "it is not safe yet")
	assert.ErrorIs(t, s.Update(func(tx *Tx) error { return tx.SetRecord("a", []byte{1}) }), syscall.EIO)
	assert.NoError(t, s.View(func(tx *Tx) error { _, err := tx.Get(h); return err }), "it can still be read")
	require.ErrorIs(t, s.Close(), syscall.EIO)
	s = open(t, dir, with(func(*Options) {}))
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.SetRecord("a", []byte{1}) }))
	require.NoError(t, s.Sync())
}

// TestFailedCommitEndsUpdates: the same when the database itself syncs.
func TestFailedCommitEndsUpdates(t *testing.T) {
	dir := memory.Dir(t)
	s, d := failing(t, dir, func(o *Options) { o.NoSyncMeta = false })
	set := func(key string) error {
		return s.Update(func(tx *Tx) error { return tx.SetRecord(key, []byte{1}) })
	}
	for range 3 { // from now on there are free pages, and the file does not grow
		require.NoError(t, set("before"))
	}
	require.NoError(t, d.Swallow())
	var wait sync.WaitGroup
	for range 4 { // in one group or several
		wait.Go(func() {
			err := set("a")
			assert.ErrorIs(t, err, syscall.EIO)
			// The second if no page was free at the moment, so that the file had to grow.
			assert.Regexp(t, "could not be synced: ("+syscall.EINVAL.Error()+"|file size too small 0)", err, "what such a disk says")
		})
	}
	wait.Wait()
	require.NoError(t, d.Restore())
	assert.ErrorIs(t, set("b"), syscall.EIO)
	assert.ErrorIs(t, s.Sync(), syscall.EIO)
	require.ErrorIs(t, s.Close(), syscall.EIO)
	s = open(t, dir, with(func(*Options) {}))
	require.NoError(t, set("c"))
	require.NoError(t, s.View(func(tx *Tx) error {
		for key, there := range map[string]bool{"before": true, "a": false, "b": false} {
			value, err := tx.Record(key)
			require.NoError(t, err)
			assert.Equal(t, there, value != nil, key)
		}
		return nil
	}))
	requireClean(t, s)
}

// TestFailedSyncOfTheRootEndsUpdates: the commit has written the page that makes it valid, but the sync of that fails. It may or
// may not be on the disk.
func TestFailedSyncOfTheRootEndsUpdates(t *testing.T) {
	dir := memory.Dir(t)
	s := open(t, dir, with(func(o *Options) { o.NoSyncMeta = false }))
	set := func(key string) error {
		return s.Update(func(tx *Tx) error { return tx.SetRecord(key, []byte{1}) })
	}
	require.NoError(t, set("before"))
	// The write function of the database, which its own tests replace as well. The first two pages are the root pages.
	writeAt := (*func([]byte, int64) (int, error))(reflect.ValueOf(s.db).Elem().FieldByName("ops").FieldByName("writeAt").Addr().UnsafePointer())
	write := *writeAt
	*writeAt = func(p []byte, off int64) (int, error) {
		n, err := write(p, off)
		if err == nil && off < int64(2*s.db.Info().PageSize) {
			err = syscall.EIO
		}
		return n, err
	}
	require.ErrorIs(t, set("a"), syscall.EIO)
	*writeAt = write
	require.ErrorIs(t, set("b"), syscall.EIO)
	require.ErrorIs(t, s.Sync(), syscall.EIO)
	require.ErrorIs(t, s.Close(), syscall.EIO)
	s = open(t, dir, with(func(*Options) {}))
	require.NoError(t, set("c"))
	requireClean(t, s)
}

// TestRefusedWriteEndsNothing: a full disk accepts no more pages, but does not lose any.
func TestRefusedWriteEndsNothing(t *testing.T) {
	for _, err := range []error{
		&fs.PathError{Op: "write", Err: syscall.ENOSPC}, &fs.PathError{Op: "write", Err: syscall.EIO},
		fmt.Errorf("store: %w: %w", berrors.ErrMaxSizeReached, syscall.ENOSPC), &brokenError{},
	} {
		assert.False(t, mayLosePages(err), err)
	}
	for _, err := range []error{syscall.EIO, syscall.ENOSPC, errors.New("file sync error: input/output error")} {
		assert.True(t, mayLosePages(err), err)
	}
}

// TestSyncWaitsForACommit: the database syncs its file when that grows, even if metadata is not durable. If that sync gets the
// kernel's error, a concurrent Sync fails, too.
func TestSyncWaitsForACommit(t *testing.T) {
	s, d := failing(t, memory.Dir(t), func(*Options) {})
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.SetRecord("a", []byte{1}) }))
	synced := make(chan bool)
	d.Set(func(op disktest.Op, _ string) error {
		if op == disktest.SyncDatabase {
			s.commitMu.Lock() // a commit
			close(synced)
		}
		return nil
	})
	result := make(chan error, 1)
	go func() { result <- s.Sync() }()
	<-synced
	_ = s.syncFailed(syscall.EIO)
	s.commitMu.Unlock()
	require.ErrorIs(t, <-result, syscall.EIO)
}
