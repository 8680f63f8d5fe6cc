//go:build linux

package kernel

import (
	"cmp"
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// copyBytes is how much of a file is copied at once for a peer on this host. It is small enough to stay
// in a core's cache between the file and the socket.
const copyBytes = 256 << 10

// SendFile implements stack.FileSender. To another host the socket sends the pages of the file
// themselves. On this host the bytes are copied in any case, and the receiver gets freshly copied bytes
// faster than pages that are not in a cache. Bytes with a Check are copied too.
func (s *Stack) SendFile(to stack.Stream, head [][]byte, part stack.FileRange) (int, error) {
	c := to.(*stream)
	if part.Check != nil || c.near() && !s.options.PagesOnly {
		return c.sendCopy(head, part)
	}
	return c.sendPages(head, part)
}

// near reports whether the other side is on this host.
func (c *stream) near() bool {
	if c.where == unknown && c.fd >= 0 {
		c.where = far
		local, err := unix.Getsockname(c.fd)
		if c.remote.Addr().IsLoopback() || err == nil && addrPort(local).Addr() == c.remote.Addr() {
			c.where = near
		}
	}
	return c.where == near
}

// sendCopy reads from the file and sends the copy.
func (c *stream) sendCopy(head [][]byte, part stack.FileRange) (int, error) {
	if c.s.copied == nil {
		c.s.copied = make([]byte, copyBytes)
	}
	k, unread := stack.ReadFile(part, c.s.copied)
	if unread != nil {
		n, err := c.Send(head)
		return n, cmp.Or(err, unread)
	}
	return c.Send(append(head, c.s.copied[:k]))
}

// sendPages makes the socket refer to the pages of the file. MSG_MORE keeps the head from leaving in a
// segment of its own.
func (c *stream) sendPages(head [][]byte, part stack.FileRange) (int, error) {
	defer runtime.KeepAlive(part.File)
	file, off := int(part.File.Fd()), part.Off
	n, total, no := c.send(head, unix.MSG_MORE)
	switch {
	case no != 0:
		return 0, c.broken(no)
	case n < total:
		return n, stack.ErrAgain
	case c.fd < 0:
		return 0, c.broken(unix.EBADF)
	}
	k, no := retried(func() (int, error) { return unix.Sendfile(c.fd, file, &off, part.Len) })
	switch {
	case no == 0:
		return n + k, nil
	case ofFile(no):
		return n, fmt.Errorf("%w: %w", stack.ErrFile, no)
	}
	return n, c.broken(no)
}

// retried repeats a system call that a signal interrupted.
func retried(call func() (int, error)) (int, syscall.Errno) {
	for {
		n, err := call()
		no, _ := err.(syscall.Errno)
		if no != unix.EINTR {
			return max(n, 0), no
		}
	}
}

// ofFile reports whether an error of sendfile(2) belongs to the file; all others belong to the socket.
func ofFile(no syscall.Errno) bool {
	switch no {
	case unix.EBADF, unix.EINVAL, unix.EIO, unix.EISDIR, unix.EOVERFLOW, unix.ESPIPE, unix.EACCES, unix.EPERM,
		unix.ENODATA, unix.EUCLEAN, unix.ESTALE, unix.EFAULT, unix.ENXIO:
		return true
	}
	return false
}
