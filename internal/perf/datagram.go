package perf

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How large messages are sent over bare UDP. The kernel silently drops packets for
// which the receiver's buffer has no room. So the sender stops after a window of
// pieces, and the receiver acknowledges pieces with a datagram of one byte.
const (
	// udpPieceMax is the largest payload of one datagram, in bytes: the limit of
	// IPv4, unfragmented, since the MTU of loopback is 64 KiB. A group of smaller
	// datagrams (GSO) could not be longer. 1 MiB takes 87 µs in these pieces, 145 µs
	// in pieces of 32 KiB, 245 µs in pieces of 16 KiB.
	udpPieceMax = 65507
	// udpWindow is the largest number of pieces under way, and udpAckEvery the
	// number of pieces per acknowledgement.
	udpWindow, udpAckEvery = 4, 2
	// udpRoomMin is the size of receive buffer that the kernel must provide, in
	// bytes as the kernel counts: with its overhead, and a quarter that is freed
	// late.
	udpRoomMin = udpWindow * (96 << 10)
	// udpRoomAsked is more than the default of any kernel.
	udpRoomAsked = 1 << 20
	// udpSilence is the silence after which a packet counts as lost.
	udpSilence = 5 * time.Second
	// udpLookEvery is the number of empty calls between two checks of the clock.
	udpLookEvery = 1 << 16
)

var errDatagramLost = errors.New("perf: bare UDP: a datagram did not arrive over loopback")

// A bareUDP is one end of two connected UDP sockets over loopback, for the bare
// limit of methods over datagrams. As with bareSocket no side sleeps, and Go's
// poller does not know the socket.
type bareUDP struct {
	fd   int
	port int
	// gone: the process at the other end has ended.
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

// prepare binds the socket and sets its buffer size.
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

// udpPieces returns the number of datagrams of a message and their length; the last
// one may be shorter.
func udpPieces(size int) (n, each int) {
	n = max(1, (size+udpPieceMax-1)/udpPieceMax)
	return n, (size + n - 1) / n
}

// send returns when the kernel has all of b, and all acknowledgements were received
// that are needed.
func (u *bareUDP) send(b []byte) error {
	var ack [1]byte
	pieces, each := udpPieces(len(b))
	heard := 0 // pieces acknowledged
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

// recv returns when all of b has arrived. The last pieces are not acknowledged,
// because the answer does that.
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

// call moves one datagram, as soon as the kernel accepts or has it. It is a raw
// system call, because a non-blocking call need not tell the scheduler.
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
