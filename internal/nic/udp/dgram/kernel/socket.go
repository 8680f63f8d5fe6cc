//go:build linux

package kernel

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

type socket struct {
	d          *Device
	fd         int // -1 once closed
	family     uint16
	addr       netip.AddrPort
	prev, next *socket
	stats      dgram.Stats
	paths      paths

	full     bool // Send returned ErrAgain: the epoll instance reports when there is room
	canGroup bool // GSO works, as far as known
	canJoin  bool // GRO can be switched on
	joins    bool // GRO is on
	tells    bool // the kernel reports the destination address of received packets
	streak   int  // calls of Recv in a row that found something, up to streakMany
	drops    uint32

	watched bool   // it is in the epoll instance
	arms    uint32 // watch.arms when polls was 0
	polls   uint32 // arrivals since
}

// Addr implements dgram.Socket.
func (s *socket) Addr() netip.AddrPort { return s.addr }

// Stats implements dgram.Socket.
func (s *socket) Stats() dgram.Stats {
	if s.fd >= 0 {
		// The kernel's counter wraps.
		now := drops(s.fd, s.drops)
		s.stats.Overflowed += uint64(now - s.drops)
		s.drops = now
	}
	return s.stats
}

// Close implements dgram.Socket. The socket's events end even if a child process
// still has the descriptor between its fork and its exec.
func (s *socket) Close() error {
	if s.fd < 0 {
		return nil
	}
	s.Stats()
	s.beForgotten()
	s.d.watch.idle--
	err := unix.Close(s.fd)
	s.fd = -1
	if s.next != nil {
		s.next.prev = s.prev
	}
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		s.d.first = s.next
	}
	s.prev, s.next, s.paths = nil, nil, paths{}
	return err
}
