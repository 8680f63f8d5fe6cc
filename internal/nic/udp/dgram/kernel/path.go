//go:build linux

package kernel

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// pathsMax is how many results a socket caches.
const pathsMax = 4096

// Bytes of the headers before the payload.
const (
	headers4 = 20 + 8
	headers6 = 40 + 8
)

// paths caches the kernel's path MTUs, for dgram.PathMTUAge.
type paths struct {
	known map[netip.Addr]path
}

type path struct {
	payload int
	asked   time.Time
}

func (p *paths) forget(to netip.AddrPort) { delete(p.known, to.Addr().Unmap()) }

// find returns the cached value, or 0.
func (p *paths) find(to netip.Addr, now time.Time) int {
	if known, ok := p.known[to]; ok && now.Sub(known.asked) < dgram.PathMTUAge {
		return known.payload
	}
	return 0
}

// keep caches a result. If there are too many, it removes the old ones, or all if
// none is old.
func (p *paths) keep(to netip.Addr, answer path) {
	if p.known == nil {
		p.known = make(map[netip.Addr]path)
	}
	if len(p.known) >= pathsMax {
		for other, known := range p.known {
			if answer.asked.Sub(known.asked) >= dgram.PathMTUAge {
				delete(p.known, other)
			}
		}
		if len(p.known) >= pathsMax {
			clear(p.known)
		}
	}
	p.known[to] = answer
}

// PathMTU implements dgram.Socket.
func (s *socket) PathMTU(to netip.AddrPort) int {
	if s.fd < 0 {
		return dgram.PayloadMin
	}
	ip := to.Addr().Unmap()
	now := time.Now()
	if known := s.paths.find(ip, now); known > 0 {
		return known
	}
	answer := min(max(s.ask(netip.AddrPortFrom(ip, max(to.Port(), 1))), dgram.PayloadMin), dgram.PayloadMax)
	s.paths.keep(ip, path{payload: answer, asked: now})
	return answer
}

// ask asks the kernel with a temporary socket. It returns 0 if there is no path.
func (s *socket) ask(to netip.AddrPort) int {
	family, level, option, headers := unix.AF_INET, unix.IPPROTO_IP, unix.IP_MTU, headers4
	if to.Addr().Is6() {
		family, level, option, headers = unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_MTU, headers6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var n name
	if size := s.d.zones.write(&n, netip.AddrPortFrom(s.addr.Addr(), 0), uint16(family)); size > 0 {
		// The route may depend on the source address. If the address families
		// differ, bind fails and the route does not depend on it.
		_ = bind(fd, &n, size)
	}
	size := s.d.zones.write(&n, to, uint16(family))
	if size == 0 || connect(fd, &n, size) != 0 {
		return 0
	}
	mtu, err := unix.GetsockoptInt(fd, level, option)
	if err != nil {
		return 0
	}
	return mtu - headers
}
