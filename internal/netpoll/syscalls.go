//go:build linux

package netpoll

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never block. They enter the kernel without telling the
// scheduler (RawSyscall), which costs less. While such a call runs, neither
// another goroutine nor the garbage collector can have the processor.

// Events is epoll_pwait(2) without waiting: it stores pending events in events,
// which must not be empty, and returns how many.
func Events(epfd int, events []unix.EpollEvent) int {
	n, _, no := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if no != 0 {
		return 0 // EINTR; other errors are impossible
	}
	return int(n)
}

// Control is epoll_ctl(2).
func Control(epfd, op, fd int, event *unix.EpollEvent) syscall.Errno {
	_, _, no := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epfd), uintptr(op), uintptr(fd),
		uintptr(unsafe.Pointer(event)), 0, 0)
	return no
}
