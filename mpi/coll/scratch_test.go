package coll

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestScratch: memory that was taken is not given out again until its release, in any order of
// sizes.
func TestScratch(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var s Scratch
		var nest func(depth int, mine byte)
		nest = func(depth int, mine byte) {
			m := s.mark()
			var taken [][]byte
			for range 1 + rng.IntN(3) {
				b := s.bytes(rng.IntN(3 << uint(rng.IntN(20))))
				copy(b, bytes.Repeat([]byte{mine}, len(b)))
				if len(b) > 0 {
					assert.Zero(t, uintptr(unsafe.Pointer(&b[0]))%scratchAlign, "seed %d", seed)
				}
				taken = append(taken, b)
				if depth > 0 {
					nest(depth-1, mine+1)
				}
			}
			for _, b := range taken {
				assert.Equal(t, len(b), bytes.Count(b, []byte{mine}), "overwritten: seed %d depth %d", seed, depth)
			}
			s.release(m)
		}
		nest(3, 1)
		assert.Zero(t, s.used)
		assert.LessOrEqual(t, len(s.chunk), ScratchBytesKept)
	}
}

// TestScratchKeeps: memory is reused, but a large amount is not kept for ever.
func TestScratchKeeps(t *testing.T) {
	var s Scratch
	take := func(n int) {
		m := s.mark()
		s.bytes(n)
		s.release(m)
	}
	take(100_000)
	assert.Zero(t, testing.AllocsPerRun(10, func() { take(100_000) }))
	take(ScratchBytesKept + 1)
	assert.Nil(t, s.chunk)
	var none *Scratch
	m := none.mark()
	assert.Len(t, none.bytes(3), 3)
	none.release(m)
}
