package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/pvfs/store/disk/disktest"
)

// bytesAre says what is known of a file's bytes.
type bytesAre int

const (
	bytesWritten bytesAre = iota
	bytesSynced
	bytesLost   // perhaps
	bytesFailed // a sync of them did
)

// A cutWorld is a store on a disk that loses what was not synced, and what must be left of it.
type cutWorld struct {
	t    *testing.T
	rng  *rand.Rand
	opts Options
	disk *disktest.Volatile
	s    *Store
	boot int // runs of the machine

	next   int
	now    map[string]bytesAre // names there are
	sure   map[string]bytesAre // those when all was synced last
	or     map[string]bytesAre // perhaps these instead; nil: no
	cuts   int
	broken bool // a sync of the database failed
}

func newCutWorld(t *testing.T, seed uint64, noSync bool) *cutWorld {
	w := &cutWorld{
		t: t, rng: rand.New(rand.NewPCG(seed, 9)), opts: ranges,
		now: map[string]bytesAre{}, sure: map[string]bytesAre{},
	}
	w.opts.NoSyncMeta = noSync
	w.opts.SyncEvery = 1 << 62
	w.opts.Random = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	w.start(memory.Dir(t))
	require.NoError(t, w.s.Update(func(tx *Tx) error {
		return tx.Insert(crashDir, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
	}))
	w.sync()
	w.committed()
	return w
}

// start opens the store in a folder: what a disk has after it was switched on.
func (w *cutWorld) start(dir string) {
	w.t.Helper()
	if w.disk != nil {
		err := w.s.Close() // of the run that lost power, which did not do so
		require.Equal(w.t, w.broken, err != nil, "%v", err)
		w.broken = false
	}
	w.boot++
	var err error
	w.disk, err = disktest.NewVolatile(dir)
	require.NoError(w.t, err)
	opts := w.opts
	opts.Disk, opts.boot = w.disk, fmt.Sprint("run ", w.boot)
	s, err := Open(dir, opts)
	require.NoError(w.t, err, "after %d losses of power", w.cuts)
	w.s = s
	require.NoError(w.t, w.disk.Committed()) // Open commits durably
}

// committed is called after what the database may have synced by itself.
func (w *cutWorld) committed() {
	if !w.s.noSyncMeta.Load() {
		require.NoError(w.t, w.disk.Committed())
		w.sure = maps.Clone(w.now)
	}
}

func (w *cutWorld) sync() {
	w.t.Helper()
	require.NoError(w.t, w.s.Sync())
	w.sure = maps.Clone(w.now)
}

// failSync lets a sync of all fail, after which nothing can be changed.
func (w *cutWorld) failSync() {
	w.t.Helper()
	name := fmt.Sprint("f", w.next)
	w.next++
	require.NoError(w.t, makeFile(w.s, name)) // so that there is something to sync
	w.now[name] = bytesWritten
	if w.rng.IntN(2) == 0 {
		w.disk.FailSync(databaseName)
	} else { // what leads to the state, which is on the disk
		w.disk.FailSync(checkpointName)
		w.or = maps.Clone(w.now)
	}
	require.ErrorIs(w.t, w.s.Sync(), syscall.EIO)
	require.ErrorIs(w.t, makeFile(w.s, "none"), syscall.EIO)
	w.broken = true
}

// syncBytes syncs a file's bytes, perhaps in vain.
func (w *cutWorld) syncBytes(name string) {
	w.t.Helper()
	data, err := w.datafile(name)
	require.NoError(w.t, err)
	fails := w.rng.IntN(10) == 0
	if fails {
		w.disk.FailSync(dataSuffix)
	}
	err = w.s.SyncDatafile(data)
	w.disk.FailSync("")
	switch {
	case w.now[name] == bytesFailed:
		require.ErrorIs(w.t, err, syscall.EIO)
	case fails && err != nil:
		w.now[name] = bytesFailed
	default:
		require.NoError(w.t, err)
		if w.now[name] == bytesWritten {
			w.now[name] = bytesSynced
		}
	}
}

// step does something.
func (w *cutWorld) step() {
	w.t.Helper()
	before, synced := maps.Clone(w.now), w.s.synced.Load()
	defer func() {
		switch now := w.s.synced.Load(); {
		case now == synced:
		case now == w.s.written.Load():
			w.sure = maps.Clone(w.now)
		default: // it was synced before what the step did, because too much was held
			w.sure = before
		}
	}()
	switch k := w.rng.IntN(20); {
	case k < 10 || len(w.now) == 0:
		name := fmt.Sprint("f", w.next)
		w.next++
		require.NoError(w.t, makeFile(w.s, name))
		w.now[name] = bytesWritten
	case k < 14:
		name := w.any()
		require.NoError(w.t, dropFile(w.s, name))
		delete(w.now, name)
	case k < 18:
		w.syncBytes(w.any())
	case k < 19 || !w.opts.NoSyncMeta || w.rng.IntN(4) > 0:
		w.sync()
	default:
		w.failSync()
		return
	}
	w.committed()
}

func (w *cutWorld) any() string {
	all := slices.Sorted(maps.Keys(w.now))
	return all[w.rng.IntN(len(all))]
}

func (w *cutWorld) datafile(name string) (data proto.Handle, err error) {
	err = w.s.View(func(tx *Tx) error {
		h, err := tx.Lookup(crashDir, name)
		if err != nil {
			return err
		}
		o, err := tx.Get(h)
		if err == nil {
			data = o.Datafiles[0]
		}
		return err
	})
	return data, err
}

// cut takes the power away, and looks what is left.
func (w *cutWorld) cut() {
	w.t.Helper()
	dir := memory.Dir(w.t)
	require.NoError(w.t, w.disk.Cut(w.rng, dir))
	w.cuts++
	w.start(dir)
	var got []string
	require.NoError(w.t, w.s.View(func(tx *Tx) error {
		for e, err := range tx.AllEntries(crashDir) {
			if err != nil {
				return err
			}
			got = append(got, e.Name)
		}
		return nil
	}))
	slices.Sort(got)
	if w.or != nil && slices.Equal(slices.Sorted(maps.Keys(w.or)), got) {
		w.sure = w.or
	}
	w.or = nil
	sure := slices.Sorted(maps.Keys(w.sure))
	require.Equal(w.t, sure, got, "what was synced, no more and no less")
	for _, name := range sure {
		data, err := w.datafile(name)
		require.NoError(w.t, err)
		switch w.sure[name] {
		case bytesSynced:
		case bytesFailed:
			require.ErrorIs(w.t, w.s.SyncDatafile(data), syscall.EIO, "nobody forgets that")
			continue
		default:
			w.sure[name] = bytesLost
			continue
		}
		b := make([]byte, len(name)+1)
		n, err := w.s.ReadAt(data, b, 0)
		require.NoError(w.t, err)
		require.Equal(w.t, name, string(b[:n]))
	}
	<-w.s.swept
	require.NoError(w.t, w.s.Sync()) // what belonged to nothing goes now
	require.NoError(w.t, w.s.files.walk(func(h proto.Handle, path string) error {
		_, err := w.s.metafileOf(h)
		if err != nil {
			err = fmt.Errorf("%s belongs to nothing: %w", filepath.Base(path), err)
		}
		return err
	}))
	problems, err := w.s.Check(false)
	require.NoError(w.t, err)
	require.Len(w.t, problems, w.s.Stats().Marked, "nothing is wrong but what is known")
	w.now = maps.Clone(w.sure)
	w.committed()
}

// TestPowerCuts: after a loss of power a store is as it was when it was synced last, also where nothing is synced but now and then. Bytes that
// were synced are there; what belongs to nothing goes away by itself.
func TestPowerCuts(t *testing.T) {
	for _, noSync := range []bool{true, false} {
		t.Run(fmt.Sprintf("NoSyncMeta=%v", noSync), func(t *testing.T) {
			sim.Run(t, func(t *testing.T, seed uint64) {
				w := newCutWorld(t, seed, noSync)
				for range 4 {
					for range w.rng.IntN(60) {
						if w.step(); w.broken {
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

// TestHeldPagesAreBounded: the state of the last sync is kept, and the database does not grow by that for ever.
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
