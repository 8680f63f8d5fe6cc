package move

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCopy: Copy does what copy does, at any place and of any length, and touches nothing else.
func TestCopy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const all = 3 * pieceBytes
	src := make([]byte, all)
	for i := range src {
		src[i] = byte(r.Uint32())
	}
	lengths := []int{0, 1, largeMin - 1, largeMin, largeMin + 1, pieceBytes, pieceBytes + 1, 2*pieceBytes - 1, 2 * pieceBytes}
	for _, n := range lengths {
		for range 4 {
			from, to := r.IntN(100), r.IntN(100)
			got, want := bytes.Repeat([]byte{7}, all), bytes.Repeat([]byte{7}, all)
			copy(want[to:to+n], src[from:])
			require.Equal(t, n, Copy(got[to:to+n], src[from:]))
			require.True(t, bytes.Equal(want, got), "%d bytes from %d to %d", n, from, to)
		}
	}
	require.Equal(t, largeMin, Copy(make([]byte, 2*largeMin), src[:largeMin]), "the shorter one counts")
}

func BenchmarkCopy(b *testing.B) {
	for _, n := range []int{64 << 10, 1 << 20, 4 << 20} {
		dst, src := make([]byte, n), make([]byte, n)
		b.Run("move", func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				Copy(dst, src)
			}
		})
		b.Run("copy", func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				copy(dst, src)
			}
		})
	}
}
