package store

import (
	"container/list"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// foldersMask: the files are spread over 256 folders by the lowest byte of the handle.
const foldersMask = 0xff

// dataSuffix ends the names of files with datafiles' bytes, after 16 hex digits.
const dataSuffix = ".bstream"

// files are the local files of datafiles. Those in use are open, and some of the most recently used.
type files struct {
	store    *Store
	disk     disk.Disk
	dir      string
	max      int
	readOnly bool
	folders  [foldersMask + 1]folder
	top      folder        // the directory dir, which contains the folders
	boot     string        // the boot of the machine
	writes   *writes       // nil: read-only
	pass     atomic.Uint64 // number of the sealing pass

	mu       sync.Mutex
	all      map[proto.Handle]*file
	marks    map[proto.Handle]*mark        // for datafiles whose sync failed
	owners   map[proto.Handle]proto.Handle // metafiles of datafiles that are not in the database yet
	unsealed map[proto.Handle]*quiet       // datafiles whose sums are not sealed
	idle     list.List                     // of *file, the most recently used in front
	closed   bool
}

// A file is the local file of one datafile, with the file of its checksums. It stays in files.all until it is removed, or until
// it is closed because others were used more recently.
type file struct {
	h     proto.Handle
	refs  int           // protected by files.mu
	place *list.Element // in files.idle, if refs is 0

	mu      sync.Mutex              // protects making and removing the file
	now     atomic.Pointer[checked] // nil: not open, perhaps because there is no file
	fresh   atomic.Bool             // its name may not be on the disk: it has not been synced since it was opened
	removed atomic.Bool
	owner   atomic.Uint64 // the metafile, once it is known

	syncer syncer
	mark   atomic.Pointer[mark] // nil: no sync has failed; changed under files.mu
}

func newFiles(s *Store, dir string) *files {
	limit := s.opts.OpenFiles
	if limit <= 0 {
		limit = openFiles
	}
	return &files{
		store: s, disk: s.disk, dir: dir, max: limit, readOnly: s.opts.ReadOnly,
		all: map[proto.Handle]*file{}, marks: map[proto.Handle]*mark{}, owners: map[proto.Handle]proto.Handle{},
		unsealed: map[proto.Handle]*quiet{}, boot: s.boot,
	}
}

func (fl *files) folder(h proto.Handle) string {
	return filepath.Join(fl.dir, fmt.Sprintf("%02x", uint64(h)&foldersMask))
}

// path is the path of a datafile's bytes.
func (fl *files) path(h proto.Handle) string { return fl.pathTo(h, dataSuffix) }

// sumsPath is the path of their checksums.
func (fl *files) sumsPath(h proto.Handle) string { return fl.pathTo(h, sumsSuffix) }

func (fl *files) pathTo(h proto.Handle, suffix string) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(fl.dir)+32)
	b = append(append(b, fl.dir...), '/', digits[h>>4&15], digits[h&15], '/')
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, digits[h>>shift&15])
	}
	return string(append(b, suffix...))
}

// handleOfFile parses the name of a file with a datafile's bytes or checksums.
func handleOfFile(name string) (proto.Handle, bool) {
	digits, ok := strings.CutSuffix(name, dataSuffix)
	if !ok {
		digits, ok = strings.CutSuffix(name, sumsSuffix)
	}
	if !ok || len(digits) != 16 || strings.ToLower(digits) != digits {
		return 0, false
	}
	h, err := strconv.ParseUint(digits, 16, 64)
	return proto.Handle(h), err == nil && h != 0
}

// acquire returns the file of a datafile, which need not be open. The caller must release it.
func (fl *files) acquire(h proto.Handle) (*file, error) {
	var out *file
	defer func() {
		if out != nil {
			fl.shut(out)
		}
	}()
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.closed {
		return nil, fault("open datafile", h, os.ErrClosed)
	}
	f := fl.all[h]
	if f == nil {
		if len(fl.all) >= fl.max && fl.idle.Len() > 0 {
			out = fl.evictLocked()
		}
		f = &file{h: h}
		f.mark.Store(fl.marks[h])
		fl.all[h] = f
	}
	if f.place != nil {
		fl.idle.Remove(f.place)
		f.place = nil
	}
	f.refs++
	return f, nil
}

