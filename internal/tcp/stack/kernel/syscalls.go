//go:build linux

package kernel

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never block, because descriptors are non-blocking. Unless they
// copy much they enter the kernel without telling the scheduler (RawSyscall),
// which costs less. While such a call runs, neither another goroutine nor the
// garbage collector can have the processor.

// rawBytesMax is how much may be copied without telling the scheduler: a few
// microseconds' worth.
const rawBytesMax = 32 << 10

// recvFrom is recvfrom(2) without an address.
func recvFrom(fd int, b []byte) (int, syscall.Errno) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b) > rawBytesMax {
		n, _, no := unix.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(p), uintptr(len(b)), 0, 0, 0)
		return int(n), no
	}
	n, _, no := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(p), uintptr(len(b)), 0, 0, 0)
	return int(n), no
}

// sendTo is sendto(2) without an address.
func sendTo(fd int, b []byte, flags int) (int, syscall.Errno) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b) > rawBytesMax {
		n, _, no := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(p), uintptr(len(b)), uintptr(flags), 0, 0)
		return int(n), no
	}
	n, _, no := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(p), uintptr(len(b)), uintptr(flags), 0, 0)
	return int(n), no
}

// message is recvmsg(2) or sendmsg(2), selected by trap, of total bytes.
func message(trap uintptr, fd int, m *unix.Msghdr, total, flags int) (int, syscall.Errno) {
	if total > rawBytesMax {
		n, _, no := unix.Syscall(trap, uintptr(fd), uintptr(unsafe.Pointer(m)), uintptr(flags))
		return int(n), no
	}
	n, _, no := unix.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(m)), uintptr(flags))
	return int(n), no
}

// accept4 is accept4(2); the address goes to sa.
func accept4(fd int, sa *unix.RawSockaddrInet6) (int, syscall.Errno) {
	size := uint32(unsafe.Sizeof(*sa))
	n, _, no := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(sa)),
		uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int(n), no
}
