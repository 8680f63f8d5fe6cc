package dgramtest

import (
	"net/netip"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

var openTests = []test{
	{"a socket has an address", func(t T, w *world) {
		d := w.device()
		assert.NotEmpty(t, d.Name())
		a, b := d.socket(), d.socket()
		assert.Equal(t, d.addr, a.Addr().Addr())
		assert.NotZero(t, a.Addr().Port())
		assert.NotEqual(t, a.Addr(), b.Addr())
	}},
	{"address in use", func(t T, w *world) {
		d := w.device()
		a := d.socket()
		_, err := d.Open(a.Addr())
		require.ErrorIs(t, err, dgram.ErrInUse)
		a.close()
		again := d.socketAt(a.Addr())
		assert.Equal(t, a.Addr(), again.Addr(), "the address is free again")
	}},
	{"all addresses overlap each", func(t T, w *world) {
		d := w.device()
		a := d.socket()
		every := netip.AddrPortFrom(unspecified(d.addr), a.Addr().Port())
		_, err := d.Open(every)
		require.ErrorIs(t, err, dgram.ErrInUse)
		a.close()
		d.socketAt(every)
		_, err = d.Open(a.Addr())
		require.ErrorIs(t, err, dgram.ErrInUse)
	}},
	{"an address of another machine", func(t T, w *world) {
		d := w.device()
		_, err := d.Open(netip.AddrPortFrom(w.s.nobody(d.addr), 0))
		require.ErrorIs(t, err, dgram.ErrNotHere)
	}},
	{"no address at all", func(t T, w *world) {
		_, err := w.device().Open(netip.AddrPort{})
		require.Error(t, err)
	}},
	{"a closed device opens nothing", func(t T, w *world) {
		d := w.device()
		s := d.socket()
		require.NoError(t, d.Close())
		s.closed = true
		s.refused(t)
		_, err := d.Open(netip.AddrPortFrom(d.addr, 0))
		require.ErrorIs(t, err, dgram.ErrClosed)
		require.NoError(t, d.Close(), "closing again")
	}},
	{"many sockets", func(t T, w *world) {
		d, e := w.device(), w.device()
		var from, to []*sock
		for range 30 {
			from, to = append(from, d.socket()), append(to, e.socket())
		}
		for i := range from {
			for j := range 3 {
				from[i].give(to[(i+j*7)%len(to)], w.payload(100))
			}
		}
		w.arrived()
	}},
}

// unspecified is all addresses of a family.
func unspecified(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}
