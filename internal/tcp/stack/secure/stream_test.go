package secure

import (
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// worlds runs a test with goroutines of handshakes and without.
func worlds(t *testing.T, f func(t *testing.T, inline bool)) {
	t.Run("concurrent", func(t *testing.T) { f(t, false) })
	t.Run("inline", func(t *testing.T) { f(t, true) })
}

// pair makes two sides that share a key.
func pair(t *testing.T, n *network, inline bool) (client, server *side) {
	cfg := secretConfig(t, "k")
	cfg.Inline = inline
	return newSide(t, n.stack(), cfg), newSide(t, n.stack(), cfg)
}

func random(seed uint64, size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(data) // never fails
	return data
}

func TestExchangeInPiecesOfEverySize(t *testing.T) {
	for _, pieceMax := range []int{0, 1, 2, 7, 100, 5000} {
		worlds(t, func(t *testing.T, inline bool) {
			n := newNetwork(uint64(pieceMax))
			n.pieceMax = pieceMax
			client, server := pair(t, n, inline)
			a, b := join(t, client, server)
			sizes := []int{1, 2, 24, 1399, 1400, 1401, 16384, 16385, 100_000}
			if testing.Short() && pieceMax > 0 && pieceMax < 100 {
				sizes = sizes[:len(sizes)-1]
			}
			for i, size := range sizes {
				exchange(t, a, b, random(uint64(i), size))
				exchange(t, b, a, random(uint64(i), size))
			}
		})
	}
}

func TestFinish(t *testing.T) {
	worlds(t, func(t *testing.T, inline bool) {
		client, server := pair(t, newNetwork(1), inline)
		a, b := join(t, client, server)
		exchange(t, a, b, []byte("last"))
		require.NoError(t, a.Finish())
		until(t, "the end arrives", func() bool { b.pump(); return b.err != nil }, client, server)
		require.Equal(t, io.EOF, b.err)
		exchange(t, b, a, []byte("the other direction goes on"))
		require.NoError(t, b.Finish())
		until(t, "the other end arrives", func() bool { a.pump(); return a.err != nil }, client, server)
		require.Equal(t, io.EOF, a.err)
	})
}

func TestTruncation(t *testing.T) {
	worlds(t, func(t *testing.T, inline bool) {
		client, server := pair(t, newNetwork(1), inline)
		a, b := join(t, client, server)
		exchange(t, a, b, []byte("something"))
		require.NoError(t, a.Stream.(*stream).inner.Finish())
		until(t, "the end arrives", func() bool { b.pump(); return b.err != nil }, client, server)
		require.ErrorIs(t, b.err, io.ErrUnexpectedEOF)
		assert.NotErrorIs(t, b.err, io.EOF)
	})
}
