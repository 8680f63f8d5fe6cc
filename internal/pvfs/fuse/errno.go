package fuse

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// errno converts an error of the client for a program.
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

// of converts a status. It is EIO if no system call returns it.
func of(s proto.Status) syscall.Errno {
	switch s.Base() {
	case proto.ECANCEL:
		return syscall.EINTR
	case proto.EAGAIN, proto.EWOULDBLOCK, proto.ETRYAGAIN:
		return syscall.EIO // a program would poll a descriptor that is always ready
	case proto.ENOSYS:
		return syscall.EOPNOTSUPP // the kernel would never try the operation again
	}
	return s.Errno()
}
