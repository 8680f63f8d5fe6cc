package dgramtest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

var closeTests = []test{
	{"a closed socket", func(t T, w *world) {
		a, b := w.pair()
		a.give(b, w.payload(100))
		w.arrived()
		b.give(a, w.payload(100))
		w.arrived()
		before := a.Stats()
		a.close()
		a.refused(t)
		require.NoError(t, a.Socket.Close(), "closing again")
		assert.Equal(t, b.Stats().Sent, a.Stats().Received)
		assert.Equal(t, before.Sent, a.Stats().Sent, "Stats stay")
		assert.NotZero(t, a.Addr().Port())
		assert.GreaterOrEqual(t, a.PathMTU(b.at), dgram.PayloadMin)
	}},
	{"others work on", func(t T, w *world) {
		a, b := w.pair()
		c := a.d.socket()
		a.give(b, w.payload(100))
		w.arrived()
		a.close()
		c.give(b, w.payload(100))
		b.give(c, w.payload(100))
		w.arrived()
	}},
	{"the next owner of an address gets nothing old", func(t T, w *world) {
		a, b := w.pair()
		for range 5 {
			b.away = true
			a.give(b, w.payloads(5, 100)...)
			w.settle()
			b.close()
			clear(w.due)
			b = b.d.socketAt(b.Addr())
			w.settle()
			a.give(b, w.payload(100))
			w.arrived()
		}
	}},
	{"a device that comes back", func(t T, w *world) {
		a, b := w.pair()
		at := b.Addr()
		require.NoError(t, b.d.Close())
		b.closed = true
		a.send([]dgram.Packet{{To: at, Pieces: [][]byte{{1, 2, 3}}}})
		w.settle()
		// Only the same machine can have the address.
		if d := w.device(); d.addr == b.d.addr {
			again := d.socketAt(at)
			a.give(again, w.payload(100))
			again.give(a, w.payload(100))
			w.arrived()
		}
	}},
}