func (fl *files) release(f *file) {
	fl.mu.Lock()
	var out []*file
	f.refs--
	if f.refs == 0 {
		switch {
		case fl.all[f.h] != f: // removed
			out = append(out, f)
		case f.get() == nil || fl.closed:
			delete(fl.all, f.h)
			out = append(out, f)
		default:
			f.place = fl.idle.PushFront(f)
			for len(fl.all) > fl.max && fl.idle.Len() > 0 {
				out = append(out, fl.evictLocked())
			}
		}
	}
	fl.mu.Unlock()
	for _, f := range out {
		fl.shut(f)
	}
}

// evictLocked removes the least recently used idle file.
func (fl *files) evictLocked() *file {
	f := fl.idle.Remove(fl.idle.Back()).(*file)
	f.place = nil
	delete(fl.all, f.h)
	return f
}

// get returns the open file; nil if it is not open.
func (f *file) get() *checked { return f.now.Load() }

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if open := f.now.Swap(nil); open != nil {
		return open.close()
	}
	return nil
}

// shut closes an idle file. An error means that a delayed write failed, and is as bad as that of a sync.
func (fl *files) shut(f *file) {
	if err := f.close(); err != nil && !f.removed.Load() {
		_ = fl.syncFailed(f, err, false) // the next sync returns the error
	}
}

// open opens the file. It makes the file if create is set and the datafile still exists. nil: there is no file, the datafile is
// empty.
func (f *file) open(fl *files, create bool) (*checked, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if open := f.get(); open != nil {
		return open, nil
	}
	if f.removed.Load() {
		if create {
			return nil, fault("open datafile", f.h, syscall.ENOENT)
		}
		return nil, nil
	}
	data, made, err := f.openBytes(fl, create)
	if data == nil || err != nil {
		return nil, err
	}
	open, err := fl.check(f.h, data, made)
	if err != nil {
		return nil, errors.Join(fault("open datafile", f.h, err), data.Close())
	}
	f.fresh.Store(true)
	f.now.Store(open)
	return open, nil
}

// openBytes opens or makes the file with the bytes. nil: there is no file.
func (f *file) openBytes(fl *files, create bool) (data disk.File, made bool, err error) {
	path, flags := fl.path(f.h), unix.O_RDWR
	if fl.readOnly {
		flags = unix.O_RDONLY
	}
	data, err = fl.openFile(path, flags)
	if errors.Is(err, unix.ENOENT) && !create {
		return nil, false, nil
	}
	if errors.Is(err, unix.ENOENT) {
		if fl.readOnly {
			return nil, false, fault("open datafile", f.h, syscall.EROFS)
		}
		if _, err := fl.store.metafileOf(f.h); err != nil {
			return nil, false, err
		}
		made = true
		data, err = fl.openFile(path, flags|unix.O_CREAT)
		if errors.Is(err, unix.ENOENT) {
			if err := fl.makeFolder(f.h); err != nil {
				return nil, false, fault("open datafile", f.h, err)
			}
			data, err = fl.openFile(path, flags|unix.O_CREAT)
		}
	}
	if err != nil {
		return nil, false, fault("open datafile", f.h, err)
	}
	return data, made, nil
}

func (fl *files) openFile(path string, flags int) (disk.File, error) {
	return retried(fl, func() (disk.File, error) { return fl.disk.Open(path, flags) })
}

// retried opens a file. If the process has too many open files, it closes the idle ones and tries again.
func retried[T any](fl *files, open func() (T, error)) (T, error) {
	f, err := open()
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		fl.closeIdle()
		f, err = open()
	}
	return f, err
}

