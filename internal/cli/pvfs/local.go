package pvfs

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// localTree is the local file system at and below one name of the command line. Below that name, every directory on a path is
// opened relative to the one above it, without following symbolic links. The last name is used relative to the last directory.
type localTree struct {
	mu  sync.Mutex
	top *localDir // nil until enter
	// last is the directory of the previous name. Most names are in the same directory as the one before.
	last *localDir
}

// A localDir is an open directory. It is closed when the last user drops it.
type localDir struct {
	fd    int
	rel   string
	users int // protected by the mutex of the tree
}

const (
	// pathOnly opens an object only as a place, so it need not be readable.
	pathOnly = unix.O_PATH | unix.O_CLOEXEC
	// toRead and toWrite open a file. With these flags, open of a FIFO does not wait: see fifo(7).
	toRead  = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	toWrite = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NOCTTY
)

func (t *localTree) enter(p place, follow bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.top != nil {
		return nil
	}
	name, flags := p.path, 0
	if !follow {
		// With a slash at its end, a link would be followed.
		name, flags = strings.TrimRight(p.path, "/"), unix.O_NOFOLLOW
	}
	fd, err := openAt(unix.AT_FDCWD, name, pathOnly|unix.O_DIRECTORY|flags, 0)
	if err != nil {
		return localError("open", p.given, unix.AT_FDCWD, name, err)
	}
	t.top = &localDir{fd: fd, users: 1}
	return nil
}

func (t *localTree) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropLocked(t.last)
	t.dropLocked(t.top)
	t.last, t.top = nil, nil
}

func (t *localTree) dropLocked(d *localDir) {
	if d == nil {
		return
	}
	if d.users--; d.users == 0 {
		_ = unix.Close(d.fd) // nothing was written to it
	}
}

// in calls do for a name in an open directory.
func (t *localTree) in(op string, p place, do func(dir int, name string) error) error {
	if p.rel == "" {
		return t.atTop(op, p, do)
	}
	i := strings.LastIndexByte(p.rel, '/')
	dir, err := t.hold(p, p.rel[:max(i, 0)])
	if err != nil {
		return err
	}
	name := p.rel[i+1:]
	if err = do(dir.fd, name); err != nil {
		err = localError(op, p.given, dir.fd, name, err)
	}
	t.mu.Lock()
	t.dropLocked(dir)
	t.mu.Unlock()
	return err
}

// atTop is in for the name on the command line itself.
func (t *localTree) atTop(op string, p place, do func(dir int, name string) error) error {
	dir, name := unix.AT_FDCWD, p.path
	if t.top != nil {
		dir, name = t.top.fd, "."
	}
	if err := do(dir, name); err != nil {
		return localError(op, p.given, dir, name, err)
	}
	return nil
}

// hold returns the directory of a name. The caller drops it.
func (t *localTree) hold(p place, rel string) (*localDir, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil || t.last.rel != rel {
		dir, err := t.descendLocked(p, rel)
		if err != nil {
			return nil, err
		}
		t.dropLocked(t.last)
		t.last = dir
	}
	t.last.users++
	return t.last, nil
}

// descendLocked opens a directory below the top, or returns the top.
func (t *localTree) descendLocked(p place, rel string) (*localDir, error) {
	t.top.users++
	dir := t.top
	if rel == "" {
		return dir, nil
	}
	for part := range strings.SplitSeq(rel, "/") {
		fd, err := openAt(dir.fd, part, pathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			at := strings.TrimSuffix(p.given, p.rel) + strings.TrimPrefix(dir.rel+"/"+part, "/")
			err = localError("open", at, dir.fd, part, err)
		}
		below := strings.TrimPrefix(dir.rel+"/"+part, "/")
		t.dropLocked(dir)
		if err != nil {
			return nil, err
		}
		dir = &localDir{fd: fd, rel: below, users: 1}
	}
	return dir, nil
}

// localError adds the operation and the name to an error, and says if the cause is a symbolic link.
func localError(op, given string, dir int, name string, err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		var st unix.Stat_t
		if e := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); e == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = errLink
		}
	}
	return &fs.PathError{Op: op, Path: given, Err: err}
}

// openAt is openat(2).
func openAt(dir int, name string, flags int, mode fs.FileMode) (fd int, err error) {
	err = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Openat(dir, name, flags, uint32(mode.Perm()))
	}
	return fd, err
}

