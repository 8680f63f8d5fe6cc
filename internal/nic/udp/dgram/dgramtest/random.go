package dgramtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

var randomTests = makeRandomTests(5)

func makeRandomTests(count int) (list []test) {
	for seed := range uint64(count) {
		list = append(list, test{fmt.Sprintf("random traffic, seed %d", seed+1), func(t T, w *world) {
			w.rng = rand.New(rand.NewPCG(seed+1, 2))
			random(w)
		}})
	}
	return list
}

// randomInFlight bounds the bytes that wait in all receive buffers: a socket has
// room for that many. perPacket is the overhead of a datagram in a buffer.
const randomInFlight, perPacket = 24 << 10, 1 << 10

// random lets several sockets send random batches to each other.
func random(w *world) {
	var socks []*sock
	for range 2 + w.rng.IntN(3) {
		d := w.device()
		for range 1 + w.rng.IntN(3) {
			socks = append(socks, d.socket())
		}
	}
	size := 8
	for range 300 {
		from := socks[w.rng.IntN(len(socks))]
		to := socks[w.rng.IntN(len(socks))]
		var batch []dgram.Packet
		for bytes := 0; len(batch) < 1+w.rng.IntN(40); {
			if w.rng.IntN(4) == 0 {
				size = 8 + w.rng.IntN(dgram.PayloadMin-7)
			}
			if w.rng.IntN(8) == 0 {
				to = socks[w.rng.IntN(len(socks))]
			}
			if bytes += size + perPacket; bytes > randomInFlight {
				break
			}
			batch = append(batch, from.packet(to, w.payload(size)))
		}
		for _, s := range socks {
			s.room = s.room[:1+w.rng.IntN(roomFor)]
		}
		from.send(batch)
		if w.rng.IntN(2) == 0 {
			w.arrived()
		}
		w.ease()
	}
	w.arrived()
}

// ease waits while much is due.
func (w *world) ease() {
	w.until("little is due", func() bool {
		bytes := 0
		for e, n := range w.due {
			bytes += n * (len(e.payload) + perPacket)
		}
		return bytes < randomInFlight
	})
}
