package dgramtest

import (
	"errors"
	"net/netip"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

var familyTests = []test{
	{"a socket at every address", func(t T, w *world) {
		d, e := w.device(), w.device()
		a, b := d.socketAt(netip.AddrPortFrom(unspecified(d.addr), 0)), e.socket()
		assert.Equal(t, unspecified(d.addr), a.Addr().Addr())
		assert.NotZero(t, a.Addr().Port())
		a.give(b, w.payloads(10, 100)...)
		b.give(a, w.payloads(10, 100)...)
		w.arrived()
	}},
	{"a socket for both families", func(t T, w *world) {
		d, e := w.device(), w.device()
		s, err := d.Open(netip.AddrPortFrom(netip.IPv6Unspecified(), 0))
		if errors.Is(err, dgram.ErrNotHere) {
			t.Skip("no IPv6")
		}
		require.NoError(t, err)
		at := s.Addr()
		require.NoError(t, s.Close())
		a, b := d.socketAt(at), e.socket()
		a.give(b, w.payloads(10, 100)...)
		b.give(a, w.payloads(10, 100)...)
		w.arrived()
		clothed(a, b)
		w.arrived()
	}},
	{"IPv4 in IPv6's clothes", func(t T, w *world) {
		a, b := w.pair()
		if !a.d.addr.Is4() {
			t.Skip("no IPv4")
		}
		clothed(a, b)
		w.arrived()
		mapped := netip.AddrPortFrom(netip.AddrFrom16(a.d.addr.As16()), 0)
		s, err := a.d.Open(mapped)
		if err == nil { // it may refuse, but if it does not:
			assert.False(t, s.Addr().Addr().Is4In6(), "Addr is %s", s.Addr())
			require.NoError(t, s.Close())
		}
	}},
}

// clothed sends to an IPv4 address in its IPv6 form.
func clothed(from, to *sock) {
	w := from.d.w
	var batch []dgram.Packet
	for _, p := range w.payloads(5, 200) {
		x := from.packet(to, p)
		x.To = netip.AddrPortFrom(netip.AddrFrom16(to.at.Addr().As16()), to.at.Port())
		batch = append(batch, x)
	}
	from.send(batch)
}
