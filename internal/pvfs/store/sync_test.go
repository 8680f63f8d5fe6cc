package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// failing is a store on a disk with a plan.
func failing(t testing.TB, dir string, change func(o *Options)) (*Store, *disktest.Disk) {
	t.Helper()
	d := new(disktest.Disk)
	s := open(t, dir, with(func(o *Options) {
		o.Disk, o.SyncEvery = d, time.Hour // only the test syncs
		change(o)
	}))
	return s, d
}

// once makes the next call of a kind fail, and none after it.
func once(op disktest.Op, err error) disktest.Plan {
	var failed atomic.Bool
	return func(o disktest.Op, _ string) error {
		if o == op && !failed.Swap(true) {
			return err
		}
		return nil
	}
}

// written is a new datafile with data.
func written(t testing.TB, s *Store, n int) proto.Handle {
	t.Helper()
	h := create(t, s, DataSpace, proto.TypeDatafile)
	_, err := s.WriteAt(h, make([]byte, n), 0)
	require.NoError(t, err)
	return h
}

// TestFailedSyncStays: the kernel reports once that it could not write data. Every later Sync fails too, until the data is
// written again.
func TestFailedSyncStays(t *testing.T) {
	dir := memory.Dir(t)
	s, d := failing(t, dir, func(o *Options) { o.OpenFiles = 1 })
	h, other := written(t, s, 100), written(t, s, 100)
	before, err := s.OpenData(h)
	require.NoError(t, err)
	d.Set(once(disktest.Sync, syscall.EIO))
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO, "the next call")
	require.ErrorIs(t, before.Sync(), syscall.EIO, "by a handle that was open before")
	require.NoError(t, before.Close())
	require.NoError(t, s.SyncDatafile(other), "another datafile, for which this one was closed")
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO, "opened anew")
	require.NoError(t, s.Close())

	s, _ = failing(t, dir, func(*Options) {})
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO, "after a restart")
	require.NoError(t, s.SyncDatafile(other))
	_, err = s.WriteAt(h, make([]byte, 100), 0)
	require.NoError(t, err)
	require.NoError(t, s.SyncDatafile(h), "written again")
	require.NoError(t, s.Close())

	s, _ = failing(t, dir, func(*Options) {})
	require.NoError(t, s.SyncDatafile(h), "that it was written again is remembered, too")
}

// TestConcurrentSyncsAllFail: of two concurrent syncs of a datafile, the kernel reports the failure to one. Both must fail.
func TestConcurrentSyncsAllFail(t *testing.T) {
	s, d := failing(t, memory.Dir(t), func(*Options) {})
	h := written(t, s, 100)
	began, release := make(chan bool), make(chan bool)
	var first atomic.Bool
	d.Set(func(op disktest.Op, _ string) error {
		if op == disktest.Sync && !first.Swap(true) {
			close(began)
			<-release
			return syscall.EIO
		}
		return nil
	})
	var wait sync.WaitGroup
	wait.Go(func() { assert.ErrorIs(t, s.SyncDatafile(h), syscall.EIO, "the first") })
	<-began
	var arrived, done atomic.Bool
	wait.Go(func() {
		arrived.Store(true)
		assert.ErrorIs(t, s.SyncDatafile(h), syscall.EIO, "the second")
		done.Store(true)
	})
	// However far the second has got when the first ends, it must get the failure.
	for turns := 0; !arrived.Load() || !done.Load() && turns < 10000; turns++ {
		runtime.Gosched()
	}
	close(release)
	wait.Wait()
}

// TestSyncsShare: many goroutines write and sync the same datafile. Each returns only after a sync that began after its write,
// and several share one.
func TestSyncsShare(t *testing.T) {
	const clients, rounds = 8, 50
	s, d := failing(t, memory.Dir(t), func(*Options) {})
	h := written(t, s, clients)
	var wrote, synced [clients]atomic.Int64
	var syncs atomic.Int64
	d.Set(func(op disktest.Op, _ string) error {
		if op == disktest.Sync {
			syncs.Add(1)
			var now [clients]int64
			for i := range now {
				now[i] = wrote[i].Load()
			}
			runtime.Gosched()
			for i := range now {
				synced[i].Store(now[i])
			}
		}
		return nil
	})
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			for round := range int64(rounds) {
				_, err := s.WriteAt(h, []byte{byte(round)}, int64(i))
				assert.NoError(t, err)
				wrote[i].Store(round + 1)
				assert.NoError(t, s.SyncDatafile(h))
				assert.GreaterOrEqual(t, synced[i].Load(), round+1)
			}
		})
	}
	wait.Wait()
	assert.LessOrEqual(t, syncs.Load(), int64(clients*rounds))
	t.Logf("%d syncs for %d calls", syncs.Load(), clients*rounds)
}

