//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// Open implements dgram.Device.
func (d *Device) Open(at netip.AddrPort) (dgram.Socket, error) {
	if d.watch.epfd < 0 {
		return nil, fmt.Errorf("kernel: open %v: %w", at, dgram.ErrClosed)
	}
	s := &socket{d: d, family: unix.AF_INET, fd: -1}
	if at.Addr().Unmap().Is6() {
		s.family = unix.AF_INET6
	}
	err := s.bind(at)
	if err == nil {
		err = s.enter()
	}
	if err != nil {
		if s.fd >= 0 {
			_ = unix.Close(s.fd)
		}
		if at.Port() == 0 && errors.Is(err, unix.EADDRINUSE) {
			return nil, fmt.Errorf("open %v: kernel: %w", at, dgram.ErrExhausted) // of ports
		}
		return nil, fmt.Errorf("open %v: %w", at, openError(err))
	}
	return s, nil
}

// bind makes and binds the descriptor.
func (s *socket) bind(at netip.AddrPort) (err error) {
	var local name
	size := s.d.zones.write(&local, at, s.family)
	if size == 0 {
		return errBadAddress
	}
	s.fd, err = unix.Socket(int(s.family), unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		s.fd = -1
		return err
	}
	if err := s.setOptions(at.Addr().IsUnspecified()); err != nil {
		return err
	}
	if no := bind(s.fd, &local, size); no != 0 {
		return no
	}
	if size, no := sockName(s.fd, &local); no != 0 {
		return no
	} else if s.addr = s.d.zones.read(&local, size); !s.addr.IsValid() {
		return errBadAddress
	}
	s.canGroup = !s.d.options.NoGSO && knows(s.fd, unix.UDP_SEGMENT)
	s.canJoin = !s.d.options.NoGRO && knows(s.fd, unix.UDP_GRO)
	return nil
}

// setOptions sets the options of a socket: no fragmentation, large buffers, and
// IPv4 too at [::].
//
// The kernel checks packets only against the link's MTU, not against what it has
// learnt of the path (PROBE, not DO). Otherwise any host that forges an ICMP
// message could prevent packets of PayloadMin bytes. PathMTU returns what was
// learnt.
func (s *socket) setOptions(everywhere bool) error {
	var first error
	set := func(level, option, value int) {
		if err := unix.SetsockoptInt(s.fd, level, option, value); err != nil && first == nil {
			first = err
		}
	}
	if s.family == unix.AF_INET6 {
		only := 1
		if everywhere {
			only = 0
		}
		set(unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, only)
		set(unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE)
	}
	if s.family == unix.AF_INET || everywhere {
		set(unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
	}
	o := &s.d.options
	if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, o.SendBuffer) != nil {
		set(unix.SOL_SOCKET, unix.SO_SNDBUF, o.SendBuffer)
	}
	if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, o.RecvBuffer) != nil {
		set(unix.SOL_SOCKET, unix.SO_RCVBUF, o.RecvBuffer)
	}
	return first
}

// knows reports whether the kernel has an option of UDP sockets. A kernel without
// it would ignore the control message of the same number, and send a group as one
// large packet.
func knows(fd, option int) bool {
	_, err := unix.GetsockoptInt(fd, unix.IPPROTO_UDP, option)
	return err == nil
}

// enter adds the socket to those of the device. Another goroutine may be sleeping
// on the device.
func (s *socket) enter() error {
	s.d.watch.idle++
	if s.d.watch.armed {
		if no := s.beWatched(); no != 0 {
			s.d.watch.idle--
			return no
		}
	}
	s.next = s.d.first
	if s.next != nil {
		s.next.prev = s
	}
	s.d.first = s
	return nil
}
