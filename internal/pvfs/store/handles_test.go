package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestHandlesAreDrawn: new handles go down, slot by slot, so that the database grows at its end. Two stores with the same history
// have no handle in common.
func TestHandlesAreDrawn(t *testing.T) {
	const objects = 200
	const slot = 1 << drawnMax
	seen := map[proto.Handle]bool{}
	for range 2 {
		s := fresh(t)
		last := proto.Handle(1<<61) + 1 // the handle above the range
		for range objects {
			h := create(t, s, MetaSpace, proto.TypeMetafile)
			assert.Less(t, h, last)
			assert.Less(t, last-h, proto.Handle(2*slot), "the next slot")
			assert.False(t, seen[h])
			seen[h], last = true, h
		}
		requireClean(t, s)
	}
}

// TestSlots: with any bounds, a range gives out only its own handles, slot by slot, and starts again after the lowest slot.
func TestSlots(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		drawn := 1 + rng.IntN(8)
		size := uint64(1)<<(slotsMin+drawn) + rng.Uint64N(1<<(slotsMin+drawn))
		first := 1 + proto.Handle(rng.Uint64N(1<<40))
		r := handleRange{Extent: proto.Extent{First: first, Last: first + proto.Handle(size-1)}}
		require.Equal(t, drawn, r.drawn())
		slot := func(h proto.Handle) proto.Handle { return (r.Last - h) >> drawn }
		r.next = r.First + proto.Handle(rng.IntN(1024))
		random, want := rand.NewChaCha8([32]byte{byte(seed)}), slot(r.next)
		for range 2048 {
			h, err := r.draw(random, 1<<drawn-1)
			require.NoError(t, err)
			require.True(t, r.has(h), "%d is not in %d-%d", h, r.First, r.Last)
			require.Equal(t, want, slot(h))
			if want++; want > slot(r.First) {
				want = 0
			}
		}
	})
}

// TestFullSlot: if all random tries hit handles in use, the next free one is still found.
func TestFullSlot(t *testing.T) {
	const drawn = 1
	all := proto.Extent{First: 1 << 30, Last: 1<<30 + 1<<(slotsMin+drawn) - 1}
	s := open(t, memory.Dir(t), Options{Meta: []proto.Extent{all}, NoSyncMeta: true, Random: zeros{}})
	// Every try is the highest handle of a slot.
	require.NoError(t, s.Update(func(tx *Tx) error {
		for h := all.Last; h > all.Last-2*drawsMax; h-- {
			if (all.Last-h)%2 == 0 {
				if err := tx.Insert(h, Object{Attr: proto.Attr{Type: proto.TypeMetafile}}); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	h := create(t, s, MetaSpace, proto.TypeMetafile)
	assert.LessOrEqual(t, h, all.Last-2*drawsMax)
	requireClean(t, s)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
