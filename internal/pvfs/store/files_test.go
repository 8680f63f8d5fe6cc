package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestHolesStayHoles(t *testing.T) {
	s := fresh(t)
	h := create(t, s, DataSpace, proto.TypeDatafile)
	size, err := s.Size(h)
	require.NoError(t, err)
	assert.Zero(t, size)
	buf := []byte{1, 2, 3}
	n, err := s.ReadAt(h, buf, 0)
	require.NoError(t, err)
	assert.Zero(t, n)
	_, err = os.Stat(s.files.path(h))
	require.ErrorIs(t, err, fs.ErrNotExist, "nothing was written")
	const far = 5 << 30
	_, err = s.WriteAt(h, []byte("end"), far)
	require.NoError(t, err)
	n, err = s.ReadAt(h, buf, far-1)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	assert.Equal(t, "\x00en", string(buf))
	var st syscall.Stat_t
	require.NoError(t, syscall.Stat(s.files.path(h), &st))
	assert.EqualValues(t, far+3, st.Size)
	assert.Less(t, st.Blocks*512, int64(1<<20))
	require.NoError(t, s.Truncate(h, 0))
	size, err = s.Size(h)
	require.NoError(t, err)
	assert.Zero(t, size)
	// Invalid offsets and sizes.
	_, err = s.WriteAt(h, []byte("x"), -1)
	require.ErrorIs(t, err, syscall.EINVAL)
	_, err = s.WriteAt(h, []byte("xx"), 1<<63-2)
	require.Error(t, err)
	_, err = s.ReadAt(h, buf, -1)
	require.ErrorIs(t, err, syscall.EINVAL)
	require.ErrorIs(t, s.Truncate(h, -1), syscall.EINVAL)
	meta := create(t, s, MetaSpace, proto.TypeMetafile)
	_, err = s.ReadAt(meta, buf, 0)
	require.ErrorIs(t, err, syscall.EINVAL)
	_, err = s.ReadAt(12345, buf, 0)
	require.ErrorIs(t, err, fs.ErrNotExist)
	requireClean(t, s)
}

func TestOpenFilesAreBounded(t *testing.T) {
	s := open(t, memory.Dir(t), with(func(o *Options) { o.OpenFiles = 4 }))
	var all []proto.Handle
	for range 20 {
		h := create(t, s, DataSpace, proto.TypeDatafile)
		_, err := s.WriteAt(h, []byte("abc"), 0)
		require.NoError(t, err)
		all = append(all, h)
	}
	assert.Len(t, s.files.all, 4)
	var used []*Data
	for _, h := range all[:8] {
		d, err := s.OpenData(h)
		require.NoError(t, err)
		used = append(used, d)
	}
	assert.Len(t, s.files.all, 8, "those in use stay")
	for _, d := range used {
		require.NoError(t, d.Close())
	}
	assert.Len(t, s.files.all, 4)
	assert.Equal(t, 4, s.files.idle.Len())
	s.files.closeIdle()
	assert.Empty(t, s.files.all)
}

// TestHandedFiles: the file from File stays open while its datafile is open, also after the removal of the datafile, and is
// closed with it.
func TestHandedFiles(t *testing.T) {
	s := open(t, memory.Dir(t), with(func(o *Options) { o.OpenFiles = 1 }))
	h, other := create(t, s, DataSpace, proto.TypeDatafile), create(t, s, DataSpace, proto.TypeDatafile)
	d, err := s.OpenData(h)
	require.NoError(t, err)
	f, err := d.File()
	require.NoError(t, err)
	require.Nil(t, f, "nothing was written")
	_, err = d.WriteAt([]byte("abc"), 0)
	require.NoError(t, err)
	f, err = d.File()
	require.NoError(t, err)
	again, err := d.File()
	require.NoError(t, err)
	require.Same(t, f, again)
	_, err = s.WriteAt(other, []byte("x"), 0)
	require.NoError(t, err)
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.Delete(h) }))
	buf := make([]byte, 3)
	_, err = f.ReadAt(buf, 0)
	require.NoError(t, err)
	assert.Equal(t, "abc", string(buf))
	require.NoError(t, d.Close())
	_, err = f.ReadAt(buf, 0)
	require.ErrorIs(t, err, os.ErrClosed)

	o, err := s.OpenData(other)
	require.NoError(t, err)
	f, err = o.File()
	require.NoError(t, err)
	require.NoError(t, o.Close())
	_, err = f.ReadAt(buf[:1], 0)
	require.NoError(t, err, "it is kept open for the next")
	s.files.closeIdle()
	_, err = f.ReadAt(buf[:1], 0)
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = s.ReadAt(other, buf[:1], 0)
	require.NoError(t, err)
	assert.Equal(t, "x", string(buf[:1]))
}

