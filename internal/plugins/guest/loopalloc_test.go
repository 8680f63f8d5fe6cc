//go:build linux && !race

package guest_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// answer posts a receive and polls until it is done.
func (b *bench) answer(op uint64) {
	h := wire.Head{Kind: wire.KindRecv, Peer: 1, Op: op}
	room, ok, err := b.out.Reserve(wire.HeadBytes)
	if !ok || err != nil {
		panic("no room")
	}
	h.Put(room)
	b.out.Commit()
	if b.out.Asleep() {
		b.there.Ring()
	}
	for {
		if _, ok, _ := b.in.Next(); ok {
			return
		}
		runtime.Gosched() // AllocsPerRun leaves one processor for all
	}
}

// TestNoAllocations: an operation allocates nothing, whether or not the Loop sleeps in between.
func TestNoAllocations(t *testing.T) {
	for name, sleeps := range map[string]bool{"polling": false, "sleeping": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 0)
			if sleeps {
				b = newBench(t, -1)
			}
			b.start(&sleeper{b.m})
			b.meet()
			for op := range uint64(100) {
				b.answer(op)
			}
			require.NoError(t, b.loop.Do(t.Context(), nil))
			assert.Zero(t, testing.AllocsPerRun(100, func() { b.answer(1) }))
			if sleeps {
				assert.Greater(t, b.loop.Stats().Sleeps, uint64(50))
			}
		})
	}
}

func BenchmarkLoop(b *testing.B) {
	bn := newBench(b, 0)
	bn.start(&sleeper{bn.m})
	bn.meet()
	b.ReportAllocs()
	for b.Loop() {
		bn.answer(1)
	}
	b.ReportMetric(float64(bn.loop.Stats().Sleeps)/float64(b.N), "sleeps/op")
}
