package mpi

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRing: messages in the buffer never overlap, and space is found whenever the obvious search of
// the standard's model finds some.
func TestRing(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		b := &bsendBuffer{mem: make([]byte, 1+random.IntN(400))}
		for range 200 {
			if len(b.waiting) > 0 && random.IntN(3) == 0 {
				b.waiting = b.waiting[1:] // the oldest message is sent
				continue
			}
			n := 1 + random.IntN(100)
			off, ok := b.gapLocked(n)
			want, found := obviousGap(b, n)
			require.Equal(t, found, ok, "seed %d: %d bytes behind %v of %d", seed, n, b.waiting, len(b.mem))
			if !ok {
				continue
			}
			require.Equal(t, want, off, "seed %d", seed)
			b.waiting = append(b.waiting, bsend{off: off, end: off + n})
		}
	}
}

// obviousGap checks every byte: n free ones right behind the latest message, or at the beginning,
// without passing the oldest message.
func obviousGap(b *bsendBuffer, n int) (off int, found bool) {
	used := make([]bool, len(b.mem))
	start := 0
	for _, w := range b.waiting {
		for i := w.off; i < w.end; i++ {
			used[i] = true
		}
		start = w.end
	}
	free := func(off int) bool {
		if off+n > len(used) {
			return false
		}
		for _, u := range used[off : off+n] {
			if u {
				return false
			}
		}
		return true
	}
	if free(start) {
		return start, true
	}
	return 0, free(0)
}
