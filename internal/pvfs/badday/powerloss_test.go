package badday_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// A durability says what servers sync before they answer.
type durability struct{ meta, data bool }

// A lossFile is the expected state of a file.
type lossFile struct {
	data   []byte
	mode   fs.FileMode
	xattr  string
	synced bool // data is on the disks
}

// A lossWorld is a file system whose servers lose power, on disks that then lose unsynced data. It knows what must remain.
type lossWorld struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	mode  durability
	c     *pvfstest.Cluster
	top   string
	dirs  []string             // of stores
	disks []*disktest.Volatile // of running servers
	bad   []*disktest.Disk     // on top of disks
	boots int
	f     *client.FS

	next    int
	files   map[string]lossFile
	touched map[string]bool // names that were made, changed or removed since the last sync of everything, if they are not synced before an answer
}

const lossServers = 2

// bothServers is a file with data on all servers: a sync of it syncs the names and attributes of each server.
const bothServers = "/both"

func newLossWorld(t *testing.T, seed uint64, mode durability) *lossWorld {
	w := &lossWorld{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 11)), mode: mode, files: map[string]lossFile{}, touched: map[string]bool{},
		disks: make([]*disktest.Volatile, lossServers), bad: make([]*disktest.Disk, lossServers),
	}
	w.top = memory.Dir(t)
	for i := range lossServers {
		w.dirs = append(w.dirs, filepath.Join(w.top, fmt.Sprint("server", i)))
	}
	w.c = pvfstest.Start(t, pvfstest.Options{
		Servers: lossServers, Dir: w.top, Store: w.open,
		Config: func(o *config.GenOptions) { o.NoStuffing = seed%2 == 0 },
	})
	w.f = mounted(t, w.c)
	w.create(bothServers, 200_000)
	w.syncAll()
	return w
}

// open opens a store on a disk that loses unsynced data.
func (w *lossWorld) open(i int, opts *store.Options) {
	require.NoError(w.t, os.MkdirAll(w.dirs[i], 0o700))
	d, err := disktest.NewVolatile(w.dirs[i])
	require.NoError(w.t, err)
	w.disks[i], w.bad[i] = d, &disktest.Disk{Below: d}
	w.boots++
	opts.Disk, opts.Boot = w.bad[i], fmt.Sprint("run ", w.boots)
	opts.Random = rand.NewChaCha8([32]byte{byte(w.seed), byte(w.seed >> 8), byte(w.boots)})
	opts.NoSyncMeta, opts.SyncData, opts.SyncEvery = !w.mode.meta, w.mode.data, 1<<62
}

// touch records that names may be lost, or may reappear.
func (w *lossWorld) touch(names ...string) {
	for _, name := range names {
		if !w.mode.meta {
			w.touched[name] = true
		}
	}
}

func (w *lossWorld) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(w.rng.Uint32())
	}
	return b
}

func (w *lossWorld) any() string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(w.files)), func(name string) bool { return name == bothServers })
	return names[w.rng.IntN(len(names))]
}

// on opens an existing file and calls do.
func (w *lossWorld) on(name string, do func(*client.File) error) error {
	w.t.Helper()
	f, err := w.f.OpenFile(background, name, os.O_RDWR, 0)
	require.NoError(w.t, err)
	return errors.Join(do(f), f.Close())
}

