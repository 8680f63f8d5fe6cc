//go:build linux

package kernel

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// name is an address in the kernel's form. If the family says so it is a
// RawSockaddrInet4, which is the smaller of the two.
type name = unix.RawSockaddrInet6

func inet4(n *name) *unix.RawSockaddrInet4 { return (*unix.RawSockaddrInet4)(unsafe.Pointer(n)) }

// zones remembers the network interface of the last link-local address, in each
// direction, because looking it up or formatting it allocates.
type zones struct {
	name  string // of the last destination,
	index uint32 // and its number

	from     uint32 // of the last sender,
	fromName string // and its name
}

// write stores an address for a socket of a family. It returns its size, or 0 if
// the socket cannot reach it.
func (z *zones) write(n *name, to netip.AddrPort, family uint16) uint32 {
	ip := to.Addr()
	if !ip.IsValid() {
		return 0
	}
	if family == unix.AF_INET {
		if ip = ip.Unmap(); !ip.Is4() {
			return 0
		}
		*inet4(n) = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: bigEndian(to.Port()), Addr: ip.As4()}
		return unix.SizeofSockaddrInet4
	}
	scope, err := z.number(ip.Zone())
	if err != nil {
		return 0
	}
	*n = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: bigEndian(to.Port()), Addr: ip.As16(), Scope_id: scope}
	return unix.SizeofSockaddrInet6
}

// number is the index of a network interface given by name or number.
func (z *zones) number(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if zone == z.name {
		return z.index, nil
	}
	index, err := strconv.ParseUint(zone, 10, 32)
	if err != nil {
		i, err := net.InterfaceByName(zone)
		if err != nil {
			return 0, err
		}
		index = uint64(i.Index)
	}
	z.name, z.index = zone, uint32(index)
	return z.index, nil
}

// read returns the address that the kernel stored in size bytes. It is not valid if
// they do not hold one.
func (z *zones) read(n *name, size uint32) netip.AddrPort {
	switch {
	case n.Family == unix.AF_INET && size >= unix.SizeofSockaddrInet4:
		n4 := inet4(n)
		return netip.AddrPortFrom(netip.AddrFrom4(n4.Addr), bigEndian(n4.Port))
	case n.Family == unix.AF_INET6 && size >= unix.SizeofSockaddrInet6:
		ip := netip.AddrFrom16(n.Addr).Unmap()
		if n.Scope_id != 0 && ip.Is6() {
			if n.Scope_id != z.from {
				z.from, z.fromName = n.Scope_id, strconv.FormatUint(uint64(n.Scope_id), 10)
			}
			ip = ip.WithZone(z.fromName)
		}
		return netip.AddrPortFrom(ip, bigEndian(n.Port))
	}
	return netip.AddrPort{}
}

// bigEndian turns a number into network order, or back.
func bigEndian(n uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], n)
	return binary.BigEndian.Uint16(b[:])
}
