package simdgram

import (
	"math/rand/v2"
	"net/netip"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// arrive puts a datagram into the receive buffer of its socket on a host.
func (n *Network) arrive(h *Host, d Datagram) {
	var s *Socket
	if h != nil {
		s = h.find(netip.AddrPortFrom(d.To.Addr().Unmap(), d.To.Port()))
	}
	if s == nil {
		n.stats.Nobody++
		n.trace("%s > %s: nobody", d.From, d.To)
		return
	}
	need := len(d.Payload) + n.opts.PerPacketBytes
	if s.bytes+need > n.opts.RecvBytesMax {
		s.stats.Overflowed++
		n.stats.Overflowed++
		n.trace("%s > %s: overflow", d.From, d.To)
		return
	}
	n.stats.Arrived++
	n.trace("%s > %s: %d bytes", d.From, d.To, len(d.Payload))
	s.bytes += need
	if n.opts.HoldMax == 0 {
		s.inbox = append(s.inbox, d)
		s.news()
		return
	}
	s.held = append(s.held, d)
	if len(s.held) == 1 {
		n.sim.After(n.sim.Between(0, n.opts.HoldMax), s.release)
	}
}

// release delivers the datagrams that the card held back.
func (s *Socket) release() {
	s.inbox = append(s.inbox, s.held...)
	clear(s.held)
	s.held = s.held[:0]
	s.news()
}

// Recv returns arrivals.
func (s *Socket) Recv(batch []dgram.Arrival) (got int) {
	s.n.enter()
	defer s.n.leave()
	if s.closed || len(batch) == 0 {
		return 0
	}
	s.stats.RecvCalls++
	for got < len(batch) && len(s.inbox) > 0 {
		if got > 0 && s.n.sim.Chance(s.n.opts.Short) {
			break
		}
		if s.fill(&batch[got]) {
			got++
		}
	}
	if s.n.sim.Chance(s.n.opts.Scribble) {
		s.scribble(batch, got)
	}
	return got
}

// fill puts the next datagram into an entry, and perhaps those that follow; false if there is
// none that can be returned.
func (s *Socket) fill(a *dgram.Arrival) bool {
	d, ok := s.next(len(a.Buf))
	if !ok {
		return false
	}
	a.From = netip.AddrPortFrom(d.From.Addr().Unmap(), d.From.Port())
	a.Size = copy(a.Buf, d.Payload)
	a.Len = a.Size
	count := 1
	for last := a.Size; last == a.Size && s.merges(a, d); count++ {
		more := s.pop()
		last = copy(a.Buf[a.Len:], more.Payload)
		a.Len += last
	}
	s.stats.Received += uint64(count)
	s.stats.ReceivedBytes += uint64(a.Len)
	if count > 1 {
		s.stats.ReceivedGrouped += uint64(count)
	}
	return true
}

// next takes the first datagram that can be returned.
func (s *Socket) next(room int) (d Datagram, ok bool) {
	for len(s.inbox) > 0 {
		d = s.pop()
		switch {
		case !d.From.Addr().IsValid():
			s.stats.Odd++
		case len(d.Payload) == 0:
			s.stats.Empty++
		case len(d.Payload) > room:
			s.stats.Truncated++
		default:
			return d, true
		}
	}
	return Datagram{}, false
}

// merges decides whether the next datagram goes into the same entry.
func (s *Socket) merges(a *dgram.Arrival, first Datagram) bool {
	if len(s.inbox) == 0 || s.n.opts.Merge == 0 {
		return false
	}
	d := &s.inbox[0]
	fits := d.From == first.From && len(d.Payload) > 0 && len(d.Payload) <= a.Size && a.Len+len(d.Payload) <= min(len(a.Buf), dgram.RoomMax)
	return fits && s.n.sim.Chance(s.n.opts.Merge)
}

func (s *Socket) pop() Datagram {
	d := s.inbox[0]
	s.inbox[0] = Datagram{}
	s.inbox = s.inbox[1:]
	s.bytes -= len(d.Payload) + s.n.opts.PerPacketBytes
	return d
}

// noise is written where the owner must not read. scribbleBytes of it are copied at a time,
// from anywhere in its first half.
var noise = makeNoise()

const scribbleBytes = 100

func makeNoise() (b [4096]byte) {
	rng := rand.New(rand.NewPCG(1, 7))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// scribble writes wherever the owner must not read.
func (s *Socket) scribble(batch []dgram.Arrival, got int) {
	at := s.n.sim.Rand().IntN(len(noise) / 2)
	for i := range batch {
		a, from := &batch[i], 0
		if i < got {
			from = a.Len
		} else {
			a.From, a.Len, a.Size = s.at, len(a.Buf), 1
		}
		copy(a.Buf[from:], noise[at:at+scribbleBytes])
		at = (at + scribbleBytes) % (len(noise) / 2)
	}
}