func TestRemovedWhileOpen(t *testing.T) {
	s := fresh(t)
	h, empty := create(t, s, DataSpace, proto.TypeDatafile), create(t, s, DataSpace, proto.TypeDatafile)
	d, err := s.OpenData(h)
	require.NoError(t, err)
	e, err := s.OpenData(empty)
	require.NoError(t, err)
	_, err = d.WriteAt([]byte("abc"), 0)
	require.NoError(t, err)
	require.NoError(t, s.Update(func(tx *Tx) error {
		if err := tx.Delete(empty); err != nil {
			return err
		}
		return tx.Delete(h)
	}))
	require.FileExists(t, s.files.path(h), "until it is sure that it may go")
	require.NoError(t, s.Sync())
	_, err = os.Stat(s.files.path(h))
	require.ErrorIs(t, err, fs.ErrNotExist)
	buf := make([]byte, 5)
	n, err := d.ReadAt(buf, 0)
	require.NoError(t, err)
	assert.Equal(t, "abc", string(buf[:n]))
	_, err = e.WriteAt([]byte("abc"), 0)
	require.ErrorIs(t, err, fs.ErrNotExist, "nobody makes it any more")
	_, err = s.OpenData(h)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, d.Sync())
	require.NoError(t, d.Close())
	require.NoError(t, e.Close())
	// The handle can be used again.
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.Insert(h, Object{Attr: proto.Attr{Type: proto.TypeDatafile}}) }))
	n, err = s.ReadAt(h, buf, 0)
	require.NoError(t, err)
	assert.Zero(t, n)
	requireClean(t, s)
}

// TestFirstWriteAgainstRemove runs both at once: no file may be left.
func TestFirstWriteAgainstRemove(t *testing.T) {
	s := open(t, memory.Dir(t), with(func(o *Options) { o.OpenFiles = 2 }))
	var wg sync.WaitGroup
	for range 100 {
		h := create(t, s, DataSpace, proto.TypeDatafile)
		for range 2 {
			wg.Go(func() {
				if _, err := s.WriteAt(h, []byte("abc"), 0); err != nil {
					assert.ErrorIs(t, err, fs.ErrNotExist)
				}
			})
		}
		wg.Go(func() { assert.NoError(t, s.Update(func(tx *Tx) error { return tx.Delete(h) })) })
	}
	wg.Wait()
	requireClean(t, s)
	assert.Zero(t, s.Stats().Objects[proto.TypeDatafile])
}

// TestRemovalCalls: the removal of a datafile that was never written costs the disk one call, and no name stays of one that was.
func TestRemovalCalls(t *testing.T) {
	s, d := failing(t, memory.Dir(t), func(*Options) {})
	<-s.tidy
	var calls atomic.Int32
	d.Set(func(op disktest.Op, _ string) error {
		if op == disktest.Unlink {
			calls.Add(1)
		}
		return nil
	})
	remove := func(h proto.Handle) int32 {
		calls.Store(0)
		require.NoError(t, s.Update(func(tx *Tx) error { return tx.Delete(h) }))
		require.NoError(t, s.Sync())
		require.NoFileExists(t, s.files.path(h))
		require.NoFileExists(t, s.files.sumsPath(h))
		return calls.Load()
	}
	require.EqualValues(t, 1, remove(create(t, s, DataSpace, proto.TypeDatafile)))
	require.EqualValues(t, 2, remove(written(t, s, 1)))
}

// TestRemovalIsFinishedAtTheStart: the bytes of a removed datafile could be removed, but not their checksums. The next start does
// that.
func TestRemovalIsFinishedAtTheStart(t *testing.T) {
	dir := memory.Dir(t)
	s, d := failing(t, dir, func(*Options) {})
	<-s.tidy
	h := written(t, s, 1)
	d.Set(func(op disktest.Op, path string) error {
		if op == disktest.Unlink && strings.HasSuffix(path, sumsSuffix) {
			return syscall.EIO
		}
		return nil
	})
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.Delete(h) }))
	require.NoError(t, s.Sync())
	require.NoFileExists(t, s.files.path(h))
	require.FileExists(t, s.files.sumsPath(h))
	d.Set(nil)
	require.NoError(t, s.Close())
	s = open(t, dir, ranges)
	require.NoFileExists(t, s.files.sumsPath(h))
}

