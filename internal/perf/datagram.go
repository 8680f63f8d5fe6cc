package perf

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How large messages go over bare UDP. What the receiver's buffer cannot hold the
// kernel drops without a word, so the sender stops when so many pieces are on their
// way, and the receiver says that there is room again by a datagram of one byte.
const (
	// udpPieceMax is the payload of one datagram at most, in bytes: what IPv4
	// lets through, whole, since the MTU of loopback is 64 KiB. A group of smaller
	// ones (GSO) could not be longer. 1 MiB takes 87 µs in these pieces, 145 µs in
	// those of 32 KiB, 245 µs in those of 16 KiB.
	udpPieceMax = 65507
	// udpWindow is how many pieces are on their way at most, and udpAckEvery how
	// many an acknowledgement is for.
	udpWindow, udpAckEvery = 4, 2
	// udpRoomMin is what the kernel must give a receive buffer, in bytes, as it
	// counts: with its overhead, and a quarter of it late to be free again.
	udpRoomMin = udpWindow * (96 << 10)
	// udpRoomAsked is more than any kernel gives by default.
	udpRoomAsked = 1 << 20
	// udpSilence is how long nothing may arrive before something counts as lost.
	udpSilence = 5 * time.Second
	// udpLookEvery is how many empty calls come between two looks at the clock.
	udpLookEvery = 1 << 16
)

var errDatagramLost = errors.New("perf: bare UDP: a datagram did not arrive over loopback")

// A bareUDP is one end of two connected UDP sockets over loopback, for the bare
// limit of methods over datagrams. As with bareSocket nobody sleeps, and Go's poller
// knows nothing of it.
type bareUDP struct {
	fd   int
	port int
	// gone: the process at the other end does not live any more.
	gone *atomic.Bool
}

// openBareUDP makes an end, at a free port of loopback.
func openBareUDP(gone *atomic.Bool) (bareUDP, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return bareUDP{}, fmt.Errorf("perf: make a socket: %w", err)
	}
	u := bareUDP{fd: fd, gone: gone}
	if err := u.prepare(); err != nil {
		u.close()
		return bareUDP{}, err
	}
	return u, nil
}

// prepare gives the socket its port and its buffer.
func (u *bareUDP) prepare() error {
	if err := unix.Bind(u.fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return fmt.Errorf("perf: bind to loopback: %w", err)
	}
	name, err := unix.Getsockname(u.fd)
	if err != nil {
		return fmt.Errorf("perf: bind to loopback: %w", err)
	}
	u.port = name.(*unix.SockaddrInet4).Port
	if err := unix.SetsockoptInt(u.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, udpRoomAsked); err != nil {
		return fmt.Errorf("perf: set SO_RCVBUF: %w", err)
	}
	room, err := unix.GetsockoptInt(u.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return fmt.Errorf("perf: read SO_RCVBUF: %w", err)
	}
	if room < udpRoomMin {
		return fmt.Errorf("perf: the kernel gives a UDP socket a receive buffer of %d B, %d are needed: raise net.core.rmem_max to %d", room, udpRoomMin, udpRoomMin/2)
	}
	return nil
}

// connect joins this end with the one at the port.
func (u *bareUDP) connect(port int) error {
	if err := unix.Connect(u.fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}); err != nil {
		return fmt.Errorf("perf: connect to port %d of loopback: %w", port, err)
	}
	return nil
}

func (u *bareUDP) close() { _ = unix.Close(u.fd) }

// udpPieces is in how many datagrams a message goes, all as long as the first, but
// perhaps the last.
func udpPieces(size int) (n, each int) {
	n = max(1, (size+udpPieceMax-1)/udpPieceMax)
	return n, (size + n - 1) / n
}

// send returns when the kernel has all of b, and when all that the other side says
// meanwhile was heard.
func (u *bareUDP) send(b []byte) error {
	var ack [1]byte
	pieces, each := udpPieces(len(b))
	heard := 0 // pieces that are acknowledged
	for i := range pieces {
		if i-heard >= udpWindow {
			if err := u.recvOne(ack[:]); err != nil {
				return err
			}
			heard += udpAckEvery
		}
		if err := u.call(unix.SYS_SENDTO, b[i*each:min((i+1)*each, len(b))]); err != nil {
			return err
		}
	}
	for ; heard+udpAckEvery < pieces; heard += udpAckEvery {
		if err := u.recvOne(ack[:]); err != nil {
			return err
		}
	}
	return nil
}

// recv returns when all of b has arrived. The last pieces are not acknowledged: the
// answer does that.
func (u *bareUDP) recv(b []byte) error {
	var ack [1]byte
	pieces, each := udpPieces(len(b))
	for i := range pieces {
		if err := u.recvOne(b[i*each : min((i+1)*each, len(b))]); err != nil {
			return err
		}
		if (i+1)%udpAckEvery != 0 || i+1 >= pieces {
			continue
		}
		if err := u.call(unix.SYS_SENDTO, ack[:]); err != nil {
			return err
		}
	}
	return nil
}

// recvOne receives a datagram of exactly this length.
func (u *bareUDP) recvOne(b []byte) error { return u.call(unix.SYS_RECVFROM, b) }

// call moves one datagram, as soon as the kernel takes or has it. It is a raw system
// call: one that does not block need not tell the scheduler.
func (u *bareUDP) call(trap uintptr, b []byte) error {
	var since time.Time
	for tries := 1; ; tries++ {
		n, _, errno := unix.RawSyscall6(trap, uintptr(u.fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == 0 && int(n) == len(b):
			return nil
		case errno == 0:
			return fmt.Errorf("perf: bare UDP: a datagram of %d B where one of %d was due", n, len(b))
		case errno == unix.ECONNREFUSED:
			return errSocketEnd
		case errno != unix.EAGAIN && errno != unix.EINTR && errno != unix.ENOBUFS:
			return fmt.Errorf("perf: bare UDP: %w", errno)
		}
		if tries%udpLookEvery != 0 {
			continue
		}
		if u.gone.Load() {
			return errSocketEnd
		}
		if since.IsZero() {
			since = time.Now()
		} else if time.Since(since) > udpSilence {
			return errDatagramLost
		}
	}
}
