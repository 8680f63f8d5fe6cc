package fuse

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// errno is what a program sees of an error of the client.
func errno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var s proto.Status
	if errors.As(err, &s) && s != proto.OK {
		return of(s)
	}
	var e syscall.Errno
	switch {
	case errors.Is(err, fs.ErrClosed):
		return syscall.EBADF
	case errors.Is(err, context.Canceled):
		return syscall.EINTR
	case errors.Is(err, context.DeadlineExceeded):
		return syscall.ETIMEDOUT
	case errors.As(err, &e) && e != 0:
		return e
	}
	return syscall.EIO
}

// of is errno of a status. Those that no system call has are EIO.
func of(s proto.Status) syscall.Errno {
	switch s.Base() {
	case proto.ECANCEL:
		return syscall.EINTR
	case proto.EAGAIN, proto.EWOULDBLOCK, proto.ETRYAGAIN:
		return syscall.EIO // a program would wait for a descriptor that is always ready
	case proto.ENOSYS:
		return syscall.EOPNOTSUPP // the kernel would never ask again
	}
	return s.Errno()
}