func (w *lossWorld) create(name string, size int) {
	w.t.Helper()
	f, err := w.f.OpenFile(background, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	require.NoError(w.t, err)
	is := lossFile{data: w.bytes(size), mode: 0o640, synced: w.mode.data}
	_, err = f.WriteAt(is.data, 0)
	require.NoError(w.t, errors.Join(err, f.Close()))
	w.files[name] = is
	w.touch(name)
}

// change changes a file's bytes or its size.
func (w *lossWorld) change(name string) {
	w.t.Helper()
	is := w.files[name]
	require.NoError(w.t, w.on(name, func(f *client.File) error {
		if w.rng.IntN(4) == 0 {
			is.data = is.data[:w.rng.IntN(len(is.data)+1)]
			return f.Truncate(int64(len(is.data)))
		}
		b, off := w.bytes(1+w.rng.IntN(70_000)), w.rng.IntN(len(is.data)+1)
		is.data = append(slices.Clone(is.data), make([]byte, max(0, off+len(b)-len(is.data)))...)
		copy(is.data[off:], b)
		_, err := f.WriteAt(b, int64(off))
		return err
	}))
	is.synced = w.mode.data
	w.files[name] = is
}

// setAttributes changes a file's mode and an extended attribute.
func (w *lossWorld) setAttributes(name string) {
	w.t.Helper()
	is := w.files[name]
	is.mode, is.xattr = fs.FileMode(w.rng.IntN(0o1000)), fmt.Sprint(w.rng.Uint32())
	require.NoError(w.t, w.f.Chmod(background, name, is.mode))
	require.NoError(w.t, w.f.SetXattr(background, name, "user.k", []byte(is.xattr), 0))
	w.files[name] = is
	w.touch(name)
}

func (w *lossWorld) rename(name string) {
	w.t.Helper()
	to := w.newName()
	require.NoError(w.t, w.f.Rename(background, name, to))
	w.files[to] = w.files[name]
	delete(w.files, name)
	w.touch(name, to)
}

func (w *lossWorld) remove(name string) {
	w.t.Helper()
	require.NoError(w.t, w.f.Remove(background, name))
	delete(w.files, name)
	w.touch(name)
}

func (w *lossWorld) newName() string {
	w.next++
	return fmt.Sprint("/f", w.next)
}

// syncBytes syncs a file. The disk may fail then, and the file is removed.
func (w *lossWorld) syncBytes(name string) {
	w.t.Helper()
	fails, failed := w.rng.IntN(10) == 0, false
	if fails {
		for _, d := range w.bad {
			d.Set(func(op disktest.Op, path string) error {
				if op == disktest.Sync && strings.Contains(path, "/data/") {
					failed = true
					return syscall.EIO
				}
				return nil
			})
			defer d.Set(nil)
		}
	}
	err := w.on(name, func(f *client.File) error { return f.Sync() })
	require.Equal(w.t, failed, errors.Is(err, syscall.EIO), "%v", err)
	if failed {
		w.remove(name)
		return
	}
	require.NoError(w.t, err)
	is := w.files[name]
	is.synced = true
	w.files[name] = is
}

// syncAll syncs all names and attributes.
func (w *lossWorld) syncAll() {
	w.t.Helper()
	require.NoError(w.t, w.f.Sync(background, bothServers))
	is := w.files[bothServers]
	is.synced = true
	w.files[bothServers] = is
	clear(w.touched)
}

func (w *lossWorld) step() {
	w.t.Helper()
	switch k := w.rng.IntN(24); {
	case k < 8 || len(w.files) == 1:
		w.create(w.newName(), w.rng.IntN(150_000))
	case k < 12:
		w.change(w.any())
	case k < 14:
		w.setAttributes(w.any())
	case k < 16:
		w.rename(w.any())
	case k < 18:
		w.remove(w.any())
	case k < 22:
		w.syncBytes(w.any())
	default:
		w.syncAll()
	}
}

// cutSome cuts the power of one server or of all.
func (w *lossWorld) cutSome() {
	w.t.Helper()
	from, to := 0, lossServers
	if w.rng.IntN(3) == 0 {
		from = w.rng.IntN(lossServers)
		to = from + 1
	}
	w.cut(from, to)
}

// cut cuts the power of some servers, restarts them, and checks the result.
func (w *lossWorld) cut(from, to int) {
	w.t.Helper()
	for i := from; i < to; i++ {
		w.c.LosePower(i, func() string {
			w.dirs[i] = filepath.Join(w.top, fmt.Sprint("left", w.boots, i))
			require.NoError(w.t, os.Mkdir(w.dirs[i], 0o700))
			require.NoError(w.t, w.disks[i].Cut(w.rng, w.dirs[i]))
			return w.dirs[i]
		})
	}
	for i := from; i < to; i++ {
		w.c.Start(i)
	}
	w.c.WaitReady()
	require.NoError(w.t, w.f.Close())
	w.f = mounted(w.t, w.c)
	w.look(to-from == lossServers)
	w.forgetTouched()
	w.syncAll()
}

// look compares the present state with the required one. all: all servers have lost power.
func (w *lossWorld) look(all bool) {
	w.t.Helper()
	list, err := fs.ReadDir(w.f, ".")
	require.NoError(w.t, err)
	there := map[string]bool{}
	for _, e := range list {
		there["/"+e.Name()] = true
	}
	delete(there, "/lost+found")
	for name := range there {
		require.True(w.t, w.touched[name] || w.files[name].data != nil, "%s is there", name)
	}
	for name, is := range w.files {
		if w.touched[name] {
			continue
		}
		require.True(w.t, there[name], "%s is lost", name)
		info, err := w.f.StatCtx(background, name)
		require.NoError(w.t, err)
		require.Equal(w.t, is.mode, info.Mode().Perm(), name)
		if is.xattr != "" {
			value, err := w.f.GetXattr(background, name, "user.k")
			require.NoError(w.t, err)
			require.Equal(w.t, is.xattr, string(value), name)
		}
		var data []byte
		require.NoError(w.t, w.on(name, func(f *client.File) (err error) {
			data, err = io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
			return err
		}))
		if is.synced {
			require.True(w.t, bytes.Equal(is.data, data), "%s: %d bytes, and %d there", name, len(is.data), len(data))
		}
		is.data, is.synced = data, is.synced || all // the remaining data is on the disks
		w.files[name] = is
	}
}

// forgetTouched repairs the touched names after a power loss, and removes them.
func (w *lossWorld) forgetTouched() {
	w.t.Helper()
	if w.mode.meta {
		return
	}
	w.checkTree(true)
	w.c.WaitReady()
	for name := range w.touched {
		if err := w.f.Remove(background, name); err != nil {
			require.ErrorIs(w.t, err, fs.ErrNotExist)
		}
		delete(w.files, name)
	}
	lost, err := fs.ReadDir(w.f, "lost+found")
	require.NoError(w.t, err)
	for _, e := range lost {
		require.NoError(w.t, w.f.RemoveAll(background, "/lost+found/"+e.Name()))
	}
}

// checkTree checks all stores while no server runs, and repairs the problems that servers do not.
func (w *lossWorld) checkTree(mend bool) (problems []store.Problem) {
	w.t.Helper()
	tree := store.Tree{Root: w.c.FS.Root, Owner: w.c.FS.Owner}
	for i := range lossServers {
		w.c.Stop(i)
		s, err := store.Open(w.c.Dir(i), store.Options{})
		require.NoError(w.t, err)
		problems, err := s.Check(false)
		require.NoError(w.t, err)
		require.Len(w.t, problems, s.Stats().Marked, "%v", problems)
		tree.Stores = append(tree.Stores, s)
	}
	problems, err := store.CheckTree(tree, mend)
	require.NoError(w.t, err)
	for i, s := range tree.Stores {
		require.NoError(w.t, s.Close())
		w.c.Start(i)
	}
	return problems
}

// inOrder requires that there are no problems at the end, except objects without a name that a server left when it lost power.
func (w *lossWorld) inOrder() {
	w.t.Helper()
	for _, p := range w.checkTree(false) {
		require.True(w.t, isOrphan(p.What), "%v", p)
	}
}

// TestPowerLoss: after a power loss of one server or all, everything that the kind of durability promises exists, and nothing
// reappears that was removed for good. The servers start, and their stores have no problems.
func TestPowerLoss(t *testing.T) {
	for _, mode := range []durability{{true, false}, {true, true}, {false, false}, {false, true}} {
		t.Run(fmt.Sprintf("TroveSyncMeta=%v,TroveSyncData=%v", mode.meta, mode.data), func(t *testing.T) {
			sim.Run(t, func(t *testing.T, seed uint64) {
				w := newLossWorld(t, seed, mode)
				for range 2 {
					for range 1 + w.rng.IntN(40) {
						w.step()
					}
					w.cutSome()
				}
				w.inOrder()
			})
		})
	}
}

// ready is how many datafiles of others a server has in stock.
func (w *lossWorld) ready(i int) (n int) {
	require.NoError(w.t, w.c.Store(i).View(func(tx *store.Tx) error {
		for range tx.Pools() {
			n++
		}
		return nil
	}))
	return n
}

// plentyReady makes files until both servers have so many datafiles in stock that they fetch no more for a while.
func (w *lossWorld) plentyReady() {
	w.t.Helper()
	const plenty = 64
	require.Eventually(w.t, func() bool {
		w.create(w.newName(), 0)
		return w.ready(0) > plenty && w.ready(1) > plenty
	}, far, tick)
}

// TestOldBytesStayHidden: after a power loss a server has lost files that used datafiles from its stock on the other server. New
// files get none of their bytes, and can be written.
func TestOldBytesStayHidden(t *testing.T) {
	w := newLossWorld(t, 2, durability{}) // without stuffing
	const files, size = 16, 150_000
	w.plentyReady()
	w.syncAll()
	for range files {
		w.create(w.newName(), size)
	}
	w.cut(0, 1)
	for range files {
		name := w.newName()
		w.create(name, 0)
		require.NoError(t, w.f.Truncate(background, name, size))
		require.NoError(t, w.on(name, func(f *client.File) error {
			data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
			require.True(t, bytes.Equal(make([]byte, size), data), "%s has bytes of another file", name)
			if err == nil {
				_, err = f.WriteAt(data, 0)
			}
			return err
		}))
	}
}
