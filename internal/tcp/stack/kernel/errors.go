//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// Reasons why a stream broke or could not be made; each wraps the errno.
var (
	errReset       = because("the other side reset the connection", unix.ECONNRESET)
	errFinished    = because("the connection is closed for sending", unix.EPIPE)
	errTimeout     = because("the other side does not answer", unix.ETIMEDOUT)
	errNoHost      = because("no route to the other side's machine", unix.EHOSTUNREACH)
	errNoNet       = because("no route to the other side's network", unix.ENETUNREACH)
	errNotThere    = because("not connected", unix.ENOTCONN)
	errRefused     = stack.ErrRefused
	errSelfConnect = fmt.Errorf("%w: nobody listens, the port was free and connected to itself", stack.ErrRefused)

	// errClosed: the owner closed it.
	errClosed = errors.New("kernel: closed")
)

func because(text string, no syscall.Errno) error {
	return fmt.Errorf("kernel: %s: %w", text, no)
}

// broken returns the reason for an errno of a stream. It does not allocate for
// the expected errors.
func broken(no syscall.Errno) error {
	switch no {
	case unix.ECONNRESET:
		return errReset
	case unix.EPIPE:
		return errFinished
	case unix.ETIMEDOUT:
		return errTimeout
	case unix.ECONNREFUSED:
		return errRefused
	case unix.EHOSTUNREACH:
		return errNoHost
	case unix.ENETUNREACH:
		return errNoNet
	case unix.ENOTCONN:
		return errNotThere
	case unix.EBADF:
		return errClosed
	}
	return because("socket failed", no)
}

// scarce reports whether descriptors, memory or ports ran out.
func scarce(no syscall.Errno) bool {
	switch no {
	case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ENOSPC, unix.EADDRNOTAVAIL:
		return true
	}
	return false
}

// exhausted is stack.ErrExhausted with its reason.
func exhausted(no syscall.Errno) error {
	return fmt.Errorf("kernel: %w (%w)", stack.ErrExhausted, no)
}
