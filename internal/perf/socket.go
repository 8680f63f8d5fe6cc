package perf

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A bareSocket is one end of a TCP connection over loopback, for the bare limit of
// methods over sockets. It is not a net.Conn, because Go's poller would notice every
// arrival, at a cost that the limit must not include. No side sleeps; an idle side
// calls the kernel again and again.
type bareSocket struct {
	fd int
}

// errSocketEnd ends a wait for bytes that will not come any more.
var errSocketEnd = errors.New("perf: the process at the other end of the socket ended")

// listenBare listens at a free port of loopback.
func listenBare() (l bareSocket, port int, err error) {
	if l.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return l, 0, fmt.Errorf("perf: make a socket: %w", err)
	}
	at := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err = unix.Bind(l.fd, at); err == nil {
		err = unix.Listen(l.fd, 1)
	}
	var name unix.Sockaddr
	if err == nil {
		name, err = unix.Getsockname(l.fd)
	}
	if err != nil {
		l.close()
		return l, 0, fmt.Errorf("perf: listen on loopback: %w", err)
	}
	return l, name.(*unix.SockaddrInet4).Port, nil
}

// accept waits for the other side.
func (s bareSocket) accept() (bareSocket, error) {
	for {
		fd, _, err := unix.Accept4(s.fd, unix.SOCK_CLOEXEC)
		if err == nil {
			return bareSocket{fd}.withoutDelay()
		}
		if err != unix.EINTR {
			return bareSocket{}, fmt.Errorf("perf: accept on loopback: %w", err)
		}
	}
}

// dialBare connects to a port of loopback, which is too fast to be interrupted by a
// signal.
func dialBare(port int) (bareSocket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return bareSocket{}, fmt.Errorf("perf: make a socket: %w", err)
	}
	s := bareSocket{fd}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}); err != nil {
		s.close()
		return bareSocket{}, fmt.Errorf("perf: connect to port %d of loopback: %w", port, err)
	}
	return s.withoutDelay()
}

func (s bareSocket) withoutDelay() (bareSocket, error) {
	if err := unix.SetsockoptInt(s.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		s.close()
		return bareSocket{}, fmt.Errorf("perf: set TCP_NODELAY: %w", err)
	}
	return s, nil
}

func (s bareSocket) close() { _ = unix.Close(s.fd) }

// socketPieceMax is the largest number of bytes for one call. With pieces of this
// size the receiver copies out while the sender copies in, and finds the bytes in a
// cache: 1 MiB takes 93 µs, instead of 120 in one call or in pieces of 128 KiB, and
// 150 in pieces of 64 KiB.
const socketPieceMax = 256 << 10

// send returns when the kernel has all of b.
func (s bareSocket) send(b []byte) error {
	for len(b) > 0 {
		n, err := s.call(unix.SYS_SENDTO, b[:min(len(b), socketPieceMax)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// recv returns when all of b has arrived.
func (s bareSocket) recv(b []byte) error {
	for len(b) > 0 {
		n, err := s.call(unix.SYS_RECVFROM, b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// call moves as much as the kernel accepts or has, at least one byte. It is a raw
// system call, because a non-blocking call need not tell the scheduler.
func (s bareSocket) call(trap uintptr, b []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(trap, uintptr(s.fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch {
		case errno == 0 && n > 0:
			return int(n), nil
		case errno == 0, errno == unix.EPIPE, errno == unix.ECONNRESET:
			return 0, errSocketEnd
		case errno != unix.EAGAIN && errno != unix.EINTR:
			return 0, fmt.Errorf("perf: bare socket: %w", errno)
		}
	}
}
