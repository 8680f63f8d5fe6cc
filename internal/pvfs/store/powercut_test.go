package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestPowerCuts: after a power loss a store is as it was at the last sync, also if metadata is synced only from time to time.
// Synced data exists, and files without a datafile are removed.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	for _, noSync := range []bool{true, false} {
		t.Run(fmt.Sprintf("NoSyncMeta=%v", noSync), func(t *testing.T) {
			sim.Run(t, func(t *testing.T, seed uint64) {
				w := newCutWorld(t, seed, noSync)
				for range 4 {
					for range w.rng.IntN(60) {
						if w.step(); w.broken || w.off {
							break
						}
					}
					w.cut()
				}
				require.NoError(t, w.s.Close())
			})
		})
	}
}

// TestSyncsNowAndThen: without durable metadata, an update is on the disk after a while without a call of Sync.
func TestSyncsNowAndThen(t *testing.T) {
	dir, left := memory.Dir(t), memory.Dir(t)
	below, err := disktest.NewVolatile(dir)
	require.NoError(t, err)
	d := &disktest.Disk{Below: below}
	s := open(t, dir, with(func(o *Options) { o.NoSyncMeta, o.Disk, o.Boot, o.SyncEvery = true, d, "one", time.Millisecond }))
	require.NoError(t, s.Update(func(tx *Tx) error {
		return tx.Insert(crashDir, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
	}))
	require.NoError(t, makeFile(s, "file"))
	require.Eventually(t, func() bool { return s.synced.Load() == s.written.Load() }, time.Minute, time.Millisecond)
	require.NoError(t, below.Cut(rand.New(rand.NewPCG(1, 1)), left))
	after := open(t, left, with(func(o *Options) { o.NoSyncMeta, o.Boot = true, "two" }))
	require.NoError(t, after.View(func(tx *Tx) error {
		require.True(t, tx.WentBack())
		_, err := tx.Lookup(crashDir, "file")
		return err
	}))
}

// TestWentBack: a store that a power loss took back reports that until its server has handled it. A killed store does not report
// it.
func TestWentBack(t *testing.T) {
	dir := memory.Dir(t)
	boot := func(name string) Options {
		return with(func(o *Options) { o.NoSyncMeta, o.SyncEvery, o.Boot = true, 1<<62, name })
	}
	said := func(s *Store) (is bool) {
		require.NoError(t, s.View(func(tx *Tx) error { is = tx.WentBack(); return nil }))
		return is
	}
	s := open(t, dir, boot("one"))
	require.False(t, said(s))
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.SetRecord("a", []byte{1}) }))

	killed := open(t, copyOf(t, dir), boot("one"))
	require.False(t, said(killed))

	lost := copyOf(t, dir)
	for range 2 {
		after := open(t, lost, boot("two"))
		require.True(t, said(after), "until it is forgotten")
		require.NoError(t, after.Close())
	}
	after := open(t, lost, boot("two"))
	require.NoError(t, after.Update(func(tx *Tx) error { return tx.ForgetWentBack() }))
	require.False(t, said(after))
	problems, err := after.Check(false)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// TestSweepIsTakenUpAgain: the server is killed while it removes the files that a power loss has left. The next start goes on with that.
func TestSweepIsTakenUpAgain(t *testing.T) {
	boot := func(name string) func(*Options) {
		return func(o *Options) { o.Boot, o.SyncEvery = name, time.Hour }
	}
	s := open(t, memory.Dir(t), with(boot("one")))
	first, last := s.files.path(1<<61), s.files.path(1<<61+0xff) // in the order of the sweep
	alone := written(t, s, 10)
	lost := copyOf(t, s.dir) // the run that the power loss ends
	in := func(dir, path string) string { return filepath.Join(dir, strings.TrimPrefix(path, s.dir)) }
	for _, path := range []string{first, last} {
		require.NoError(t, os.MkdirAll(filepath.Dir(in(lost, path)), 0o700))
		require.NoError(t, os.WriteFile(in(lost, path), []byte("another's"), 0o600))
	}
	require.NoError(t, os.Remove(in(lost, s.files.path(alone))))
	swept := func(s *Store) {
		<-s.tidy
		require.NoError(t, s.Sync()) // the files are removed now
		for _, path := range []string{first, last, s.files.sumsPath(alone)} {
			require.NoFileExists(t, in(s.dir, path))
		}
		require.NoError(t, s.View(func(tx *Tx) error { require.False(t, tx.noted(unsweptKey)); return nil }))
	}

	var killed string
	d := new(disktest.Disk)
	d.Set(onceAt(disktest.Size, filepath.Base(s.files.path(alone)), func() error { killed = copyOf(t, lost); return nil }))
	after := open(t, lost, with(func(o *Options) { boot("two")(o); o.Disk = d }))
	swept(after)

	require.FileExists(t, in(killed, last), "the sweep had not come that far")
	after = open(t, killed, with(boot("two")))
	swept(after)
	require.NoError(t, after.Close())
	after = open(t, killed, with(boot("three")))
	require.False(t, after.sweeping.Load(), "it is done")
	requireClean(t, after)
}

// TestHeldPagesAreBounded: the state of the last sync is held, but the database does not grow without limit because of that.
func TestHeldPagesAreBounded(t *testing.T) {
	s := open(t, memory.Dir(t), with(func(o *Options) { o.SyncEvery = 1 << 62 }))
	require.NoError(t, s.Update(func(tx *Tx) error {
		return tx.Insert(crashDir, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
	}))
	for i := range 1000 {
		name := fmt.Sprint("f", i)
		require.NoError(t, makeFile(s, name))
		require.NoError(t, dropFile(s, name))
	}
	require.Less(t, s.size.Load(), int64(2*heldMin*os.Getpagesize()))
	require.NotZero(t, s.synced.Load(), "it was synced when too much was held")
}
