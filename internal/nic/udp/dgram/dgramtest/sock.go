package dgramtest

import (
	"errors"
	"net/netip"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// sock is a socket and its owner's records.
type sock struct {
	d *device
	dgram.Socket
	at     netip.AddrPort // where others reach it
	away   bool           // no owner receives
	closed bool
	room   []dgram.Arrival

	taken, full          uint64 // packets that Send took, and how often it was full
	received, bytes      uint64 // datagrams that Recv returned, and their bytes
	tooBig, misfortunate uint64 // of taken: packets that must be counted as TooBig, and as Unsent
}

// roomFor is how many entries an owner gives Recv.
const roomFor = 4

func makeRoom(entries, bytes int) []dgram.Arrival {
	list := make([]dgram.Arrival, entries)
	for i := range list {
		list[i].Buf = make([]byte, bytes)
	}
	return list
}

// socket opens one at a free port.
func (d *device) socket() *sock {
	d.w.t.Helper()
	return d.socketAt(netip.AddrPortFrom(d.addr, 0))
}

func (d *device) socketAt(at netip.AddrPort) *sock {
	d.w.t.Helper()
	s, err := d.Open(at)
	require.NoError(d.w.t, err)
	k := &sock{d: d, Socket: s, at: netip.AddrPortFrom(d.addr, s.Addr().Port()), room: makeRoom(roomFor, dgram.RoomMax)}
	d.w.socks = append(d.w.socks, k)
	return k
}

// drain receives until nothing is there, and updates the ledger.
func (s *sock) drain() (total int) {
	for !s.away && !s.closed {
		n := s.take(s.room)
		total += n
		if n == 0 {
			break
		}
	}
	return total
}

// take is one Recv.
func (s *sock) take(room []dgram.Arrival) int {
	n := s.Recv(room)
	if n < 0 || n > len(room) { // a plain comparison: calling require costs more than most checks
		require.Failf(s.d.w.t, "Recv", "filled %d of %d entries", n, len(room))
	}
	for i := range room[:n] {
		s.split(&room[i])
	}
	return n
}

// split splits an arrival into datagrams.
func (s *sock) split(a *dgram.Arrival) {
	t := s.d.w.t
	if a.Size <= 0 || a.Size > a.Len || a.Len > len(a.Buf) {
		require.Failf(t, "an arrival that cannot be", "%d bytes in datagrams of %d, in room for %d", a.Len, a.Size, len(a.Buf))
	}
	if !a.From.IsValid() || a.From.Addr().Is4In6() {
		require.Failf(t, "a sender that cannot be", "%s", a.From)
	}
	for rest := a.Buf[:a.Len]; len(rest) > 0; {
		n := min(a.Size, len(rest))
		s.came(a.From, rest[:n])
		rest = rest[n:]
	}
}

func (s *sock) came(from netip.AddrPort, payload []byte) {
	w := s.d.w
	s.received++
	s.bytes += uint64(len(payload))
	key := entry{s, from, string(payload)}
	switch w.due[key] {
	case 0:
		require.Failf(w.t, "not due", "%d bytes at %s from %s, which nobody sent (%d are due)", len(payload), s.at, from, len(w.due))
	case 1:
		delete(w.due, key)
	default:
		w.due[key]--
	}
}

// packet is a packet that must arrive at a socket.
func (s *sock) packet(to *sock, payload []byte) dgram.Packet {
	s.d.w.due[entry{to, s.at, string(payload)}]++
	return dgram.Packet{To: to.at, Pieces: [][]byte{payload}}
}

// give sends payloads that must arrive.
func (s *sock) give(to *sock, payloads ...[]byte) {
	s.d.w.t.Helper()
	batch := make([]dgram.Packet, len(payloads))
	for i, p := range payloads {
		batch[i] = s.packet(to, p)
	}
	s.send(batch)
}

// send sends all of a batch.
func (s *sock) send(batch []dgram.Packet) {
	s.d.w.t.Helper()
	s.d.w.until("sent", func() bool {
		batch = batch[s.try(batch):]
		return len(batch) == 0
	})
}

// try is one Send. Send must not use its arguments any more once it has returned,
// so they are overwritten.
func (s *sock) try(batch []dgram.Packet) int {
	t := s.d.w.t
	for i := range batch {
		batch[i].TooBig = len(batch[i].Pieces)%2 == 0 // left over from an earlier use
	}
	n, err := s.Send(batch)
	switch {
	case n < 0 || n > len(batch):
		require.Failf(t, "Send", "took %d of %d", n, len(batch))
	case n < len(batch):
		require.ErrorIs(t, err, dgram.ErrAgain, "took %d of %d", n, len(batch))
		s.full++
	case err != nil:
		require.NoError(t, err, "took all of %d", n)
	}
	s.taken += uint64(n)
	for i := range batch[:n] {
		s.decideFate(&batch[i])
	}
	return n
}

// decideFate records the fate of a packet that was taken.
func (s *sock) decideFate(p *dgram.Packet) {
	size := 0
	for _, piece := range p.Pieces {
		size += len(piece)
		clear(piece)
	}
	big := false
	switch {
	case size == 0 || len(p.Pieces) > dgram.PiecesMax || !s.mayReach(p.To):
		s.misfortunate++
	case size > dgram.PayloadMax:
		big = true
		s.tooBig++
	}
	if p.TooBig != big {
		require.Failf(s.d.w.t, "TooBig", "is %v for %d bytes", p.TooBig, size)
	}
}

// mayReach reports whether there can be such a destination.
func (s *sock) mayReach(to netip.AddrPort) bool {
	from := s.Addr().Addr()
	return to.IsValid() && to.Port() != 0 &&
		(from.Is4() == to.Addr().Unmap().Is4() || from == netip.IPv6Unspecified())
}

func (s *sock) close() {
	if !s.closed {
		s.closed = true
		require.NoError(s.d.w.t, s.Close())
	}
}

// audit compares the statistics of every socket with what its owner saw.
func (w *world) audit() {
	w.t.Helper()
	for _, s := range w.socks {
		x := s.Stats()
		assert.Equal(w.t, s.taken-s.tooBig-s.misfortunate, x.Sent, "Sent")
		assert.Equal(w.t, s.tooBig, x.TooBig, "TooBig")
		assert.Equal(w.t, s.misfortunate, x.Unsent, "Unsent")
		assert.Equal(w.t, s.full, x.Full, "Full")
		assert.Equal(w.t, s.received, x.Received, "Received")
		assert.Equal(w.t, s.bytes, x.ReceivedBytes, "ReceivedBytes")
		assert.LessOrEqual(w.t, x.SentGrouped, x.Sent)
		assert.LessOrEqual(w.t, x.ReceivedGrouped, x.Received)
		assert.Zero(w.t, x.Odd)
		assert.True(w.t, x.Sent == 0 || x.SendCalls > 0)
		assert.True(w.t, x.Received == 0 || x.RecvCalls > 0)
	}
}

// refused checks that a socket or device is closed.
func (s *sock) refused(t T) {
	t.Helper()
	n, err := s.Send([]dgram.Packet{{To: s.at, Pieces: [][]byte{{1}}}})
	assert.Zero(t, n)
	require.ErrorIs(t, err, dgram.ErrClosed)
	require.False(t, errors.Is(err, dgram.ErrAgain))
	assert.Zero(t, s.Recv(s.room), "a closed socket has no arrivals")
}
