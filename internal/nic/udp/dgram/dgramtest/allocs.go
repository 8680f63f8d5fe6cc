package dgramtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

var allocTests = []test{
	{"no allocation for a datagram", func(t T, w *world) {
		if w.s.Allocates || w.s.Step != nil {
			t.Skip("the device allocates")
		}
		a, b := w.pair()
		for _, count := range []int{1, 8} {
			head, body := make([]byte, 40), make([]byte, 500)
			batch := make([]dgram.Packet, count)
			for i := range batch {
				batch[i] = dgram.Packet{To: b.at, Pieces: [][]byte{head, body}}
			}
			assert.Zero(t, testing.AllocsPerRun(200, func() {
				n, err := a.Send(batch)
				a.taken += uint64(n)
				if n != count || err != nil {
					require.Failf(t, "small batch", "sent %d: %v", n, err)
				}
				b.PathMTU(a.at)
				for tries, got := 0, b.received+uint64(count); b.received < got; tries++ {
					b.waste()
					if tries > 1e6 {
						require.Fail(t, "nothing arrives")
					}
				}
			}), "batches of %d", count)
		}
	}},
	{"no allocation for sleeping", sleeping(func(t T, w *world, a, b *sock, s dgram.Sleeper) {
		if w.s.Allocates {
			t.Skip("the device allocates")
		}
		w.bed(b, s).SleepAllocatesNothing()
	})},
}
