package shm

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// A sweep looks at a few names of a directory, and removes those whose processes have died. The next sweep, of any
// process, continues where it stopped. A device does one sweep when it is opened. It adds one name and looks at
// several, so dead names do not accumulate, and the cost of opening does not depend on the number of names.
//
// The position is stored in a file. Processes that sweep at the same time may look at the same names.

// swept is the result of a sweep.
type swept struct {
	looked  int // names looked at, ≤ sweepNames
	removed int
}

// sweep looks at the next names.
func (dir *nameDir) sweep() (done swept) {
	probe, err := newProbeSocket()
	if err != nil {
		return done
	}
	defer closeFD(probe)
	cursor, err := unix.Openat(dir.fd, cursorName, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return done
	}
	defer closeFD(cursor)
	var place [8]byte
	_, _ = unix.Pread(cursor, place[:], 0) // a new file means the beginning
	at := int64(binary.NativeEndian.Uint64(place[:]))
	for reads := 0; reads < sweepReads && done.looked < sweepNames; reads++ {
		at = dir.sweepFrom(at, probe, &done) // behind the last name comes the first
	}
	binary.NativeEndian.PutUint64(place[:], uint64(at))
	_, _ = unix.Pwrite(cursor, place[:], 0)
	return done
}

// sweepFrom looks at names from a place in the directory on, as the kernel lists it, and returns the place behind them;
// 0 is the beginning, and stands for the end.
func (dir *nameDir) sweepFrom(at int64, probe int, done *swept) int64 {
	if _, err := unix.Seek(dir.fd, at, unix.SEEK_SET); err != nil {
		return 0
	}
	var buf [sweepBytes]byte
	n, err := unix.Getdents(dir.fd, buf[:])
	if err != nil || n == 0 {
		return 0
	}
	for list := buf[:n]; len(list) > 0 && done.looked < sweepNames; {
		var e dirEntry
		e, list = nextEntry(list)
		at = e.next
		if e.kind != unix.DT_SOCK && e.kind != unix.DT_UNKNOWN {
			continue
		}
		done.looked++
		if dir.sweepName(e.name, probe) {
			done.removed++
		}
	}
	return at
}

// sweepName removes a name without a process. It reports whether it did.
func (dir *nameDir) sweepName(name string, probe int) bool {
	pid, draft := draftPID(name)
	if !draft && !validName(name) || !dir.dead(name, probe) {
		return false
	}
	if !draft {
		return dir.removeStale(name)
	}
	// One that a living process makes at this moment may look dead.
	return errors.Is(unix.Kill(pid, 0), unix.ESRCH) && dir.isSocket(name) && unix.Unlinkat(dir.fd, name, 0) == nil
}

// removeStale unlinks the socket of a process that died. It reports whether the name is free.
func (dir *nameDir) removeStale(name string) bool {
	if err := dir.lock(0); err != nil {
		return false
	}
	defer dir.unlock()
	return dir.removeStaleLocked(name)
}

// removeStaleLocked is removeStale for a process that holds the lock. Nothing but the holder removes names that
// are dead, and nothing replaces a name that exists. So the name that it removes is the one that it found dead.
func (dir *nameDir) removeStaleLocked(name string) bool {
	probe, err := newProbeSocket()
	if err != nil {
		return false
	}
	defer closeFD(probe)
	if dir.dead(name, probe) && dir.isSocket(name) {
		return unix.Unlinkat(dir.fd, name, 0) == nil
	}
	return errors.Is(unix.Faccessat(dir.fd, name, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT)
}

func (dir *nameDir) isSocket(name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK
}

// newProbeSocket makes a socket for dead.
func newProbeSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, resourceError("socket", err)
	}
	return fd, nil
}

// dead reports whether the process of a socket is gone. probe is of another type than the sockets of names, so its
// connect always fails: with ECONNREFUSED if no process has the socket, and otherwise without that process's notice.
func (dir *nameDir) dead(name string, probe int) bool {
	return errors.Is(unix.Connect(probe, dir.sockaddr(name)), unix.ECONNREFUSED)
}

// A dirEntry is one of a directory, as getdents64(2) lists it.
type dirEntry struct {
	next int64 // the position after this entry
	kind uint8
	name string
}

// The layout of struct linux_dirent64.
const (
	direntNext = 8
	direntSize = 16
	direntKind = 18
	direntName = 19
)

// nextEntry takes the first entry of a list.
func nextEntry(list []byte) (e dirEntry, rest []byte) {
	size := binary.NativeEndian.Uint16(list[direntSize:])
	e.next = int64(binary.NativeEndian.Uint64(list[direntNext:]))
	e.kind = list[direntKind]
	e.name, _, _ = strings.Cut(string(list[direntName:size]), "\x00")
	return e, list[size:]
}
