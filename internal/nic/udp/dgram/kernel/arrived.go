//go:build linux

package kernel

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// coming describes a received message.
type coming struct {
	i     int
	buf   []byte // the received bytes, as far as there was room
	bytes int    // how many arrived
	size  int    // of each datagram; ≤ 0 if inconsistent
	from  uint32 // size of the sender's address
	to    netip.Addr
}

// arrived checks a received message, and stores it in a, whose Buf may be another
// one because earlier messages were dropped. It returns the number of arrivals, 0
// or 1.
func (s *socket) arrived(a *dgram.Arrival, c coming) int {
	from := s.d.zones.read(&s.d.in.names[c.i], c.from)
	switch {
	case c.bytes == 0:
		s.stats.Empty++
		return 0
	case c.bytes < 0 || c.size <= 0 || !from.IsValid():
		s.stats.Odd++
		return 0
	}
	size := min(c.size, c.bytes)
	came := (c.bytes + size - 1) / size
	whole, kept := came, c.bytes
	if room := min(len(c.buf), len(a.Buf)); c.bytes > room {
		whole = room / size
		kept = whole * size
		s.stats.Truncated += uint64(came - whole)
		if whole == 0 {
			return 0
		}
	}
	if unsafe.SliceData(a.Buf) != unsafe.SliceData(c.buf) {
		copy(a.Buf, c.buf[:kept])
	}
	a.From, a.To, a.Len, a.Size = from, c.to, kept, size
	s.stats.Received += uint64(whole)
	s.stats.ReceivedBytes += uint64(kept)
	if whole > 1 {
		s.stats.ReceivedGrouped += uint64(whole)
	}
	return 1
}

// join allows the kernel to return several packets in one call (GRO). It is
// called when several large packets were there at once: a socket to which they come
// one by one, or only small ones, uses recvfrom, which costs less than recvmsg but
// does not tell where packets end.
func (s *socket) join() {
	s.canJoin = false
	s.joins = unix.SetsockoptInt(s.fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1) == nil
}
