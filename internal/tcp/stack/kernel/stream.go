//go:build linux

package kernel

import (
	"io"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// state is the state of a stream:
//
//	connecting ──► connected
//	     └───────► failed
type state uint8

const (
	connecting state = iota
	connected
	failed // why is the reason
)

// place is the location of the other side.
type place uint8

const (
	unknown place = iota
	near          // on this host
	far
)

type stream struct {
	socket
	remote  netip.AddrPort
	why     error
	hangups uint64 // Stack.hangups when Recv last found nothing
	state   state
	where   place
}

// fail keeps the reason why connecting failed.
func (c *stream) fail(why error) error {
	c.state, c.why = failed, why
	return why
}

// broken returns the error of a failed operation.
func (c *stream) broken(no syscall.Errno) error {
	if no == unix.EAGAIN {
		return stack.ErrAgain
	}
	if c.state == failed {
		return c.why
	}
	err := broken(no)
	if c.state == connecting && c.fd >= 0 {
		return c.fail(err) // the kernel does not report it to Connected again
	}
	return err
}

// Recv implements stack.Stream.
//
// If Recv got fewer bytes than it had room for, the socket was empty for a moment, and later
// arrivals make a new edge. But the end of the stream may have been there behind those bytes,
// with its edge in the past. Such an edge has EPOLLRDHUP. So Recv tries again only if any stream
// had such an edge since this stream was last found empty.
func (c *stream) Recv(bufs [][]byte) (int, error) {
	n, room, no := c.recv(bufs)
	switch {
	case no != 0:
		if no == unix.EAGAIN {
			c.hangups = c.s.hangups
		}
		return 0, c.broken(no)
	case n == room:
		return n, nil
	case n == 0:
		return 0, io.EOF
	case c.hangups == c.s.hangups:
		return n, stack.ErrAgain
	}
	return n, nil // the next Recv returns the reason
}

// LowWater implements stack.Patient. The kernel checks at once whether the mark is reached,
// limits it to half of the receive buffer, and enlarges the buffer if it may.
func (c *stream) LowWater(n int) {
	if c.fd >= 0 {
		_ = unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, n) // on failure it only wakes too often
	}
}

// recv is one system call.
func (c *stream) recv(bufs [][]byte) (n, room int, no syscall.Errno) {
	one, count, room := c.s.gather(bufs)
	for {
		switch count {
		case 0:
			return 0, 0, 0
		case 1:
			n, no = recvFrom(c.fd, one)
		default:
			n, no = message(unix.SYS_RECVMSG, c.fd, c.s.message(count), room, 0)
		}
		if no != unix.EINTR {
			break
		}
	}
	c.s.release(count)
	return n, room, no
}

// Send implements stack.Stream.
func (c *stream) Send(bufs [][]byte) (int, error) {
	n, total, no := c.send(bufs, 0)
	switch {
	case no != 0:
		return 0, c.broken(no)
	case n < total:
		return n, stack.ErrAgain
	}
	return n, nil
}

// send is one system call; flags are those of sendmsg(2) besides MSG_NOSIGNAL.
func (c *stream) send(bufs [][]byte, flags int) (n, total int, no syscall.Errno) {
	one, count, total := c.s.gather(bufs)
	for {
		switch count {
		case 0:
			return 0, 0, 0
		case 1:
			n, no = sendTo(c.fd, one, flags|unix.MSG_NOSIGNAL)
		default:
			n, no = message(unix.SYS_SENDMSG, c.fd, c.s.message(count), total, flags|unix.MSG_NOSIGNAL)
		}
		if no != unix.EINTR {
			break
		}
	}
	c.s.release(count)
	return n, total, no
}

// gather lists the non-empty pieces for the kernel, and returns their number and total size. A
// single piece is returned as it is.
func (s *Stack) gather(bufs [][]byte) (one []byte, count, total int) {
	if len(bufs) == 1 {
		if one = bufs[0]; len(one) > 0 {
			count = 1
		}
		return one, count, len(one)
	}
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		if count == len(s.pieces) {
			break
		}
		one = b
		s.pieces[count].Base = &b[0]
		s.pieces[count].SetLen(len(b))
		count++
		total += len(b)
	}
	return one, count, total
}

// message is the header for the gathered pieces.
func (s *Stack) message(count int) *unix.Msghdr {
	s.header.Iov = &s.pieces[0]
	s.header.SetIovlen(count)
	return &s.header
}

// release drops the references to the gathered pieces, whose memory is the caller's.
func (s *Stack) release(count int) {
	if count > 1 {
		clear(s.pieces[:count])
		return
	}
	s.pieces[0].Base = nil
}

// Finish implements stack.Stream.
func (c *stream) Finish() error {
	if err := unix.Shutdown(c.fd, unix.SHUT_WR); err != nil {
		return c.broken(err.(syscall.Errno))
	}
	return nil
}

// Delivered implements stack.Stream. It includes the end that Finish sends.
func (c *stream) Delivered() bool {
	n, err := unix.IoctlGetInt(c.fd, unix.SIOCOUTQ)
	return err == nil && n == 0
}

// Remote implements stack.Stream.
func (c *stream) Remote() netip.AddrPort { return c.remote }

// Close implements stack.Stream.
func (c *stream) Close() {
	if c.fd >= 0 {
		c.s.forget(&c.socket)
	}
}
