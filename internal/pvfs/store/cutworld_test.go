package store

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A cutFile is the expected state of a file.
type cutFile struct {
	data    []byte
	known   bool // data is its contents
	synced  bool // data is on the disk
	longest int  // the largest length that it had
	marked  markedAs
	again   bool // for a marked file: all of it was written again since, in the same run
}

// markedAs says why syncs of a file fail.
type markedAs int

const (
	notMarked   markedAs = iota
	bytesMarked          // a sync of its data failed: syncs fail until all data is written again
	nameMarked           // a sync of its name failed: all syncs fail from then on
)

// A nameSet has the existing names.
type nameSet map[string]bool

// A cutWorld is a store on a disk that loses unsynced data, moves fewer bytes than asked, takes long, and sometimes fails. It
// knows what must remain.
type cutWorld struct {
	t    *testing.T
	rng  *rand.Rand
	opts Options
	disk *disktest.Volatile
	bad  *disktest.Disk // on top of disk
	s    *Store
	boot int // number of boots of the machine

	next         int
	files        map[string]cutFile // all files that ever existed
	now          nameSet
	sure         nameSet // at the last sync of everything
	or           nameSet // perhaps these instead; nil: no
	cuts         int
	broken       bool   // a sync of the database failed
	folderFailed bool   // a sync of a folder failed, in this run
	off          bool   // the power is off
	left         string // the folder with the remains
	made         bool   // a file was made during something else
}

