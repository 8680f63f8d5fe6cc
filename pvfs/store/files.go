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

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// foldersMask: the files are spread over 256 folders by the lowest byte of the handle.
const foldersMask = 0xff

// dataSuffix is what the names of files with datafiles' bytes end with, after 16 hex digits.
const dataSuffix = ".bstream"

// files are the local files of datafiles. Those in use are open, and some of those used last.
type files struct {
	dir      string
	max      int
	readOnly bool
	mayMake  func(proto.Handle) error // whether the object is there, asked before a file is made

	mu     sync.Mutex
	all    map[proto.Handle]*file
	idle   list.List // of *file, used last in front
	closed bool
}

// A file is the local file of one datafile. It is in files.all until it is removed, or closed because others
// were used later.
type file struct {
	h     proto.Handle
	refs  int           // under files.mu
	place *list.Element // in files.idle, when refs is 0

	mu      sync.Mutex   // making and removing
	fd      atomic.Int64 // -1: not open, perhaps because there is nothing to open
	handed  *os.File     // of fd, made when somebody asked for it; under mu
	fresh   atomic.Bool  // its name may not be on the disk: it has not been synced since it was opened
	removed bool
}

func newFiles(dir string, limit int, readOnly bool, mayMake func(proto.Handle) error) *files {
	if limit <= 0 {
		limit = openFiles
	}
	return &files{dir: dir, max: limit, readOnly: readOnly, mayMake: mayMake, all: map[proto.Handle]*file{}}
}

func (fl *files) folder(h proto.Handle) string {
	return filepath.Join(fl.dir, fmt.Sprintf("%02x", uint64(h)&foldersMask))
}

func (fl *files) path(h proto.Handle) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(fl.dir)+32)
	b = append(append(b, fl.dir...), '/', digits[h>>4&15], digits[h&15], '/')
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, digits[h>>shift&15])
	}
	return string(append(b, dataSuffix...))
}

// handleOfFile returns the datafile that a file's name is for.
func handleOfFile(name string) (proto.Handle, bool) {
	digits, ok := strings.CutSuffix(name, dataSuffix)
	if !ok || len(digits) != 16 || strings.ToLower(digits) != digits {
		return 0, false
	}
	h, err := strconv.ParseUint(digits, 16, 64)
	return proto.Handle(h), err == nil && h != 0
}

// acquire returns the file of a datafile, not necessarily open, for a user that will release it.
func (fl *files) acquire(h proto.Handle) (*file, error) {
	var out *file
	defer func() {
		if out != nil {
			out.close()
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
		f.fd.Store(-1)
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
		case f.get() < 0 || fl.closed:
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
		f.close()
	}
}

// evictLocked takes out the file that nobody has used for the longest time.
func (fl *files) evictLocked() *file {
	f := fl.idle.Remove(fl.idle.Back()).(*file)
	f.place = nil
	delete(fl.all, f.h)
	return f
}

func (f *file) get() int { return int(f.fd.Load()) }

func (f *file) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	fd := f.fd.Swap(-1)
	// Whoever wants to be sure has synced.
	if f.handed != nil {
		_ = f.handed.Close()
		f.handed = nil
	} else if fd >= 0 {
		_ = unix.Close(int(fd))
	}
}

// hand gives the open file as others need it; nil if it is not open.
func (f *file) hand(fl *files) *os.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fd := f.get(); fd >= 0 && f.handed == nil {
		f.handed = os.NewFile(uintptr(fd), fl.path(f.h))
	}
	return f.handed
}

// open opens the file, and makes it if create is set and the datafile is still there. -1: there is none, the datafile is empty.
func (f *file) open(fl *files, create bool) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fd := f.get(); fd >= 0 {
		return fd, nil
	}
	if f.removed {
		if create {
			return -1, fault("open datafile", f.h, syscall.ENOENT)
		}
		return -1, nil
	}
	path, flags := fl.path(f.h), unix.O_RDWR|unix.O_CLOEXEC
	if fl.readOnly {
		flags = unix.O_RDONLY | unix.O_CLOEXEC
	}
	fd, err := fl.openFile(path, flags)
	if err == unix.ENOENT && !create {
		return -1, nil
	}
	if err == unix.ENOENT {
		if fl.readOnly {
			return -1, fault("open datafile", f.h, syscall.EROFS)
		}
		if err := fl.mayMake(f.h); err != nil {
			return -1, err
		}
		fd, err = fl.openFile(path, flags|unix.O_CREAT)
		if err == unix.ENOENT {
			if err := fl.makeFolder(f.h); err != nil {
				return -1, fault("open datafile", f.h, err)
			}
			fd, err = fl.openFile(path, flags|unix.O_CREAT)
		}
	}
	if err != nil {
		return -1, fault("open datafile", f.h, err)
	}
	f.fresh.Store(true)
	f.fd.Store(int64(fd))
	return fd, nil
}

// openFile opens a local file. When the process has too many, it closes those that nobody uses.
func (fl *files) openFile(path string, flags int) (int, error) {
	for tries := 0; ; tries++ {
		fd, err := unix.Open(path, flags, 0o600)
		switch {
		case err == unix.EINTR:
		case (err == unix.EMFILE || err == unix.ENFILE) && tries == 0:
			fl.closeIdle()
		default:
			return fd, err
		}
	}
}

func (fl *files) makeFolder(h proto.Handle) error {
	if err := os.Mkdir(fl.folder(h), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncDir(fl.dir)
}

// closeIdle closes the files that nobody uses.
func (fl *files) closeIdle() {
	fl.mu.Lock()
	var out []*file
	for fl.idle.Len() > 0 {
		out = append(out, fl.evictLocked())
	}
	fl.mu.Unlock()
	for _, f := range out {
		f.close()
	}
}

// close closes all files: those in use when they are released.
func (fl *files) close() {
	fl.mu.Lock()
	fl.closed = true
	fl.mu.Unlock()
	fl.closeIdle()
}

// remove removes the bytes of a datafile whose object is gone. Nobody can make them again.
func (fl *files) remove(h proto.Handle) error {
	fl.mu.Lock()
	f := fl.all[h]
	idle := false
	if f != nil {
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
		f.removed = true
		f.mu.Unlock()
	}
	if idle {
		f.close()
	}
	for {
		switch err := unix.Unlink(fl.path(h)); err {
		case nil, unix.ENOENT:
			return nil
		case unix.EINTR:
		default:
			return fault("remove datafile", h, err)
		}
	}
}

func (fl *files) size(h proto.Handle) (int64, error) {
	fl.mu.Lock()
	f := fl.all[h]
	if f != nil && f.get() >= 0 { // open, and not closed as long as we hold the lock
		var st unix.Stat_t
		err := unix.Fstat(f.get(), &st)
		fl.mu.Unlock()
		if err != nil {
			return 0, fault("size", h, err)
		}
		return st.Size, nil
	}
	fl.mu.Unlock()
	var st unix.Stat_t
	switch err := unix.Stat(fl.path(h), &st); err {
	case nil:
		return st.Size, nil
	case unix.ENOENT, unix.ENOTDIR:
		return 0, nil
	default:
		return 0, fault("size", h, err)
	}
}

// walk calls f with every file there is. Names that are no datafile's have handle 0.
func (fl *files) walk(f func(h proto.Handle, path string) error) error {
	return filepath.WalkDir(fl.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		h, ok := handleOfFile(d.Name())
		if !ok || fl.path(h) != path {
			h = 0
		}
		return f(h, path)
	})
}
