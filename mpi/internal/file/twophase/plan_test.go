package twophase

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
)

// TestWindows: the windows of all aggregators are the whole hull, without overlap, and begin at
// borders of units.
func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		hulls := make([]Span, 1+r.IntN(5))
		for i := range hulls {
			low := r.Int64N(5000)
			hulls[i] = Span{low, low + r.Int64N(2000)}
			if r.IntN(4) == 0 {
				hulls[i] = Span{}
			}
			if r.IntN(10) == 0 {
				hulls[i] = Span{math.MaxInt64 - 3000 + low/2, math.MaxInt64}
				hulls = []Span{hulls[i]}
				break
			}
		}
		n := 1 + r.IntN(6)
		unit, buffer := 1+r.Int64N(300), 1+r.Int64N(600)
		p := New(hulls, Spread(n, 100), unit, buffer)
		all := Hull(hulls)
		if all.Empty() {
			require.Zero(t, p.Rounds)
			require.True(t, p.Window(0, 0).Empty())
			continue
		}
		at := all.Low
		for a := range n {
			for round := range p.Rounds {
				w := p.Window(a, round)
				if w.Empty() {
					continue
				}
				require.Equal(t, at, w.Low)
				require.True(t, w.Low == all.Low || buffer > unit && w.Low%unit == 0 || round > 0 && buffer <= unit || w.Low%unit == 0)
				require.LessOrEqual(t, w.High-w.Low, max(buffer, 1))
				at = w.High
			}
		}
		require.Equal(t, all.High, at)
	}
}

func TestInterleaved(t *testing.T) {
	assert.False(t, Interleaved(nil))
	assert.False(t, Interleaved([]Span{{10, 20}, {}, {0, 10}, {20, 30}}))
	assert.True(t, Interleaved([]Span{{10, 20}, {0, 11}}))
	assert.True(t, Span{0, 5}.Meets(Span{4, 6}))
	assert.False(t, Span{0, 5}.Meets(Span{5, 6}))
	assert.False(t, Span{0, 5}.Meets(Span{3, 3}))
}

func TestSpread(t *testing.T) {
	assert.Equal(t, []int{0, 2, 4, 6}, Spread(4, 8))
	assert.Equal(t, []int{0, 1, 2}, Spread(8, 3))
	assert.Equal(t, []int{0}, Spread(0, 3))
}

// TestPacking: Pack, Unpack, Gather and Scatter agree with each other.
func TestPacking(t *testing.T) {
	l := ranges.List{ranges.One(105, 3), {Off: 110, Len: 2, Stride: 4, Count: 3}, ranges.One(125, 1)}
	buf := []byte("abcdefghijklmnopqrstuvwxyz")
	want := "fghklopstz"
	got := make([]byte, len(want))
	Gather(got, buf, 100, l)
	require.Equal(t, want, string(got))
	spread := []byte("..........................")
	Scatter(spread, 100, l, got)
	require.Equal(t, ".....fgh..kl..op..st.....z", string(spread))
	packed := Pack(append([]byte(nil), buf...), 100, l)
	require.Equal(t, want, string(packed))
	back := append([]byte(want), make([]byte, 20)...)
	Unpack(back, 100, l)
	Gather(got, back, 100, l)
	require.Equal(t, want, string(got))
}