// TestFailedFolderSyncStays: the folder has the datafile's name. Writing the datafile again would change only its data.
func TestFailedFolderSyncStays(t *testing.T) {
	for _, which := range []string{"fe", dataName} { // the file's folder, and the folder of that
		t.Run(which, func(t *testing.T) {
			dir := memory.Dir(t)
			s, d := failing(t, dir, func(o *Options) { o.Data = []proto.Extent{{First: 1 << 61, Last: 1<<61 + 0x2fe}} })
			h := written(t, s, 100)
			neighbour := h - 0x100
			require.NoError(t, s.Update(func(tx *Tx) error {
				return tx.Insert(neighbour, Object{Attr: proto.Attr{Type: proto.TypeDatafile}})
			}))
			_, err := s.WriteAt(neighbour, []byte("abc"), 0)
			require.NoError(t, err)
			var failed atomic.Bool
			d.Set(func(op disktest.Op, path string) error {
				if op == disktest.OpenFolder && filepath.Base(path) == which {
					return syscall.EMFILE
				}
				return nil
			})
			require.ErrorIs(t, s.SyncDatafile(h), syscall.EMFILE)
			assert.Zero(t, s.Stats().Marked, "the disk was not asked")
			d.Set(func(op disktest.Op, path string) error {
				if op == disktest.SyncFolder && filepath.Base(path) == which && !failed.Swap(true) {
					return syscall.EIO
				}
				return nil
			})
			require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
			require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
			require.NoError(t, s.Truncate(h, 0))
			require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO, "its name may still be lost")
			require.ErrorIs(t, s.SyncDatafile(neighbour), syscall.EIO, "so may one that was new then")
			assert.Equal(t, 2, s.Stats().Marked)
			require.NoError(t, s.Close())
			s = open(t, dir, with(func(*Options) {}))
			require.NoError(t, s.Truncate(h, 0))
			require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
			require.NoError(t, s.Update(func(tx *Tx) error { return tx.Delete(h) }))
			assert.Equal(t, 1, s.Stats().Marked)
		})
	}
}

// TestMarkGoesWithTheDatafile: another datafile that gets the handle has no mark, although the old one is still open and its
// syncs fail.
func TestMarkGoesWithTheDatafile(t *testing.T) {
	dir := memory.Dir(t)
	s, d := failing(t, dir, func(*Options) {})
	h := written(t, s, 100)
	old, err := s.OpenData(h)
	require.NoError(t, err)
	d.Set(once(disktest.Sync, syscall.EIO))
	require.ErrorIs(t, old.Sync(), syscall.EIO)
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.Delete(h) }))
	assert.Zero(t, s.Stats().Marked)
	require.ErrorIs(t, old.Sync(), syscall.EIO)
	require.NoError(t, s.Sync()) // the old data is removed
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.Insert(h, Object{Attr: proto.Attr{Type: proto.TypeDatafile}}) }))
	_, err = s.WriteAt(h, []byte("abc"), 0)
	require.NoError(t, err)
	require.NoError(t, s.SyncDatafile(h))
	d.Set(once(disktest.Sync, syscall.EIO))
	require.ErrorIs(t, old.Sync(), syscall.EIO)
	require.NoError(t, s.SyncDatafile(h))
	require.NoError(t, old.Close())
	assert.Zero(t, s.Stats().Marked)
	requireClean(t, s)
	require.NoError(t, s.Close())
	s = open(t, dir, with(func(*Options) {}))
	require.NoError(t, s.SyncDatafile(h))
}

// closeFails fails the close of a datafile's bytes.
func closeFails(s *Store, h proto.Handle, err error) disktest.Plan {
	bytes := s.files.path(h)
	return func(o disktest.Op, path string) error {
		if o == disktest.Close && path == bytes {
			return err
		}
		return nil
	}
}

// TestFailedCloseStays: some file systems report a delayed write only when the file is closed, which may be much later.
func TestFailedCloseStays(t *testing.T) {
	dir := memory.Dir(t)
	s, d := failing(t, dir, func(o *Options) { o.OpenFiles = 1 })
	h := written(t, s, 100)
	d.Set(closeFails(s, h, syscall.EDQUOT))
	last := written(t, s, 100) // the first one is closed for it
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	d.Set(closeFails(s, last, syscall.EIO))
	_, err := s.WriteAt(last, []byte("abc"), 0)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s = open(t, dir, with(func(*Options) {}))
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	require.ErrorIs(t, s.SyncDatafile(last), syscall.EIO, "closed at the end")
}

