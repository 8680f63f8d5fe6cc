//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

type listener struct {
	socket
	addr netip.AddrPort
}

// Listen implements stack.Stack. The address [::] takes IPv4 too.
func (s *Stack) Listen(at netip.AddrPort, t stack.Token) (stack.Listener, error) {
	if s.epfd < 0 {
		return nil, errClosed
	}
	at, sa, err := sockaddr(at)
	if err != nil {
		return nil, fmt.Errorf("kernel: listen at %v: %w", at, err)
	}
	fd, err := s.bind(at, sa)
	if err != nil {
		if errors.Is(err, unix.EADDRINUSE) {
			err = stack.ErrInUse
		}
		return nil, fmt.Errorf("kernel: listen at %v: %w", at, err)
	}
	name, err := unix.Getsockname(fd)
	l := &listener{addr: addrPort(name)}
	if err == nil {
		if no := s.watch(&l.socket, fd, t); no != 0 {
			err = no
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("kernel: listen at %v: %w", at, err)
	}
	return l, nil
}

// bind makes a listening socket.
func (s *Stack) bind(at netip.AddrPort, sa unix.Sockaddr) (int, error) {
	fd, err := s.openSocket(at)
	if err != nil {
		return -1, err
	}
	if at.Addr().Is6() {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
	}
	if err == nil {
		// A restarted server can bind its port although connections of its
		// predecessor linger.
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		err = unix.Bind(fd, sa)
	}
	if err == nil {
		err = unix.Listen(fd, s.options.Backlog)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Accept implements stack.Listener. It skips connections that broke while they
// waited.
func (l *listener) Accept(t stack.Token) (stack.Stream, error) {
	for {
		fd, no := accept4(l.fd, &l.s.accepted)
		switch {
		case no == 0:
			return l.take(fd, t)
		case no == unix.EAGAIN:
			return nil, stack.ErrAgain
		case scarce(no):
			return nil, exhausted(no)
		case no == unix.EBADF:
			return nil, errClosed
		case !passing(no):
			return nil, because("accept", no)
		}
	}
}

// passing reports whether accept failed for a temporary reason, or for one that
// concerns only the connection (accept(2), "Error handling"). Any other error
// would come again and again.
func passing(no syscall.Errno) bool {
	switch no {
	case unix.EINTR, unix.ECONNABORTED, unix.EPROTO, unix.ENOPROTOOPT, unix.ENETDOWN, unix.ENETUNREACH,
		unix.EHOSTDOWN, unix.EHOSTUNREACH, unix.ENONET, unix.EOPNOTSUPP, unix.ETIMEDOUT:
		return true
	}
	return false
}

// take makes a stream from the result of accept.
func (l *listener) take(fd int, t stack.Token) (stack.Stream, error) {
	c := &stream{state: connected, remote: remote(&l.s.accepted), hangups: l.s.hangups}
	if no := l.s.watch(&c.socket, fd, t); no != 0 {
		_ = unix.Close(fd)
		return nil, exhausted(no)
	}
	return c, nil
}

// remote reads the address that accept stored.
func remote(sa *unix.RawSockaddrInet6) netip.AddrPort {
	if sa.Family == unix.AF_INET {
		sa4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa)) // the smaller of the two
		return netip.AddrPortFrom(netip.AddrFrom4(sa4.Addr), bigEndian(sa4.Port))
	}
	return addrPort6(sa.Addr, bigEndian(sa.Port), sa.Scope_id)
}

// bigEndian converts a number in network order.
func bigEndian(n uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], n)
	return binary.BigEndian.Uint16(b[:])
}

// Addr implements stack.Listener.
func (l *listener) Addr() netip.AddrPort { return l.addr }

// Close implements stack.Listener.
func (l *listener) Close() error {
	if l.fd >= 0 {
		l.s.forget(&l.socket)
	}
	return nil
}
