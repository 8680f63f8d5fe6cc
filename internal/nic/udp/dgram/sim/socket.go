package simdgram

import (
	"net/netip"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// A Socket sends and receives at one address.
type Socket struct {
	d      *Device
	n      *Network
	at     netip.AddrPort
	closed bool
	stats  dgram.Stats

	leaving int           // bytes of the send buffer in use
	full    time.Duration // injected fault: no room before then
	wants   bool          // Send returned ErrAgain

	inbox []Datagram // arrived
	held  []Datagram // arrived, but held back by the card
	bytes int        // bytes of the receive buffer in use
}

// Addr is the address of the socket.
func (s *Socket) Addr() netip.AddrPort { return s.at }

// Send sends datagrams.
func (s *Socket) Send(batch []dgram.Packet) (taken int, err error) {
	s.n.enter()
	defer s.n.leave()
	if s.closed {
		return 0, dgram.ErrClosed
	}
	s.wants = false
	if len(batch) > 0 {
		s.stats.SendCalls++
	}
	for i := range batch {
		s.stall()
		if !s.room() {
			s.wants = true
			s.stats.Full++
			return i, dgram.ErrAgain
		}
		s.take(&batch[i])
	}
	return len(batch), nil
}

// room reports whether another packet may be taken.
func (s *Socket) room() bool {
	return s.n.sim.Now() >= s.full && s.leaving < s.n.opts.SendBytesMax
}

// stall may make the socket full for a while.
func (s *Socket) stall() {
	if s.n.sim.Now() < s.full || !s.n.sim.Chance(s.n.opts.Full) {
		return
	}
	s.full = s.n.sim.Now() + s.n.sim.Between(1, s.n.opts.FullMax)
	s.n.sim.At(s.full, s.news)
}

// take sends a packet or drops it.
func (s *Socket) take(p *dgram.Packet) {
	h := s.d.host
	p.TooBig = false
	size := 0
	for _, piece := range p.Pieces {
		size += len(piece)
	}
	to := netip.AddrPortFrom(p.To.Addr().Unmap(), p.To.Port())
	from, ok := netip.Addr{}, false
	if to.Addr().IsValid() && !to.Addr().IsUnspecified() && to.Port() != 0 {
		from, ok = h.source(s.at.Addr(), to.Addr())
	}
	if !ok || size == 0 || len(p.Pieces) > dgram.PiecesMax {
		s.stats.Unsent++
		return
	}
	way := s.n.way(h, to.Addr())
	if most := s.n.believed(way); size > most {
		p.TooBig = true
		s.stats.TooBig++
		return
	}
	d := Datagram{From: netip.AddrPortFrom(from, s.at.Port()), To: to, Payload: slices.Concat(p.Pieces...)}
	s.stats.Sent++
	s.stats.SentBytes += uint64(size)
	s.n.stats.Sent++
	s.leave(way, d)
}

// leave passes a datagram through the host's card, which frees its bytes.
func (s *Socket) leave(way *path, d Datagram) {
	n := s.n
	if n.filter != nil && !n.filter(d) {
		n.stats.Filtered++
		return
	}
	need := len(d.Payload) + n.opts.PerPacketBytes
	s.leaving += need
	if !n.pass(s.d.host.up, len(d.Payload), func() {
		s.leaving -= need
		s.news()
		n.carry(way, d)
	}) {
		s.leaving -= need
	}
}

// news tells the owner that the socket may be ready.
func (s *Socket) news() {
	if len(s.inbox) > 0 || s.wants && s.room() {
		s.d.kick()
	}
}

// way is the path from a host to an address; nil if no host has the address.
func (n *Network) way(from *Host, to netip.Addr) *path {
	if to.IsLoopback() {
		return n.path(from, from)
	}
	if h := n.at[to]; h != nil {
		return n.path(from, h)
	}
	return nil
}

func (n *Network) believed(way *path) int {
	if way == nil {
		return n.opts.MTUBytes
	}
	return way.believed()
}

func (n *Network) carry(way *path, d Datagram) {
	if way == nil {
		n.stats.Nobody++
		return
	}
	way.carry(d)
}

// PathMTU is the MTU that the host assumes for an address.
func (s *Socket) PathMTU(to netip.AddrPort) int {
	s.n.enter()
	defer s.n.leave()
	return s.n.believed(s.n.way(s.d.host, to.Addr().Unmap()))
}

// Stats returns the counts since Open.
func (s *Socket) Stats() dgram.Stats {
	s.n.enter()
	defer s.n.leave()
	return s.stats
}

// Close frees the address.
func (s *Socket) Close() error {
	s.n.enter()
	defer s.n.leave()
	s.close()
	return nil
}

func (s *Socket) close() {
	if s.closed {
		return
	}
	s.closed = true
	s.inbox, s.held, s.bytes, s.wants = nil, nil, 0, false
	self := func(o *Socket) bool { return o == s }
	s.d.sockets = slices.DeleteFunc(s.d.sockets, self)
	s.d.host.sockets = slices.DeleteFunc(s.d.host.sockets, self)
	s.n.trace("%s is closed", s.at)
}