func (fl *files) makeFolder(h proto.Handle) error {
	if err := fl.disk.Mkdir(fl.folder(h)); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// closeIdle closes the idle files.
func (fl *files) closeIdle() {
	fl.mu.Lock()
	var out []*file
	for fl.idle.Len() > 0 {
		out = append(out, fl.evictLocked())
	}
	fl.mu.Unlock()
	for _, f := range out {
		fl.shut(f)
	}
}

// close closes all files. Those in use are closed when they are released.
func (fl *files) close() {
	fl.mu.Lock()
	fl.closed = true
	fl.mu.Unlock()
	fl.closeIdle()
}

// retire ends the use of a datafile's bytes after its object was removed. They cannot be made again.
func (fl *files) retire(h proto.Handle) {
	fl.mu.Lock()
	f := fl.all[h]
	delete(fl.marks, h)
	delete(fl.owners, h)
	delete(fl.unsealed, h)
	idle := false
	if f != nil {
		f.removed.Store(true) // from now on its marks do not apply to the handle
		delete(fl.all, h)
		if f.place != nil {
			fl.idle.Remove(f.place)
			f.place = nil
			idle = true
		}
	}
	fl.mu.Unlock()
	if f != nil {
		f.mu.Lock()
		f.removed.Store(true) // an open that was making the file has made it by now
		f.mu.Unlock()
	}
	if idle {
		fl.shut(f)
	}
}

// unlink removes the bytes of a retired datafile, and their checksums. A datafile without bytes has no checksums either, unless a power
// loss or an interrupted removal has left them: then the caller is unsure.
func (fl *files) unlink(h proto.Handle, unsure bool) error {
	there, err := fl.unlinkPath(fl.path(h))
	if err == nil && (there || unsure) {
		_, err = fl.unlinkPath(fl.sumsPath(h))
	}
	if err != nil {
		return fault("remove datafile", h, err)
	}
	return nil
}

// unlinkPath removes a name, if it is there.
func (fl *files) unlinkPath(path string) (there bool, err error) {
	err = fl.disk.Unlink(path)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

// unlinkLoneSums removes the checksums of a datafile if it has no bytes.
func (fl *files) unlinkLoneSums(h proto.Handle) (removed bool, err error) {
	f, err := fl.acquire(h)
	if err != nil {
		return false, err
	}
	defer fl.release(f)
	f.mu.Lock() // keeps others from making the files
	defer f.mu.Unlock()
	if f.get() != nil || fl.there(h) {
		return false, nil
	}
	if removed, err = fl.unlinkPath(fl.sumsPath(h)); err != nil {
		return false, fault("remove checksums", h, err)
	}
	return removed, nil
}

func (fl *files) size(h proto.Handle) (int64, error) {
	n, err := fl.sizeNow(h)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return 0, nil
	}
	if err != nil {
		return 0, fault("size", h, err)
	}
	return n, nil
}

func (fl *files) sizeNow(h proto.Handle) (int64, error) {
	fl.mu.Lock()
	if f := fl.all[h]; f != nil {
		if open := f.get(); open != nil { // it is not closed while this goroutine holds the lock
			defer fl.mu.Unlock()
			return open.data.Size()
		}
	}
	fl.mu.Unlock()
	return fl.disk.Size(fl.path(h))
}

// there reports whether a datafile has a file with bytes, or may have one.
func (fl *files) there(h proto.Handle) bool {
	_, err := fl.disk.Size(fl.path(h))
	return !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR)
}

// walk calls f for every file. A name that is not a datafile's has handle 0.
func (fl *files) walk(f func(h proto.Handle, path string) error) error {
	return filepath.WalkDir(fl.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		h, ok := handleOfFile(d.Name())
		if !ok || fl.path(h) != path && fl.sumsPath(h) != path {
			h = 0
		}
		return f(h, path)
	})
}
