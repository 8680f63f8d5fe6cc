//go:build linux

package kernel

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/tcp/stack"
)

// SendFile implements stack.FileSender. The socket refers to the pages of the file; MSG_MORE
// keeps what is in front of them from leaving in a segment of its own.
func (s *Stack) SendFile(to stack.Stream, head [][]byte, f *os.File, off int64, most int) (int, error) {
	c := to.(*stream)
	n, total, no := c.send(head, unix.MSG_MORE)
	switch {
	case no != 0:
		return 0, c.broken(no)
	case n < total:
		return n, stack.ErrAgain
	case c.fd < 0:
		return 0, c.broken(unix.EBADF)
	}
	k, no := sendFile(c.fd, f, off, most)
	switch {
	case no == 0:
		return n + k, nil
	case ofFile(no):
		return n, fmt.Errorf("%w: %w", stack.ErrFile, no)
	}
	return n, c.broken(no)
}

// sendFile is sendfile(2).
func sendFile(fd int, f *os.File, off int64, most int) (int, syscall.Errno) {
	defer runtime.KeepAlive(f)
	from := int(f.Fd())
	for {
		n, err := unix.Sendfile(fd, from, &off, most)
		no, _ := err.(syscall.Errno)
		if no != unix.EINTR {
			return max(n, 0), no
		}
	}
}

// ofFile tells whether an error of sendfile(2) is one of the file; all others are the
// socket's.
func ofFile(no syscall.Errno) bool {
	switch no {
	case unix.EBADF, unix.EINVAL, unix.EIO, unix.EISDIR, unix.EOVERFLOW, unix.ESPIPE, unix.EACCES, unix.EPERM,
		unix.ENODATA, unix.EUCLEAN, unix.ESTALE, unix.EFAULT, unix.ENXIO:
		return true
	}
	return false
}
