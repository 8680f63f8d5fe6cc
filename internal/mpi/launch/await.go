package launch

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitEnd waits until a child has ended. It returns earlier where the kernel cannot say so by a
// descriptor. Without it, a thread would wait for each process, and a program may have 10,000.
func awaitEnd(pid int) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "process")
	defer func() { _ = f.Close() }()
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) (ended bool) { // an error says that the descriptor cannot be waited for
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}