func (t *localTree) stat(p place, follow bool) (info fs.FileInfo, err error) {
	if follow {
		return os.Stat(p.path)
	}
	err = t.in("lstat", p, func(dir int, name string) error {
		fd, err := openAt(dir, name, pathOnly|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), p.given)
		info, err = f.Stat()
		_ = f.Close() // nothing was written to it
		return err
	})
	return info, err
}

func (t *localTree) list(p place) (names []string, err error) {
	err = t.in("open", p, func(dir int, name string) error {
		fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), p.given)
		names, err = f.Readdirnames(-1)
		_ = f.Close() // nothing was written to it
		return err
	})
	slices.Sort(names)
	return names, err
}

func (t *localTree) readlink(p place) (target string, err error) {
	err = t.in("readlink", p, func(dir int, name string) error {
		b := make([]byte, unix.PathMax) // the longest path of the system
		n, err := unix.Readlinkat(dir, name, b)
		target = string(b[:max(n, 0)])
		return err
	})
	return target, err
}

func (t *localTree) mkdir(p place, mode fs.FileMode) error {
	return t.in("mkdir", p, func(dir int, name string) error { return unix.Mkdirat(dir, name, uint32(mode.Perm())) })
}

func (t *localTree) symlink(target string, p place) error {
	return t.in("symlink", p, func(dir int, name string) error { return unix.Symlinkat(target, dir, name) })
}

func (t *localTree) remove(p place) error {
	return t.in("remove", p, func(dir int, name string) error { return unix.Unlinkat(dir, name, 0) })
}

func (t *localTree) open(p place) (f file, err error) {
	flags := toRead
	if p.rel != "" {
		flags |= unix.O_NOFOLLOW
	}
	err = t.in("open", p, func(dir int, name string) error {
		f, err = openLocal(dir, name, p.given, flags, func(mode fs.FileMode) bool { return mode.IsRegular() || mode.IsDir() })
		return err
	})
	return f, err
}

func (t *localTree) create(p place, mode fs.FileMode) (f file, err error) {
	err = t.in("open", p, func(dir int, name string) error {
		fd, err := openAt(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, mode)
		if err == nil {
			f = localFile{os.NewFile(uintptr(fd), p.given)}
		}
		return err
	})
	return f, err
}

func (t *localTree) overwrite(p place) (f file, err error) {
	suits := func(mode fs.FileMode) bool {
		// A device may be named on the command line, such as /dev/null.
		return mode.IsRegular() || p.rel == "" && mode&fs.ModeDevice != 0
	}
	// Opening a device or a FIFO can have side effects, so the type is checked before. It is checked again after the open,
	// because the name may refer to another object by then.
	there, err := t.stat(p, false)
	switch {
	case err != nil:
		return nil, err
	case there.Mode()&fs.ModeSymlink != 0:
		return nil, &fs.PathError{Op: "open", Path: p.given, Err: errLink}
	case !there.IsDir() && !suits(there.Mode()):
		return nil, &fs.PathError{Op: "open", Path: p.given, Err: errNoBytes}
	}
	err = t.in("open", p, func(dir int, name string) error {
		f, err = openLocal(dir, name, p.given, toWrite, suits)
		return err
	})
	if err == nil && there.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	if err != nil && f != nil {
		err = errors.Join(err, f.Close())
	}
	return f, err
}

// openLocal opens an existing object. If suits refuses it, it is closed at once.
func openLocal(dir int, name, given string, flags int, suits func(fs.FileMode) bool) (file, error) {
	fd, err := openAt(dir, name, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if flags&unix.O_NONBLOCK != 0 {
		_ = unix.SetNonblock(fd, false) // the flag was only for open; it would make the runtime poll the file
	}
	f := os.NewFile(uintptr(fd), given)
	info, err := f.Stat()
	if err == nil && !suits(info.Mode()) {
		err = errNoBytes
	}
	if err != nil {
		_ = f.Close() // nothing was written to it
		return nil, err
	}
	return localFile{f}, nil
}

func (*localTree) about(_ place, err error) error { return err }

// localFile is an open local file.
type localFile struct{ *os.File }

func (f localFile) Chtimes(when time.Time) error {
	at, err := unix.TimeToTimespec(when)
	if err != nil {
		return err
	}
	times := [2]unix.Timespec{at, at}
	// This is futimens(3).
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, f.Fd(), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	if errno != 0 {
		return &fs.PathError{Op: "chtimes", Path: f.Name(), Err: errno}
	}
	return nil
}
