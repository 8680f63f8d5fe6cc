//go:build linux

package kernel

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never block, because descriptors are non-blocking. Unless they
// do much they enter the kernel without telling the scheduler (RawSyscall), which
// costs less. While such a call runs, neither another goroutine nor the garbage
// collector can have the processor.

// rawBytesMax is how many bytes may be copied, and rawMessagesMax how many packets
// sent, without telling the scheduler: a few microseconds' worth.
const (
	rawBytesMax    = 32 << 10
	rawMessagesMax = 4
)

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	header unix.Msghdr
	n      uint32 // bytes
	_      uint32
}

// sendTo is sendto(2).
func sendTo(fd int, b []byte, to *name, size uint32) syscall.Errno {
	p := unsafe.Pointer(unsafe.SliceData(b))
	var no syscall.Errno
	if len(b) > rawBytesMax {
		_, _, no = unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(p), uintptr(len(b)),
			unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(to)), uintptr(size))
		return no
	}
	_, _, no = unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(p), uintptr(len(b)),
		unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(to)), uintptr(size))
	return no
}

// sendMessages is sendmmsg(2), of total bytes; a single message is sendmsg(2). It
// returns how many were sent, or the error of the first.
func sendMessages(fd int, m []mmsghdr, total int) (int, syscall.Errno) {
	p := unsafe.Pointer(unsafe.SliceData(m))
	var n uintptr
	var no syscall.Errno
	switch raw := total <= rawBytesMax && len(m) <= rawMessagesMax; {
	case len(m) == 1 && raw:
		_, _, no = unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(p), unix.MSG_NOSIGNAL)
		n = 1
	case len(m) == 1:
		_, _, no = unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(p), unix.MSG_NOSIGNAL)
		n = 1
	case raw:
		n, _, no = unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(p), uintptr(len(m)), unix.MSG_NOSIGNAL, 0, 0)
	default:
		n, _, no = unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(p), uintptr(len(m)), unix.MSG_NOSIGNAL, 0, 0)
	}
	if no != 0 {
		return 0, no
	}
	return min(int(n), len(m)), 0
}

// The receiving calls return the length of the datagram, or of the datagrams of a
// group, even if the room is smaller (MSG_TRUNC).

// recvFrom is recvfrom(2). size is that of from, before and after.
func recvFrom(fd int, b []byte, from *name, size *uint32) (int, syscall.Errno) {
	n, _, no := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), unix.MSG_TRUNC, uintptr(unsafe.Pointer(from)), uintptr(unsafe.Pointer(size)))
	return int(n), no
}

// recvMessages is recvmmsg(2); a single message is recvmsg(2). It returns the
// number of messages; their n has their length.
func recvMessages(fd int, m []mmsghdr) (int, syscall.Errno) {
	p := unsafe.Pointer(unsafe.SliceData(m))
	if len(m) == 1 {
		n, _, no := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(p), unix.MSG_TRUNC)
		if no != 0 {
			return 0, no
		}
		m[0].n = uint32(n)
		return 1, 0
	}
	n, _, no := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(p), uintptr(len(m)), unix.MSG_TRUNC, 0, 0)
	if no != 0 {
		return 0, no
	}
	return min(int(n), len(m)), 0
}

// bind is bind(2).
func bind(fd int, at *name, size uint32) syscall.Errno {
	_, _, no := unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(at)), uintptr(size))
	return no
}

// connect is connect(2), which for a datagram socket only looks for a route.
func connect(fd int, to *name, size uint32) syscall.Errno {
	_, _, no := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(to)), uintptr(size))
	return no
}

// sockName is getsockname(2); it returns the size of the address.
func sockName(fd int, at *name) (uint32, syscall.Errno) {
	size := uint32(unsafe.Sizeof(*at))
	_, _, no := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(at)), uintptr(unsafe.Pointer(&size)))
	return size, no
}

// memInfoDrops is the index in SO_MEMINFO of the count of packets dropped at a
// socket (SK_MEMINFO_DROPS in linux/sock_diag.h).
const memInfoDrops = 8

// drops is how many packets the kernel dropped at a socket, or known if it does
// not tell.
func drops(fd int, known uint32) uint32 {
	var info [memInfoDrops + 1]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, no := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if no != 0 || size < uint32(unsafe.Sizeof(info)) {
		return known // before Linux 4.13
	}
	return info[memInfoDrops]
}