// TestFailedSyncIsTold: it is logged at once, and counted; Check reports it, and does not repair it.
func TestFailedSyncIsTold(t *testing.T) {
	dir := memory.Dir(t)
	var log bytes.Buffer
	s, d := failing(t, dir, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	h := written(t, s, 100)
	d.Set(once(disktest.Sync, syscall.ENOSPC))
	require.ErrorIs(t, s.SyncDatafile(h), syscall.ENOSPC, "the first hears why")
	for range 3 {
		require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
	for _, part := range []string{fmt.Sprintf("handle=%d", h), s.files.path(h), "bytes=100", syscall.ENOSPC.Error()} {
		assert.Contains(t, log.String(), part)
	}
	assert.EqualValues(t, 1, s.Stats().SyncFailures)
	assert.Equal(t, 1, s.Stats().Marked)
	d.Set(once(disktest.Sync, syscall.EIO))
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	assert.EqualValues(t, 2, s.Stats().SyncFailures, "again")
	assert.Equal(t, 2, strings.Count(log.String(), "level=ERROR"), log.String())
	for range 2 {
		problems, err := s.Check(true)
		require.NoError(t, err)
		require.Len(t, problems, 1)
		assert.Equal(t, h, problems[0].Handle)
		assert.False(t, problems[0].Repaired)
	}
	buf := make([]byte, 100)
	n, err := s.ReadAt(h, buf, 0)
	require.NoError(t, err, "it can be read")
	assert.Equal(t, 100, n)
	require.NoError(t, s.Close())

	log.Reset()
	s = open(t, dir, with(func(o *Options) { o.Log, o.ReadOnly = slog.New(slog.NewTextHandler(&log, nil)), true }))
	assert.Contains(t, log.String(), "datafiles=1")
	assert.Equal(t, 1, s.Stats().Marked)
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
}

// TestMarkThatCannotBeRecorded: it holds while the store is open, and the log says that it is not stored.
func TestMarkThatCannotBeRecorded(t *testing.T) {
	dir := memory.Dir(t)
	var log bytes.Buffer
	s, d := failing(t, dir, func(o *Options) { o.Log, o.OpenFiles = slog.New(slog.NewTextHandler(&log, nil)), 1 })
	h := written(t, s, 100)
	d.Set(func(op disktest.Op, _ string) error {
		if op == disktest.Sync || op == disktest.SyncDatabase {
			return syscall.EIO
		}
		return nil
	})
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	d.Set(nil)
	s.files.closeIdle()
	for range 3 {
		require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "in memory only"), log.String())
}

// TestMarkOfAnUnreadableRecord: unknown bytes count as lost.
func TestMarkOfAnUnreadableRecord(t *testing.T) {
	dir := memory.Dir(t)
	s := open(t, dir, with(func(*Options) {}))
	h := written(t, s, 100)
	require.NoError(t, s.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(tableNames[tMarks]))
		return errors.Join(b.Put(handleKey(h), []byte("x")), b.Put(handleKey(12345), []byte("x")), b.Put([]byte("abc"), []byte("x")))
	}))
	require.NoError(t, s.Close())
	s = open(t, dir, with(func(*Options) {}))
	_, err := s.WriteAt(h, make([]byte, 100), 0)
	require.NoError(t, err)
	require.ErrorIs(t, s.SyncDatafile(h), syscall.EIO)
	problems, err := s.Check(true)
	require.NoError(t, err)
	require.Len(t, problems, 3)
	for _, p := range problems {
		assert.True(t, p.Repaired, p)
	}
	problems, err = s.Check(false)
	require.NoError(t, err)
	require.Len(t, problems, 1, "it is still marked")
	require.NoError(t, s.Truncate(h, 0))
	require.NoError(t, s.SyncDatafile(h))
	requireClean(t, s)
}

// TestMissingTable: a store that lacks a table is damaged, and is not opened. Nothing makes the table anew: it would be empty.
func TestMissingTable(t *testing.T) {
	for _, name := range tableNames {
		if name == tableNames[tStore] {
			continue // without it, the store is new
		}
		dir := memory.Dir(t)
		s := open(t, dir, with(func(*Options) {}))
		require.NoError(t, s.db.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(name)) }))
		require.NoError(t, s.Close())
		for _, readOnly := range []bool{true, false} {
			_, err := Open(dir, with(func(o *Options) { o.ReadOnly = readOnly }))
			require.ErrorIs(t, err, syscall.EIO, name)
			require.ErrorContains(t, err, "table "+name+" is missing")
		}
	}
}