// TestBytesOfTheRemovedGoAtTheStart stops between a removal and the removal of the data.
func TestBytesOfTheRemovedGoAtTheStart(t *testing.T) {
	dir := memory.Dir(t)
	s := open(t, dir, ranges)
	h := create(t, s, DataSpace, proto.TypeDatafile)
	_, err := s.WriteAt(h, []byte("abc"), 0)
	require.NoError(t, err)
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.Delete(h) }))
	path := s.files.path(h)
	s.queueMu.Lock()
	s.unlinked = nil // as if they had never been removed
	s.queueMu.Unlock()
	require.NoError(t, os.WriteFile(path, []byte("abc"), 0o600))
	require.NoError(t, s.Close())
	s = open(t, dir, ranges)
	_, err = os.Stat(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, s.Close())
	s = open(t, dir, ranges)
	require.NoError(t, s.View(func(tx *Tx) error {
		key, _ := tx.table(tDead).Cursor().First()
		assert.Nil(t, key, "and the marks")
		return nil
	}))
}

func TestSyncOnAndOff(t *testing.T) {
	s := open(t, t.TempDir(), with(func(o *Options) { o.SyncData, o.SyncEvery = true, time.Millisecond }))
	assert.False(t, s.SyncsMeta())
	assert.True(t, s.SyncsData())
	create(t, s, MetaSpace, proto.TypeMetafile)
	require.NoError(t, s.Sync())
	s.SetSync(true, false)
	create(t, s, MetaSpace, proto.TypeMetafile)
	assert.True(t, s.SyncsMeta())
	assert.False(t, s.SyncsData())
	assert.Equal(t, s.written.Load(), s.synced.Load())
	available, total, err := s.Space()
	require.NoError(t, err)
	assert.Positive(t, available)
	assert.GreaterOrEqual(t, total, available)
}

func TestNamesOfFiles(t *testing.T) {
	fl := newFiles(new(Store), "/d")
	assert.Equal(t, "/d/fe/123456789abcdefe.bstream", fl.path(0x123456789abcdefe))
	h, ok := handleOfFile(filepath.Base(fl.path(0x123456789abcdefe)))
	assert.True(t, ok)
	assert.Equal(t, proto.Handle(0x123456789abcdefe), h)
	for _, name := range []string{"", "x", ".bstream", "0000000000000000.bstream", "123456789ABCDEFE.bstream", "123456789abcdef.bstream", "+23456789abcdef0.bstream"} {
		_, ok := handleOfFile(name)
		assert.False(t, ok, name)
	}
}

// benchmark measures creates (two objects, an entry), stats and removes, each in op/s.
func benchmark(b *testing.B, durable bool, clients int) {
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = b.TempDir()
	}
	dir, err := os.MkdirTemp(base, "store")
	require.NoError(b, err)
	defer os.RemoveAll(dir)
	opts := ranges
	opts.NoSyncMeta = !durable
	s, err := Open(dir, opts)
	require.NoError(b, err)
	defer s.Close()
	require.NoError(b, s.Update(func(tx *Tx) error {
		return tx.Insert(crashDir, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
	}))
	each := func(f func(i int) error) float64 {
		start := time.Now()
		var next atomic.Int64
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
					if err := f(i); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return float64(b.N) / time.Since(start).Seconds()
	}
	b.ResetTimer()
	b.ReportMetric(each(func(i int) error { return makeBare(s, nameOf("file", i)) }), "creates/s")
	b.ReportMetric(each(func(i int) error {
		return s.View(func(tx *Tx) error {
			h, err := tx.Lookup(crashDir, nameOf("file", i))
			if err == nil {
				_, err = tx.Get(h)
			}
			return err
		})
	}), "stats/s")
	b.ReportMetric(each(func(i int) error { return dropFile(s, nameOf("file", i)) }), "removes/s")
}

// makeBare makes a file like a server, in two updates, without data.
func makeBare(s *Store, name string) error {
	var h proto.Handle
	err := s.Update(func(tx *Tx) error {
		data, err := tx.Create(DataSpace, Object{Attr: proto.Attr{Type: proto.TypeDatafile}})
		if err != nil {
			return err
		}
		o := Object{Attr: proto.Attr{Type: proto.TypeMetafile, Mask: proto.AttrCreate, Perms: 0o644, MTime: 1 << 30, Datafiles: []proto.Handle{data}}}
		o.Dist = proto.Dist{Name: proto.DistStripe, StripSize: 65536}
		h, err = tx.Create(MetaSpace, o)
		return err
	})
	if err != nil {
		return err
	}
	return s.Update(func(tx *Tx) error { return tx.Link(crashDir, name, h) })
}
