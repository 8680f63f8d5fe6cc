//go:build linux

package kernel

import (
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// Probes have their own socket, because a socket with IP_RECVERR returns errors
// from whatever call comes next, even from a Send to another destination.

var _ dgram.Prober = (*Device)(nil)

// Probe implements dgram.Prober.
func (d *Device) Probe(from netip.Addr, to netip.AddrPort, packet []byte) {
	if d.probe == nil && !d.openProbe(from) {
		return
	}
	d.probe.sendOne(&dgram.Packet{To: to, Pieces: [][]byte{packet}})
}

// EndProbes implements dgram.Prober.
func (d *Device) EndProbes() {
	if d.probe != nil {
		_ = d.probe.Close()
		d.probe = nil
	}
}

func (d *Device) openProbe(from netip.Addr) bool {
	opened, err := d.Open(netip.AddrPortFrom(from, 0))
	if err != nil {
		return false
	}
	s := opened.(*socket)
	if s.hearErrors(from.IsUnspecified()) != nil {
		_ = s.Close()
		return false
	}
	d.probe = s
	return true
}

// hearErrors makes a socket receive nothing except errors.
func (s *socket) hearErrors(everywhere bool) error {
	nothing := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K} // keep 0 bytes of a packet
	if err := unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing}); err != nil {
		return err
	}
	if s.family == unix.AF_INET6 {
		if err := unix.SetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1); err != nil {
			return err
		}
	}
	if s.family == unix.AF_INET || everywhere {
		return unix.SetsockoptInt(s.fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1)
	}
	return nil
}

// errorControlBytes is room for the kernel's description of an error.
const errorControlBytes = 256

// Absent implements dgram.Prober.
func (d *Device) Absent(quote []byte) (to netip.AddrPort, n int, ok bool) {
	if d.probe == nil {
		return netip.AddrPort{}, 0, false
	}
	var control [errorControlBytes]byte
	for range vainMax {
		n, size, _, from, err := unix.Recvmsg(d.probe.fd, quote, control[:], unix.MSG_ERRQUEUE)
		switch {
		case err == unix.EINTR:
		case err != nil:
			// Clear an error that had no room in the queue, because it would end
			// every Sleep.
			_, _ = unix.GetsockoptInt(d.probe.fd, unix.SOL_SOCKET, unix.SO_ERROR)
			return netip.AddrPort{}, 0, false
		case portUnreachable(control[:size]):
			return addrOf(from), n, true
		}
	}
	return netip.AddrPort{}, 0, false
}

// portUnreachable reports whether control messages describe an ICMP port
// unreachable message.
func portUnreachable(control []byte) bool {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return false
	}
	for _, m := range messages {
		v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
		v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		var e unix.SockExtendedErr
		if !v4 && !v6 || len(m.Data) < int(unsafe.Sizeof(e)) {
			continue
		}
		*(*[unsafe.Sizeof(e)]byte)(unsafe.Pointer(&e)) = [unsafe.Sizeof(e)]byte(m.Data)
		icmp := e.Origin == unix.SO_EE_ORIGIN_ICMP || e.Origin == unix.SO_EE_ORIGIN_ICMP6
		if icmp && e.Errno == uint32(unix.ECONNREFUSED) {
			return true
		}
	}
	return false
}

// addrOf is the destination of a packet.
func addrOf(to unix.Sockaddr) netip.AddrPort {
	switch a := to.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(a.Addr).Unmap()
		if a.ZoneId != 0 && ip.Is6() {
			ip = ip.WithZone(strconv.FormatUint(uint64(a.ZoneId), 10))
		}
		return netip.AddrPortFrom(ip, uint16(a.Port))
	}
	return netip.AddrPort{}
}
