//go:build linux

package netpoll

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never block. They go to the kernel without telling the
// scheduler (RawSyscall), which costs less; while they run, neither another
// goroutine nor the garbage collector can have the processor.

// Events is epoll_pwait(2) that does not wait: it stores what is there in events,
// of which there is at least one, and returns how many.
func Events(epfd int, events []unix.EpollEvent) int {
	n, _, no := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if no != 0 {
		return 0 // EINTR; the others cannot be
	}
	return int(n)
}

// Control is epoll_ctl(2).
func Control(epfd, op, fd int, event *unix.EpollEvent) syscall.Errno {
	_, _, no := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epfd), uintptr(op), uintptr(fd),
		uintptr(unsafe.Pointer(event)), 0, 0)
	return no
}
