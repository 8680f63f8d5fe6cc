package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// DirEnv is the environment variable with the directory of the sockets.
const DirEnv = "VIADUCT_SHM_DIR"

// pathMax is the longest path in sockaddr_un.sun_path with its zero byte.
const pathMax = 107

// nameDir is a directory with the sockets of one user's devices.
type nameDir struct {
	path string
	fd   int
	mode uint32
	// lockFD is a file that other users cannot open, if they can open the directory; else -1.
	lockFD int
	byFD   bool // names are always reached through fd, which was checked
}

// Files beside the names. None has a valid name of a device.
const (
	lockName   = "~lock"
	cursorName = "~sweep" // where the next sweep begins
)

// defaultDir is the directory of names unless the provider names another.
func defaultDir() string {
	if dir := environ.Getenv(DirEnv); dir != "" {
		return dir
	}
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		if st, err := os.Stat(run); err == nil && st.IsDir() {
			return filepath.Join(run, "viaduct")
		}
	}
	return "/tmp/viaduct-" + strconv.Itoa(os.Geteuid())
}

// openDir makes the directory if necessary, and checks that no other user can put a socket there: such a socket
// would be taken for one of our peers.
func openDir(path string) (*nameDir, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("shm: directory %q is not an absolute path, set %s to one", path, DirEnv)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("shm: cannot make the directory of names, set %s to a place you may write: %w", DirEnv, err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("shm: cannot open the directory of names %s, set %s to another: %w", path, DirEnv, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("shm: %s: %w", path, err)
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("shm: directory %s (owner %d, mode %#o) must belong to uid %d and be writable by nobody else; fix it or set %s: %w",
			path, st.Uid, st.Mode&0o7777, os.Geteuid(), DirEnv, os.ErrPermission)
	}
	return &nameDir{path: path, fd: fd, mode: st.Mode & 0o7777, lockFD: -1}, nil
}

func (dir *nameDir) close() {
	_ = unix.Close(dir.fd)
	closeFD(dir.lockFD)
}

// lockable is the descriptor that is locked for the directory.
func (dir *nameDir) lockable() int {
	if dir.lockFD >= 0 {
		return dir.lockFD
	}
	return dir.fd
}

// sockaddr is the address of the socket of a name. Long directories are reached through the open descriptor,
// since an address has 107 bytes.
func (dir *nameDir) sockaddr(name string) *unix.SockaddrUnix {
	path := filepath.Join(dir.path, name)
	if dir.byFD || len(path) > pathMax {
		path = fmt.Sprintf("/proc/self/fd/%d/%s", dir.fd, name)
	}
	return &unix.SockaddrUnix{Name: path}
}

// lock locks the directory for this process, which removes dead names. It tries for at most wait.
func (dir *nameDir) lock(wait time.Duration) error {
	for start := time.Now(); ; time.Sleep(nameLockBackoff) {
		err := unix.Flock(dir.lockable(), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || errors.Is(err, unix.EINTR) {
			if err == nil {
				return nil
			}
			continue
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || wait <= 0 || time.Since(start) > wait {
			return fmt.Errorf("shm: directory %s is locked by another process: %w", dir.path, err)
		}
	}
}

func (dir *nameDir) unlock() { _ = unix.Flock(dir.lockable(), unix.LOCK_UN) }

// listen makes a socket that listens under a name, and takes the name over if the process that had it has ended.
// The mode says which users may connect, if they can reach the directory.
//
// The socket listens before it gets its name. So a name whose socket has no process stays dead, whenever the
// process was killed, and opening needs no lock.
func (dir *nameDir) listen(name string, mode uint32) (int, error) {
	var err error
	for range draftTries {
		fd, draft, e := dir.draft(name, mode)
		if e != nil {
			return -1, e
		}
		err = dir.publish(draft, name)
		dir.remove(draft)
		if err == nil {
			return fd, nil
		}
		_ = unix.Close(fd)
		if !errors.Is(err, unix.ENOENT) {
			break
		}
		// A process that does not see ours, in a container, took the draft for that of a dead one.
	}
	return -1, err
}

// draft makes a socket that listens under a temporary name. No device connects to that name.
func (dir *nameDir) draft(name string, mode uint32) (fd int, draft string, err error) {
	draft = draftOf(name)
	fd, err = newSocket()
	if err != nil {
		return -1, "", err
	}
	if err = unix.Bind(fd, dir.sockaddr(draft)); err != nil {
		_ = unix.Close(fd)
		return -1, "", fmt.Errorf("shm: bind %s: %w", filepath.Join(dir.path, name), err)
	}
	// No process can connect before listen, so a mode that the umask allowed does no harm.
	if err = unix.Fchmodat(dir.fd, draft, mode, 0); err == nil {
		err = unix.Listen(fd, listenBacklog)
	}
	if err != nil {
		dir.remove(draft)
		_ = unix.Close(fd)
		return -1, "", fmt.Errorf("shm: listen %s: %w", filepath.Join(dir.path, name), err)
	}
	return fd, draft, nil
}

// publish gives the socket of a draft its name. A name that exists is never replaced, only removed if it is dead.
func (dir *nameDir) publish(draft, name string) error {
	err := unix.Linkat(dir.fd, draft, dir.fd, name, 0)
	if errors.Is(err, unix.EEXIST) {
		if err := dir.lock(nameLockWait); err != nil {
			return err
		}
		dir.removeStaleLocked(name)
		dir.unlock()
		err = unix.Linkat(dir.fd, draft, dir.fd, name, 0)
	}
	switch {
	case errors.Is(err, unix.EEXIST):
		return fmt.Errorf("shm: %s: %w", filepath.Join(dir.path, name), nic.ErrNameTaken)
	case err != nil:
		return fmt.Errorf("shm: naming the socket %s: %w", filepath.Join(dir.path, name), err)
	}
	return nil
}

// remove unlinks our own name.
func (dir *nameDir) remove(name string) { _ = unix.Unlinkat(dir.fd, name, 0) }

func newSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, resourceError("socket", err)
	}
	return fd, nil
}

// validName reports whether a device may listen under name: 1 to 64 letters, digits, dots, underscores and
// dashes, and not only dots.
func validName(name string) bool {
	if name == "" || len(name) > NameBytesMax || strings.Trim(name, ".") == "" {
		return false
	}
	for i := range len(name) {
		if !nameByte(name[i]) {
			return false
		}
	}
	return true
}

// validAddr reports whether addr may be a device's LocalAddr: a name, or "~" and the identification of a
// nameless device.
func validAddr(addr string) bool {
	if rest, ok := strings.CutPrefix(addr, "~"); ok {
		return len(addr) <= addrBytesMax && validName(rest)
	}
	return validName(addr)
}

func nameByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		return true
	}
	return false
}
