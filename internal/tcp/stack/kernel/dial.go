//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// Dial implements stack.Stack.
func (s *Stack) Dial(to netip.AddrPort, t stack.Token) (stack.Stream, error) {
	if s.epfd < 0 {
		return nil, errClosed
	}
	to, sa, err := sockaddr(to)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", to, err)
	}
	fd, err := s.openSocket(to)
	if err != nil {
		return nil, dialError(to, err)
	}
	err = unix.Connect(fd, sa)
	c := &stream{remote: to, hangups: s.hangups}
	if err == nil || errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EINTR) {
		err = nil
		if no := s.watch(&c.socket, fd, t); no != 0 {
			err = no
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, dialError(to, err)
	}
	return c, nil
}

// dialError is the reason why dialling could not begin.
func dialError(to netip.AddrPort, err error) error {
	var no syscall.Errno
	if errors.As(err, &no) {
		if err = broken(no); scarce(no) {
			err = exhausted(no)
		}
	}
	return fmt.Errorf("%v: %w", to, err)
}

// Connected implements stack.Stream.
func (c *stream) Connected() error {
	switch {
	case c.fd < 0:
		return errClosed
	case c.state == connecting:
		return c.ask()
	}
	return c.why
}

// ask asks for the result of connecting. The kernel reports a failure only once.
func (c *stream) ask() error {
	no, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	switch {
	case err != nil:
		return c.fail(fmt.Errorf("%v: %w", c.remote, err))
	case no != 0:
		return c.fail(dialError(c.remote, syscall.Errno(no)))
	}
	if _, err := unix.Getpeername(c.fd); err != nil {
		return stack.ErrAgain
	}
	if local, err := unix.Getsockname(c.fd); err == nil && addrPort(local) == c.remote {
		// A connection to a free port of this machine may get that same port as
		// its local port, and then connects to itself (RFC 9293, 3.5:
		// simultaneous open).
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR)
		return c.fail(fmt.Errorf("%v: %w", c.remote, errSelfConnect))
	}
	c.state = connected
	return nil
}
