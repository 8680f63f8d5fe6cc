package dgramtest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

var trafficTests = []test{
	{"datagrams arrive whole", func(t T, w *world) {
		a, b := w.pair()
		for _, size := range []int{8, 9, 100, 1000, dgram.PayloadMin - 1, dgram.PayloadMin, a.PathMTU(b.at)} {
			a.give(b, w.payload(size))
			b.give(a, w.payload(size))
			w.arrived()
		}
	}},
	{"a few bytes", func(t T, w *world) {
		a, b := w.pair()
		for size := range 8 {
			a.give(b, w.payload(size+1))
			w.arrived()
		}
	}},
	{"pieces", pieces},
	{"an answer to From arrives", func(t T, w *world) {
		a, b := w.pair()
		a.give(b, w.payload(100))
		b.away = true
		w.until("arrival", func() bool { return b.take(b.room) == 1 })
		b.away = false
		p := b.packet(a, w.payload(100))
		p.To = b.room[0].From
		b.send([]dgram.Packet{p})
		w.arrived()
	}},
	{"to oneself", func(t T, w *world) {
		a := w.device().socket()
		a.give(a, w.payloads(5, 300)...)
		w.arrived()
	}},
	{"a batch of one size", func(t T, w *world) {
		a, b := w.pair()
		for _, size := range []int{1, 10, 500, dgram.PayloadMin} {
			for _, count := range []int{2, 3, 40} {
				a.give(b, w.payloads(count, size)...)
				a.give(b, append(w.payloads(count, size), w.payload(size/2+1))...)
				w.arrived()
			}
		}
	}},
	{"a batch larger than any group", func(t T, w *world) {
		a, b := w.pair()
		for range 4 {
			a.give(b, w.payloads(150, 60)...)
			w.arrived()
			a.give(b, w.payloads(70, dgram.PayloadMin)...)
			w.arrived()
		}
	}},
	{"a batch of many sizes", func(t T, w *world) {
		a, b := w.pair()
		for range 10 {
			var list [][]byte
			for range 30 {
				list = append(list, w.payload(8+w.rng.IntN(3)*500))
			}
			a.give(b, list...)
			w.arrived()
		}
	}},
	{"a batch to many", func(t T, w *world) {
		a, b := w.pair()
		c, d := w.device().socket(), b.d.socket()
		to := []*sock{a, b, c, d}
		for range 10 {
			var batch []dgram.Packet
			for range 40 {
				batch = append(batch, a.packet(to[w.rng.IntN(len(to))], w.payload(400)))
			}
			a.send(batch)
			w.arrived()
		}
	}},
	{"many to one", func(t T, w *world) {
		b := w.device().socket()
		for range 8 {
			d := w.device()
			for range 2 {
				s := d.socket()
				s.give(b, w.payloads(5, 200)...)
			}
		}
		w.arrived()
	}},
	{"nothing to send", func(t T, w *world) {
		a, b := w.pair()
		n, err := a.Send(nil)
		require.NoError(t, err)
		assert.Zero(t, n)
		a.give(b, w.payload(10))
		w.arrived()
	}},
	{"Recv without entries", func(t T, w *world) {
		a, b := w.pair()
		assert.Zero(t, b.Recv(nil))
		b.away = true
		a.give(b, w.payload(10))
		w.settle()
		assert.Zero(t, b.Recv(nil), "loses nothing")
		b.away = false
		w.arrived()
	}},
	{"Recv one by one", func(t T, w *world) {
		a, b := w.pair()
		b.room = b.room[:1]
		a.give(b, w.payloads(20, 100)...)
		w.arrived()
		b.room = makeRoom(70, dgram.RoomMax)
		a.give(b, w.payloads(20, 100)...)
		w.arrived()
	}},
	{"nothing there", func(t T, w *world) {
		a, b := w.pair()
		a.give(b, w.payload(10))
		w.arrived()
		w.settle()
		assert.Zero(t, a.Recv(a.room))
		assert.Zero(t, b.Recv(b.room))
	}},
}

// pieces sends datagrams of several pieces, some of them empty, in batches in which
// equal sizes are cut differently.
func pieces(t T, w *world) {
	a, b := w.pair()
	for _, size := range []int{1, 16, 1000} {
		var batch []dgram.Packet
		for count := 1; count <= dgram.PiecesMax; count++ {
			whole := w.payload(size)
			p := a.packet(b, whole)
			p.Pieces = nil
			for i := range count {
				k := w.rng.IntN(len(whole) + 1)
				if i == count-1 {
					k = len(whole)
				}
				p.Pieces, whole = append(p.Pieces, whole[:k:k]), whole[k:]
			}
			batch = append(batch, p)
		}
		a.send(batch)
		w.arrived()
	}
}
