package dgramtest

import (
	"net/netip"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

var badTests = []test{
	{"too big", func(t T, w *world) {
		a, b := w.pair()
		for _, size := range []int{dgram.PayloadMax + 1, dgram.PayloadMax + 100, 1 << 20} {
			a.around(b, dgram.Packet{To: b.at, Pieces: [][]byte{make([]byte, size)}})
			a.around(b, dgram.Packet{To: b.at, Pieces: [][]byte{make([]byte, size/2), make([]byte, size-size/2)}})
		}
		assert.EqualValues(t, 6, a.Stats().TooBig)
	}},
	{"empty", func(t T, w *world) {
		a, b := w.pair()
		a.around(b, dgram.Packet{To: b.at})
		a.around(b, dgram.Packet{To: b.at, Pieces: [][]byte{nil, {}}})
		assert.EqualValues(t, 2, a.Stats().Unsent)
	}},
	{"too many pieces", func(t T, w *world) {
		a, b := w.pair()
		p := dgram.Packet{To: b.at}
		for range dgram.PiecesMax + 1 {
			p.Pieces = append(p.Pieces, []byte{1})
		}
		a.around(b, p)
		p.Pieces = append(p.Pieces, make([][]byte, 1000)...)
		a.around(b, p)
		assert.EqualValues(t, 2, a.Stats().Unsent)
	}},
	{"destinations that cannot be", func(t T, w *world) {
		a, b := w.pair()
		other := netip.MustParseAddrPort("[2001:db8::1]:9")
		if !a.d.addr.Is4() {
			other = netip.MustParseAddrPort("192.0.2.1:9")
		}
		for _, to := range []netip.AddrPort{{}, netip.AddrPortFrom(b.at.Addr(), 0), other} {
			a.around(b, dgram.Packet{To: to, Pieces: [][]byte{{1, 2, 3}}})
		}
		assert.EqualValues(t, 3, a.Stats().Unsent)
	}},
	{"nobody listens", func(t T, w *world) {
		a, b := w.pair()
		gone := b.d.socket()
		gone.close()
		for range 3 {
			a.around(b, dgram.Packet{To: gone.at, Pieces: [][]byte{{1, 2, 3}}})
			w.settle()
			b.give(a, w.payload(100))
			w.arrived()
		}
	}},
	{"PathMTU", func(t T, w *world) {
		a, b := w.pair()
		nobody := netip.AddrPortFrom(w.s.nobody(a.d.addr), 9)
		for _, to := range []netip.AddrPort{b.at, a.at, nobody, {}, netip.AddrPortFrom(b.at.Addr(), 0), netip.MustParseAddrPort("[::1]:9"), netip.MustParseAddrPort("127.0.0.1:9")} {
			mtu := a.PathMTU(to)
			assert.GreaterOrEqual(t, mtu, dgram.PayloadMin, "%s", to)
			assert.LessOrEqual(t, mtu, dgram.PayloadMax, "%s", to)
		}
		for range 3 {
			mtu := a.PathMTU(b.at)
			assert.Equal(t, mtu, a.PathMTU(b.at))
			a.give(b, w.payload(mtu), w.payload(mtu), w.payload(mtu-1))
			w.arrived()
		}
	}},
	{"what does not fit is dropped", tooLittleRoom},
}

// around sends a packet that cannot arrive between others that arrive.
func (s *sock) around(to *sock, bad dgram.Packet) {
	w := s.d.w
	s.send([]dgram.Packet{
		s.packet(to, w.payload(100)), s.packet(to, w.payload(100)),
		bad,
		s.packet(to, w.payload(100)), s.packet(to, w.payload(100)),
	})
	w.arrived()
}

// tooLittleRoom gives Recv less room than a datagram needs.
func tooLittleRoom(t T, w *world) {
	a, b := w.pair()
	for i := range 5 {
		b.away = true
		large := a.packet(b, w.payload(1000))
		clear(w.due) // it must not arrive
		a.send([]dgram.Packet{large})
		small := makeRoom(3, 999)
		w.until("dropped", func() bool {
			require.Zero(t, b.take(small))
			return b.Stats().Truncated == uint64(i+1)
		})
		a.give(b, w.payload(999))
		w.until("what fits is there", func() bool { return b.take(small) == 1 })
		b.away = false
		a.give(b, w.payload(1000))
		w.arrived()
	}
	assert.Zero(t, a.Stats().Truncated)
}
