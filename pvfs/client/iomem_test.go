package client

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// TestMemoryOracle compares parts of several buffers with parts of a single one.
func TestMemoryOracle(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		var all []byte
		var bufs [][]byte
		for range 1 + r.IntN(6) {
			b := make([]byte, r.IntN(10))
			for i := range b {
				b[i] = byte(r.IntN(256))
			}
			bufs, all = append(bufs, b), append(all, b...)
		}
		m := memoryOf(bufs...)
		require.Equal(t, int64(len(all)), m.size)
		off := r.IntN(len(all) + 1)
		n := r.IntN(len(all) - off + 1)
		require.Equal(t, string(all[off:off+n]), joined(&m, int64(off), int64(n)), "seed %d", seed)
		sub := m.sub(int64(off), int64(n))
		require.Equal(t, int64(n), sub.size)
		require.Equal(t, string(all[off:off+n]), joined(&sub, 0, int64(n)), "seed %d", seed)
	}
}

func joined(m *memory, off, n int64) string {
	var b []byte
	for part := range m.parts(off, n) {
		b = append(b, part...)
	}
	return string(b)
}

func TestRelay(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 600_000) // more than two chunks
	full := func(r io.Reader) func(b []byte) (int, error) {
		return func(b []byte) (int, error) { return io.ReadFull(r, b) }
	}
	for _, text := range []string{"", "short", big} {
		var out bytes.Buffer
		n, err := relay(full(strings.NewReader(text)), out.Write)
		require.NoError(t, err)
		require.Equal(t, int64(len(text)), n)
		require.True(t, text == out.String())
	}
	broken := errors.New("broken")
	var out bytes.Buffer
	n, err := relay(full(io.MultiReader(strings.NewReader(big), iotest.ErrReader(broken))), out.Write)
	require.ErrorIs(t, err, broken)
	require.Equal(t, int64(len(big)), n)
	_, err = relay(full(strings.NewReader(big)), func([]byte) (int, error) { return 0, broken })
	require.ErrorIs(t, err, broken)
}