func newCutWorld(t *testing.T, seed uint64, noSync bool) *cutWorld {
	w := &cutWorld{
		t: t, rng: rand.New(rand.NewPCG(seed, 9)), opts: ranges,
		files: map[string]cutFile{}, now: nameSet{}, sure: nameSet{},
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

// start opens the store in a folder, which is the state of the disk when the machine starts.
func (w *cutWorld) start(dir string) {
	w.t.Helper()
	if w.disk != nil {
		err := w.s.Close() // of the run that lost power, and could not close it
		require.Equal(w.t, w.broken, err != nil, "%v", err)
	}
	w.broken, w.folderFailed, w.off = false, false, false
	w.boot++
	var err error
	w.disk, err = disktest.NewVolatile(dir)
	require.NoError(w.t, err)
	w.bad = &disktest.Disk{Below: w.disk}
	w.bad.Set(short(nil))
	opts := w.opts
	opts.Disk, opts.Boot = w.bad, fmt.Sprint("run ", w.boot)
	s, err := Open(dir, opts)
	require.NoError(w.t, err, "after %d losses of power", w.cuts)
	w.s = s
}

// short makes every third read or write move fewer bytes than asked, unless the plan decides otherwise.
func short(plan disktest.Plan) disktest.Plan {
	var calls atomic.Uint64
	return func(op disktest.Op, path string) error {
		if plan != nil {
			if err := plan(op, path); err != nil {
				return err
			}
		}
		if (op == disktest.Read || op == disktest.Write) && calls.Add(1)%3 == 0 {
			return disktest.ErrShort
		}
		return nil
	}
}

// onceAt calls f at the next call of this kind with a path that ends in suffix.
func onceAt(op disktest.Op, suffix string, f func() error) disktest.Plan {
	var done atomic.Bool
	return func(o disktest.Op, path string) error {
		if o == op && strings.HasSuffix(path, suffix) && !done.Swap(true) {
			return f()
		}
		return nil
	}
}

// during sets a plan while f runs.
func (w *cutWorld) during(plan disktest.Plan, f func() error) error {
	w.bad.Set(short(plan))
	defer w.bad.Set(short(nil))
	return f()
}

// committed is called after an operation in which the database may have synced itself.
func (w *cutWorld) committed() {
	if !w.s.noSyncMeta.Load() {
		w.sure = maps.Clone(w.now)
	}
}

func (w *cutWorld) sync() {
	w.t.Helper()
	require.NoError(w.t, w.s.Sync())
	w.sure = maps.Clone(w.now)
}

// make makes a file. Its first bytes are its name.
func (w *cutWorld) make() {
	w.t.Helper()
	name := fmt.Sprint("f", w.next)
	w.next++
	require.NoError(w.t, makeFile(w.s, name))
	w.now[name] = true
	w.files[name] = cutFile{data: []byte(name), known: true, longest: len(name)}
}

// failSync makes a sync of everything fail, after which no changes are accepted.
func (w *cutWorld) failSync() {
	w.t.Helper()
	w.make() // so that there is something to sync
	fails := func() error { return syscall.EIO }
	plan := onceAt(disktest.SyncDatabase, databaseName, fails)
	switch w.rng.IntN(4) {
	case 0: // the page that leads to the state is not on the disk then
		plan = onceAt(disktest.Write, checkpointName, fails)
	case 1: // or may be
		plan = onceAt(disktest.Sync, checkpointName, fails)
		w.or = maps.Clone(w.now)
	case 2: // or is
		plan = onceAt(disktest.Synced, checkpointName, fails)
		w.or = maps.Clone(w.now)
	}
	require.ErrorIs(w.t, w.during(plan, w.s.Sync), syscall.EIO)
	require.ErrorIs(w.t, makeFile(w.s, "none"), syscall.EIO)
	w.broken = true
}

// write writes all or a part of a file. The disk may refuse that.
func (w *cutWorld) write(name string) {
	w.t.Helper()
	f, h := w.files[name], w.datafile(name)
	all := !f.known || f.marked != notMarked || w.rng.IntN(3) == 0
	off, n := 0, 1+w.rng.IntN(2000)
	if all {
		n = max(n, f.longest)
	} else {
		off = w.rng.IntN(len(f.data) + 1)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(w.rng.Uint32())
	}
	var plan disktest.Plan
	fails := w.rng.IntN(10) == 0
	if fails {
		err := []error{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT}[w.rng.IntN(3)]
		plan = func(op disktest.Op, path string) error {
			if op == disktest.Write && strings.HasSuffix(path, dataSuffix) {
				return err
			}
			return nil
		}
	}
	err := w.during(plan, func() error {
		_, err := w.s.WriteAt(h, b, int64(off))
		return err
	})
	require.Equal(w.t, fails, err != nil, "%v", err)
	f.longest, f.synced = max(f.longest, off+n), false
	if fails {
		f.known = false
	} else {
		data := make([]byte, max(len(f.data), off+n))
		copy(data, f.data)
		copy(data[off:], b)
		f.data, f.known, f.again = data, f.known || all, f.again || all
	}
	w.files[name] = f
}

// truncate truncates a file.
func (w *cutWorld) truncate(name string) {
	w.t.Helper()
	f := w.files[name]
	if !f.known {
		return
	}
	size := w.rng.IntN(len(f.data) + 1)
	require.NoError(w.t, w.s.Truncate(w.datafile(name), int64(size)))
	f.data, f.synced, f.again = f.data[:size], false, f.again || size == 0
	w.files[name] = f
}

// syncBytes syncs a file's data. The sync may fail, or take long: it does not include later changes.
func (w *cutWorld) syncBytes(name string) {
	w.t.Helper()
	h, was := w.datafile(name), w.files[name]
	var plan disktest.Plan
	fails, changed := was.marked == nameMarked || was.marked == bytesMarked && !was.again, false
	failing := func() error {
		fails = true
		return syscall.EIO
	}
	switch w.rng.IntN(20) {
	case 0:
		plan = onceAt(disktest.Sync, dataSuffix, failing)
	case 1: // although everything is on the disk
		plan = onceAt(disktest.Synced, dataSuffix, failing)
	case 2:
		plan = onceAt(disktest.SyncFolder, "", func() error {
			w.folderFailed = true
			return failing()
		})
	case 3, 4, 5:
		op := []disktest.Op{disktest.Sync, disktest.Synced}[w.rng.IntN(2)]
		plan = onceAt(op, dataSuffix, func() error {
			changed = w.meanwhile(name)
			return nil
		})
	}
	err := w.during(plan, func() error { return w.s.SyncDatafile(h) })
	if w.off {
		return
	}
	f := w.files[name]
	if err == nil {
		require.False(w.t, fails)
		f.marked, f.again, f.synced = notMarked, false, !changed
	} else {
		require.ErrorIs(w.t, err, syscall.EIO)
		require.True(w.t, fails || w.folderFailed, "%v", err)
		m := w.mark(h)
		require.NotNil(w.t, m)
		f.marked, f.again = bytesMarked, m.rewritten()
		if m.name {
			require.True(w.t, was.marked == nameMarked || w.folderFailed)
			f.marked = nameMarked
		}
	}
	w.files[name] = f
}

// meanwhile does something during a sync of a file's data, and reports whether the data changed. The power may fail.
func (w *cutWorld) meanwhile(name string) bool {
	w.t.Helper()
	switch w.rng.IntN(4) {
	case 0:
		w.powerOff()
	case 1:
		w.make()
		w.made = true
	default:
		w.write(name)
		return true
	}
	return false
}

// step does one random operation.
func (w *cutWorld) step() {
	w.t.Helper()
	before, synced := maps.Clone(w.now), w.s.synced.Load()
	w.made = false
	defer func() {
		switch now := w.s.synced.Load(); {
		case now == synced, w.off:
		case w.made:
			w.sync() // it is not known whether it was synced before or after that
		case now == w.s.written.Load():
			w.sure = maps.Clone(w.now)
		default: // it was synced before the step's change, because too many pages were held
			w.sure = before
		}
	}()
	switch k := w.rng.IntN(28); {
	case k < 10 || len(w.now) == 0:
		w.make()
	case k < 14:
		name := w.any()
		require.NoError(w.t, dropFile(w.s, name))
		delete(w.now, name)
	case k < 18:
		w.syncBytes(w.any())
	case k < 22:
		w.write(w.any())
	case k < 23:
		w.truncate(w.any())
	case k < 25:
		// All data is on the disk after that, but no caller knows it.
		require.NoError(w.t, w.s.sealQuiet(w.s.files.pass.Add(1)-1))
	case k < 27 || !w.opts.NoSyncMeta || w.rng.IntN(4) > 0:
		w.sync()
	default:
		w.failSync()
		return
	}
	if !w.off {
		w.committed()
	}
}

func (w *cutWorld) any() string {
	all := slices.Sorted(maps.Keys(w.now))
	return all[w.rng.IntN(len(all))]
}

func (w *cutWorld) datafile(name string) (data proto.Handle) {
	w.t.Helper()
	require.NoError(w.t, w.s.View(func(tx *Tx) error {
		h, err := tx.Lookup(crashDir, name)
		if err != nil {
			return err
		}
		o, err := tx.Get(h)
		if err == nil {
			data = o.Datafiles[0]
		}
		return err
	}))
	return data
}

// powerOff cuts the power: the remains are in another folder.
func (w *cutWorld) powerOff() {
	w.t.Helper()
	w.off, w.left = true, memory.Dir(w.t)
	require.NoError(w.t, w.disk.Cut(w.rng, w.left))
	w.cuts++
}

// cut cuts the power, if it is on, and checks the remains.
func (w *cutWorld) cut() {
	w.t.Helper()
	if !w.off {
		w.powerOff()
	}
	w.start(w.left)
	got := w.names()
	if w.or != nil && maps.Equal(w.or, got) {
		w.sure = w.or
	}
	w.or = nil
	require.Equal(w.t, w.sure, got, "what was synced, no more and no less")
	for _, name := range slices.Sorted(maps.Keys(got)) {
		w.look(name)
	}
	<-w.s.tidy
	require.NoError(w.t, w.s.Sync()) // files without a datafile are removed now
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

// names returns the names in the store.
func (w *cutWorld) names() nameSet {
	got := nameSet{}
	require.NoError(w.t, w.s.View(func(tx *Tx) error {
		for e, err := range tx.AllEntries(crashDir) {
			if err != nil {
				return err
			}
			got[e.Name] = true
		}
		return nil
	}))
	return got
}

// mark is the mark of a datafile. A datafile without an object may be removed meanwhile.
func (w *cutWorld) mark(h proto.Handle) *mark {
	w.s.files.mu.Lock()
	defer w.s.files.mu.Unlock()
	return w.s.files.marks[h]
}

// look checks the remains of a file after a power loss.
func (w *cutWorld) look(name string) {
	w.t.Helper()
	f, h := w.files[name], w.datafile(name)
	f.again = false
	m := w.mark(h)
	if f.marked != notMarked {
		require.NotNil(w.t, m, "nobody forgets that a sync failed")
		require.Equal(w.t, f.marked == nameMarked, m.name)
		require.ErrorIs(w.t, w.s.SyncDatafile(h), syscall.EIO)
	} else if m != nil { // the end of the mark was not synced
		require.True(w.t, w.opts.NoSyncMeta)
		f.marked = bytesMarked
	}
	b := make([]byte, f.longest+1)
	n, err := w.s.ReadAt(h, b, 0)
	require.NoError(w.t, err)
	require.LessOrEqual(w.t, n, f.longest)
	f.known = f.known && f.synced
	if f.known {
		require.True(w.t, bytes.Equal(f.data, b[:n]), "bytes of %s: %d, and %d of them there", name, len(f.data), n)
	}
	w.files[name] = f
}
