package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// copyOf copies the folder, as a killed server leaves it.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := memory.Dir(t)
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

func lastOf(t *testing.T, dir string) slotRecord {
	t.Helper()
	f, err := disk.OS.Open(filepath.Join(dir, checkpointName), unix.O_RDONLY)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	last, err := lastSlot(f)
	require.NoError(t, err)
	return last
}

// TestHowAStoreWasLeft: at each moment the file says how the store was left, and a start acts on that.
func TestHowAStoreWasLeft(t *testing.T) {
	dir := memory.Dir(t)
	in := func(boot string, durable bool) Options {
		return with(func(o *Options) { o.Boot, o.NoSyncMeta, o.SyncEvery = boot, !durable, 1<<62 })
	}
	set := func(s *Store, key string) {
		t.Helper()
		require.NoError(t, s.Update(func(tx *Tx) error { return tx.SetRecord(key, []byte{1}) }))
	}
	has := func(s *Store, keys ...string) {
		t.Helper()
		require.NoError(t, s.View(func(tx *Tx) error {
			for _, key := range []string{"a", "b", "c"} {
				value, err := tx.Record(key)
				if err != nil {
					return err
				}
				assert.Equal(t, slices.Contains(keys, key), value != nil, key)
			}
			return nil
		}))
	}
	s := open(t, dir, in("one", false))
	assert.Equal(t, leftOpen, lastOf(t, dir).as, "nothing was changed yet")
	set(s, "a")
	assert.Equal(t, leftDeferred, lastOf(t, dir).as)
	require.NoError(t, s.Sync())
	set(s, "b")

	killed := open(t, copyOf(t, dir), in("one", false))
	has(killed, "a", "b")
	require.NoError(t, killed.Close())
	unplugged := copyOf(t, dir)
	_, err := Open(unplugged, with(func(o *Options) { o.Boot, o.ReadOnly = "two", true }))
	require.ErrorIs(t, err, syscall.EIO)
	require.ErrorContains(t, err, "start its server once")
	after := open(t, unplugged, in("two", false))
	has(after, "a")
	require.NoError(t, after.Close())
	assert.Equal(t, leftClosed, lastOf(t, unplugged).as)

	s.SetSync(true, false)
	set(s, "c")
	assert.Equal(t, leftOpen, lastOf(t, dir).as, "the disk has all there is")
	after = open(t, copyOf(t, dir), in("two", false))
	has(after, "a", "b", "c")
	require.NoError(t, after.Close())
	require.NoError(t, s.Close())
	assert.Equal(t, leftClosed, lastOf(t, dir).as)
	require.NoError(t, open(t, copyOf(t, dir), with(func(o *Options) { o.Boot, o.ReadOnly = "two", true })).Close())
}

// TestSlotsOfACheckpoint: a slot is read as written, and refused if a bit is wrong.
func TestSlotsOfACheckpoint(t *testing.T) {
	page := metaPage{pageSize: 4096, txid: 7, head: make([]byte, metaPageBytes)}
	for _, r := range []slotRecord{
		{as: leftClosed, seq: 1, boot: "x"}, {as: leftOpen, seq: 1 << 60, boot: ""}, {as: leftDeferred, seq: 3, boot: "a boot", page: page},
	} {
		b := r.seal()
		got, err := parseSlot(append(b, make([]byte, slotBytes-len(b))...))
		require.NoError(t, err)
		require.Equal(t, r, got)
		for i := range 8 * len(b) {
			b[i/8] ^= 1 << (i % 8)
			_, err := parseSlot(b)
			require.ErrorIs(t, err, syscall.EIO, "bit %d", i)
			b[i/8] ^= 1 << (i % 8)
		}
		for n := range b {
			_, err := parseSlot(b[:n])
			require.ErrorIs(t, err, syscall.EIO)
		}
	}
}

// TestNoMetaPage: the database is not overwritten with anything but its own meta page.
func TestNoMetaPage(t *testing.T) {
	dir := memory.Dir(t)
	s := open(t, dir, with(func(o *Options) { o.Boot, o.SyncEvery = "one", 1<<62 }))
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.SetRecord("a", []byte{1}) }))
	good := lastOf(t, dir).page
	require.NoError(t, good.check())
	for name, spoil := range map[string]func(p *metaPage){
		"size of pages": func(p *metaPage) { p.pageSize = 4097 },
		"no size":       func(p *metaPage) { p.pageSize = 0 },
		"transaction":   func(p *metaPage) { p.txid++ },
		"flags":         func(p *metaPage) { p.head[pageFlagsAt] = 1 },
		"short":         func(p *metaPage) { p.head = p.head[:40] },
	} {
		bad := good
		bad.head = append([]byte{}, good.head...)
		spoil(&bad)
		require.ErrorIs(t, bad.restore(disk.OS, filepath.Join(copyOf(t, dir), databaseName)), syscall.EIO, name)
	}
	require.ErrorIs(t, good.restore(disk.OS, filepath.Join(dir, databaseName)), syscall.EBUSY, "a server has it open")
}

// TestCheckpointFails: if the disk does not store the state for a power loss, no more changes are accepted.
func TestCheckpointFails(t *testing.T) {
	for _, op := range []disktest.Op{disktest.Write, disktest.Sync} {
		t.Run(fmt.Sprint(op), func(t *testing.T) {
			s, d := failing(t, memory.Dir(t), func(o *Options) { o.SyncEvery = 1 << 62 })
			set := func(key string) error {
				return s.Update(func(tx *Tx) error { return tx.SetRecord(key, []byte{1}) })
			}
			d.Set(once(op, syscall.EIO))
			require.ErrorIs(t, set("a"), syscall.EIO)
			require.ErrorIs(t, set("b"), syscall.EIO)
			require.ErrorIs(t, s.Sync(), syscall.EIO)
			require.EqualValues(t, 1, s.Stats().SyncFailures)
		})
	}
}

// TestSweepKeepsHandles: until files without a datafile are gone, no new object gets the handle of one.
func TestSweepKeepsHandles(t *testing.T) {
	dir := memory.Dir(t)
	few := with(func(o *Options) { o.Data = []proto.Extent{{First: 1 << 61, Last: 1<<61 + 3}} })
	s := open(t, dir, few)
	<-s.tidy // there was nothing
	stale := s.files.path(1<<61 + 3)
	require.NoError(t, os.MkdirAll(filepath.Dir(stale), 0o700))
	require.NoError(t, os.WriteFile(stale, []byte("another's"), 0o600))
	s.sweeping.Store(true)
	for range 3 {
		require.NotEqual(t, proto.Handle(1<<61+3), create(t, s, DataSpace, proto.TypeDatafile))
	}
	s.sweep()
	require.NoError(t, s.Sync())
	require.NoFileExists(t, stale)
	require.NoError(t, s.Update(func(*Tx) error { return nil })) // the records of datafiles whose bytes are gone are removed
	h := create(t, s, DataSpace, proto.TypeDatafile)
	require.Equal(t, proto.Handle(1<<61+3), h)
	b := make([]byte, 10)
	n, err := s.ReadAt(h, b, 0)
	require.NoError(t, err)
	require.Zero(t, n)
}
