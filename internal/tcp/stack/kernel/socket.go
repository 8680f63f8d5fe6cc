//go:build linux

package kernel

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/netpoll"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// socket is a descriptor that the stack watches.
type socket struct {
	s          *Stack
	fd         int // -1 once closed
	prev, next *socket
}

// list holds the open sockets, so that Stack.Close can close them.
type list struct{ first *socket }

// edges are the events requested for a stream or a listener. Hang-ups and errors
// are always reported.
const edges = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

// watch takes over a descriptor; its events carry t.
func (s *Stack) watch(k *socket, fd int, t stack.Token) syscall.Errno {
	ev := unix.EpollEvent{Events: edges}
	setToken(&ev, t)
	if no := netpoll.Control(s.epfd, unix.EPOLL_CTL_ADD, fd, &ev); no != 0 {
		return no
	}
	k.s, k.fd, k.next = s, fd, s.open.first
	if k.next != nil {
		k.next.prev = k
	}
	s.open.first = k
	return 0
}

// forget closes a socket. Its events end even if a child process still has the
// descriptor between its fork and its exec.
func (s *Stack) forget(k *socket) {
	if k.fd < 0 {
		return
	}
	netpoll.Control(s.epfd, unix.EPOLL_CTL_DEL, k.fd, &unix.EpollEvent{})
	_ = unix.Close(k.fd)
	k.fd = -1
	if k.next != nil {
		k.next.prev = k.prev
	}
	if k.prev != nil {
		k.prev.next = k.next
	} else {
		s.open.first = k.next
	}
	k.prev, k.next = nil, nil
}

// openSocket makes a socket for an address, with the stack's options. Connections
// that a listener accepts inherit them.
func (s *Stack) openSocket(at netip.AddrPort) (int, error) {
	family := unix.AF_INET
	if at.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, err
	}
	if err := s.setOptions(fd); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (s *Stack) setOptions(fd int) error {
	o := &s.options
	var first error
	set := func(level, name, value int) {
		if err := unix.SetsockoptInt(fd, level, name, value); err != nil && first == nil {
			first = err
		}
	}
	set(unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	set(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	set(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, in(o.KeepIdle, time.Second))
	set(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, in(o.KeepInterval, time.Second))
	set(unix.IPPROTO_TCP, unix.TCP_KEEPCNT, o.KeepCount)
	set(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, in(o.UserTimeout, time.Millisecond))
	if o.SendBuffer > 0 {
		set(unix.SOL_SOCKET, unix.SO_SNDBUF, o.SendBuffer)
	}
	if o.RecvBuffer > 0 {
		set(unix.SOL_SOCKET, unix.SO_RCVBUF, o.RecvBuffer)
	}
	return first
}

var errBadAddress = errors.New("kernel: not an IP address with a port")

// sockaddr is an address in the kernel's form. An IPv4-mapped IPv6 address
// becomes plain IPv4.
func sockaddr(at netip.AddrPort) (netip.AddrPort, unix.Sockaddr, error) {
	if !at.IsValid() {
		return at, nil, errBadAddress
	}
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	if at.Addr().Is4() {
		return at, &unix.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())}, nil
	}
	zone, err := zoneIndex(at.Addr().Zone())
	return at, &unix.SockaddrInet6{Addr: at.Addr().As16(), Port: int(at.Port()), ZoneId: zone}, err
}

// zoneIndex is the number of a network interface given by name or number.
func zoneIndex(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, err
	}
	return uint32(i.Index), nil
}

// addrPort converts an address from the kernel's form.
func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return addrPort6(sa.Addr, uint16(sa.Port), sa.ZoneId)
	}
	return netip.AddrPort{}
}

func addrPort6(ip [16]byte, port uint16, zone uint32) netip.AddrPort {
	a := netip.AddrFrom16(ip).Unmap()
	if zone != 0 && a.Is6() {
		a = a.WithZone(strconv.FormatUint(uint64(zone), 10))
	}
	return netip.AddrPortFrom(a, port)
}
