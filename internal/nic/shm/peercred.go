package shm

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// peerCred is the kernel's information on the process at the other end of a socket: for a client as of its
// connect, for a server as of its listen.
type peerCred struct {
	pid  int // 0 if foreign
	user nic.User
	// foreign: the process does not run as our effective user. Then neither side touches anything of the other
	// except the segment (docs/internals/decisions/0021).
	foreign bool
	// other: it does not run as root either. A server then applies the limits for fairness between users, and
	// names the client itself.
	other bool
}

// readPeer asks the kernel for the process at the other end of a socket.
func (d *Device) readPeer(fd int) (p peerCred, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return p, fmt.Errorf("shm: credentials of the other side: %w", err)
	}
	if d.ids.unknownUser(cred.Uid) && (d.forOthers || cred.Uid != d.euid) {
		return p, fmt.Errorf("shm: the other side runs as a user that has no number in our user namespace, so it could be anybody; "+
			"run both in the same: %w", os.ErrPermission)
	}
	p.pid = int(cred.Pid)
	p.user.UID = cred.Uid
	p.foreign = cred.Uid != d.euid
	p.other = p.foreign && cred.Uid != 0
	if p.foreign {
		p.pid = 0 // no call may use its process id
	}
	if !d.ids.unknownGroup(cred.Gid) {
		p.user.Groups = append(p.user.Groups, cred.Gid)
	}
	for _, g := range peerGroups(fd) {
		if g != cred.Gid && !d.ids.unknownGroup(g) {
			p.user.Groups = append(p.user.Groups, g)
		}
	}
	return p, nil
}

// peerGroups are the supplementary groups at the other end of a socket. There are none if they are more than
// groupsMax, or if the kernel does not tell (before Linux 4.13).
func peerGroups(fd int) []uint32 {
	var groups [groupsMax]uint32
	size := uint32(unsafe.Sizeof(groups))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
		uintptr(unsafe.Pointer(&groups)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return nil
	}
	return append([]uint32(nil), groups[:size/4]...)
}

// idSpace knows the numbers that the kernel reports for users and groups without a number in this process's user
// namespace. They all share one number, so it proves nothing.
type idSpace struct {
	user, group           uint32
	wholeUsers, wholeGrps bool // every id has its own number
}

func readIDSpace() idSpace {
	return idSpace{
		user: overflowID("/proc/sys/kernel/overflowuid"), wholeUsers: mapsAll("/proc/self/uid_map"),
		group: overflowID("/proc/sys/kernel/overflowgid"), wholeGrps: mapsAll("/proc/self/gid_map"),
	}
}

func (s *idSpace) unknownUser(uid uint32) bool  { return !s.wholeUsers && uid == s.user }
func (s *idSpace) unknownGroup(gid uint32) bool { return !s.wholeGrps && gid == s.group }

// overflowID reads the overflow id from a file, with the kernel's default if it cannot be read.
func overflowID(file string) uint32 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 65534
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return 65534
	}
	return uint32(n)
}

// mapsAll reports whether a map of ids is complete. Without user namespaces there is no such file.
func mapsAll(file string) bool {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	return err == nil && slices.Equal(strings.Fields(string(text)), []string{"0", "0", "4294967295"})
}

// checkClient refuses a client that is not allowed.
func (d *Device) checkClient(p *peerCred) error {
	if p.other && !d.forOthers {
		return fmt.Errorf("shm: the other side runs as uid %d, we as %d; run both as the same user, or open this name to other users (%s=1): %w",
			p.user.UID, d.euid, OtherUsersEnv, os.ErrPermission)
	}
	return nil
}

// checkServer refuses a server of a user that is not trusted.
func (d *Device) checkServer(name string, p *peerCred) error {
	if p.other && !slices.Contains(d.trust, p.user.UID) {
		return fmt.Errorf("shm: %s is served by uid %d, and we trust root and uid %d alone; if that is right, set %s=%d: %w",
			name, p.user.UID, d.euid, TrustEnv, p.user.UID, os.ErrPermission)
	}
	return nil
}

// nameOf is the name of a client on this side. A client chooses its own name. If it is another user's, that
// user's number is put in front, so that the name cannot be that of a third user.
func (p *peerCred) nameOf(addr string) string {
	if !p.other {
		return addr
	}
	return nic.OtherUserMark + strconv.FormatUint(uint64(p.user.UID), 10) + "." + addr
}
