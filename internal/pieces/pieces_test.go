package pieces_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pieces"
)

// split cuts data into pieces of these lengths.
func split(data []byte, lengths ...int) (bufs [][]byte) {
	for _, n := range lengths {
		bufs = append(bufs, data[:n:n])
		data = data[n:]
	}
	return bufs
}

var cuts = [][]int{{10}, {0, 10}, {10, 0}, {3, 7}, {1, 0, 0, 4, 5}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}

// TestRanges compares each range of a message in pieces with the same range of one in a row.
func TestRanges(t *testing.T) {
	whole := []byte("0123456789")
	for _, cut := range cuts {
		copied := make([]byte, len(whole))
		pieces.Copy(split(copied, cut...), whole)
		require.Equal(t, whole, copied)
		bufs := split(whole, cut...)
		for from := 0; from <= len(whole); from++ {
			for n := 0; from+n <= len(whole); n++ {
				name := fmt.Sprintf("%v from %d, %d bytes", cut, from, n)
				want := whole[from : from+n]
				at := pieces.At(bufs, from)
				require.Equal(t, "x"+string(want), string(at.Gather([]byte("x"), bufs, n)), name)

				vec, total := at.Append(nil, bufs, n, len(bufs))
				require.Equal(t, n, total, name)
				require.Equal(t, string(want), string(bytes.Join(vec, nil)), name)
				for _, b := range vec {
					require.NotEmpty(t, b, name)
				}

				there := bytes.Repeat([]byte{'.'}, len(whole))
				to := split(there, cut...)
				at.Scatter(to, want)
				require.Equal(t, string(want), string(there[from:from+n]), name)
				require.Equal(t, len(whole)-n, bytes.Count(there, []byte{'.'}), name)
				require.Equal(t, string(whole[from+n:]), string(at.Gather(nil, bufs, 10)), "where Scatter ended, %s", name)
			}
		}
	}
}

// TestRoomEnds: no more slices than there is room for.
func TestRoomEnds(t *testing.T) {
	bufs := split(make([]byte, 10), 1, 0, 2, 3, 4)
	for room, want := range []int{0, 1, 3, 6, 10, 10} {
		vec, total := pieces.Cursor{}.Append(nil, bufs, 10, room)
		require.Equal(t, want, total)
		require.LessOrEqual(t, len(vec), room)
	}
}

// TestAdvance: the position after a move is the same as that of the byte.
func TestAdvance(t *testing.T) {
	for _, cut := range cuts {
		bufs := split([]byte("0123456789"), cut...)
		for from := 0; from <= 10; from++ {
			for n := 0; from+n <= 10; n++ {
				at := pieces.At(bufs, from)
				at.Advance(bufs, n)
				require.Equal(t, "0123456789"[from+n:], string(at.Gather(nil, bufs, 10)))
			}
		}
	}
}
