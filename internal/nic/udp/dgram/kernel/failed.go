//go:build linux

package kernel

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// failed counts a packet that the kernel did not send, for a reason that concerns
// this packet: its size, its destination, a firewall, or a pending error of the
// socket. The next packet may succeed.
func (s *socket) failed(p *dgram.Packet, no syscall.Errno) {
	if no == unix.EMSGSIZE {
		p.TooBig = true
		s.stats.TooBig++
		s.paths.forget(p.To)
		return
	}
	s.stats.Unsent++
	s.d.zones.name = "" // the network interface may have got another number
}

// separate sends the packets of a failed group one by one. If that succeeds
// although the kernel rejected the group, grouping itself does not work here. EIO
// means that the link computes no checksums, or that the route encrypts. EINVAL
// means that the kernel has another limit, or no GSO at all, or that the source
// address is gone.
func (s *socket) separate(group []dgram.Packet, why syscall.Errno) (taken int, full bool) {
	before := s.stats.Sent
	for i := range group {
		n, full := s.sendOne(&group[i])
		if taken += n; full {
			return taken, true
		}
	}
	wasGrouping := why == unix.EIO || why == unix.EINVAL || why == unix.EOPNOTSUPP || why == unix.ENOPROTOOPT
	if wasGrouping && !group[0].From.IsValid() && s.stats.Sent-before == uint64(len(group)) {
		s.canGroup = false
	}
	return taken, false
}
