//go:build linux

package kernel

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// control is the ancillary data of a sent message: where the kernel cuts a group,
// and from which address of this machine packets are sent.
type control struct {
	size struct {
		header unix.Cmsghdr
		bytes  uint16
		_      [6]byte
	}
	from struct {
		header unix.Cmsghdr
		info   [unix.SizeofInet6Pktinfo]byte // an Inet4Pktinfo, which is shorter, for IPv4
		_      [4]byte
	}
}

func (c *control) init() {
	c.size.header.Level, c.size.header.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	c.size.header.SetLen(unix.CmsgLen(2))
}

// attach adds the ancillary data to a message: the size of each packet, unless 0,
// and the source address, if there is one.
func (c *control) attach(h *unix.Msghdr, segment int, from netip.Addr, family uint16) {
	h.Control, h.Controllen = nil, 0
	address := c.setFrom(from, family)
	switch {
	case segment > 0:
		c.size.bytes = uint16(segment)
		h.Control = (*byte)(unsafe.Pointer(&c.size))
		h.SetControllen(int(unsafe.Sizeof(c.size)) + address)
	case address > 0:
		h.Control = (*byte)(unsafe.Pointer(&c.from))
		h.SetControllen(address)
	}
}

// setFrom stores a source address in c.from and returns its length in bytes.
func (c *control) setFrom(from netip.Addr, family uint16) int {
	switch {
	case !from.IsValid():
		return 0
	case family == unix.AF_INET6:
		info := unix.Inet6Pktinfo{Addr: from.As16()}
		*(*unix.Inet6Pktinfo)(unsafe.Pointer(&c.from.info)) = info
		return c.fromIs(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, unix.SizeofInet6Pktinfo)
	case from.Unmap().Is4():
		info := unix.Inet4Pktinfo{Spec_dst: from.Unmap().As4()}
		*(*unix.Inet4Pktinfo)(unsafe.Pointer(&c.from.info)) = info
		return c.fromIs(unix.IPPROTO_IP, unix.IP_PKTINFO, unix.SizeofInet4Pktinfo)
	}
	return 0
}

func (c *control) fromIs(level, kind int32, bytes int) int {
	h := &c.from.header
	h.Level, h.Type = level, kind
	h.SetLen(unix.CmsgLen(bytes))
	return unix.CmsgSpace(bytes)
}

// said is the ancillary data of a received message.
type said struct {
	size int        // of each packet, if there are several; else of all bytes
	to   netip.Addr // the address of this machine, if it was reported
}

// read reads the control messages of received message i. Inconsistent ones give
// size 0.
func (in *incoming) read(i, bytes int) said {
	h := &in.messages[i].header
	if h.Flags&unix.MSG_CTRUNC != 0 || h.Controllen > controlBytes {
		return said{}
	}
	return saidIn(in.control[i][:h.Controllen], bytes)
}

// saidIn parses control messages from the kernel.
func saidIn(control []byte, bytes int) said {
	s := said{size: bytes}
	for len(control) >= unix.SizeofCmsghdr {
		var h unix.Cmsghdr
		*(*[unix.SizeofCmsghdr]byte)(unsafe.Pointer(&h)) = [unix.SizeofCmsghdr]byte(control)
		length := int(h.Len)
		if length < unix.SizeofCmsghdr || length > len(control) || !s.take(&h, control[unix.SizeofCmsghdr:length]) {
			return said{}
		}
		control = control[min(unix.CmsgSpace(length-unix.SizeofCmsghdr), len(control)):]
	}
	return s
}

// take parses one control message. It reports false if it is too short.
func (s *said) take(h *unix.Cmsghdr, data []byte) bool {
	switch {
	case h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO:
		if len(data) < 4 {
			return false
		}
		s.size = int(int32(binary.NativeEndian.Uint32(data)))
	case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_PKTINFO:
		if len(data) < unix.SizeofInet4Pktinfo {
			return false
		}
		// The second field (ipi_spec_dst) is an address of this machine even if
		// the packet was a broadcast.
		s.to = unicast(netip.AddrFrom4([4]byte(data[4:])))
	case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_PKTINFO:
		if len(data) < unix.SizeofInet6Pktinfo {
			return false
		}
		s.to = unicast(netip.AddrFrom16([16]byte(data)).Unmap())
	}
	return true
}

// unicast is an address from which packets may be sent, or none.
func unicast(a netip.Addr) netip.Addr {
	if a.IsMulticast() || a.IsUnspecified() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return netip.Addr{}
	}
	return a
}

// TellTo implements dgram.Homed.
func (s *socket) TellTo() error {
	if !s.addr.Addr().IsUnspecified() {
		return nil
	}
	level, option := unix.IPPROTO_IP, unix.IP_PKTINFO
	if s.family == unix.AF_INET6 {
		// For IPv4 packets as well.
		level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO
	}
	if err := unix.SetsockoptInt(s.fd, level, option, 1); err != nil {
		return err
	}
	s.tells = true
	return nil
}
