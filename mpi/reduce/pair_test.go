package reduce_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// located checks MaxLoc and MinLoc on pairs of few different values, so that
// there are many ties.
func located[V int16 | int32 | int64 | float32 | float64, I int32 | int64 | float32 | float64](t *testing.T, ty *datatype.Type) {
	t.Helper()
	type pair struct {
		V V
		I I
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 6))
		random := func() []pair {
			ps := make([]pair, 40)
			for i := range ps {
				ps[i] = pair{V(rng.IntN(5) - 2), I(rng.IntN(7) - 1)}
			}
			return ps
		}
		in, inout := random(), random()
		for op, before := range map[*reduce.Op]func(a, b V) bool{
			reduce.MaxLoc: func(a, b V) bool { return a > b },
			reduce.MinLoc: func(a, b V) bool { return a < b },
		} {
			want := make([]pair, len(in))
			for i, a := range in {
				b := inout[i]
				want[i] = b
				if before(a.V, b.V) || a.V == b.V && a.I < b.I {
					want[i] = a
				}
			}
			out := encode(t, inout)
			op.Apply(out, encode(t, in), ty, len(in))
			require.Equal(t, encode(t, want), out, "%v %v seed=%d", op, ty, seed)
		}
	}
}

func TestPairs(t *testing.T) {
	located[int16, int32](t, datatype.Int16Int32)
	located[int32, int32](t, datatype.Int32Int32)
	located[int64, int32](t, datatype.Int64Int32)
	located[float32, int32](t, datatype.Float32Int32)
	located[float64, int32](t, datatype.Float64Int32)
	located[int16, int64](t, datatype.Int16Int64)
	located[int32, int64](t, datatype.Int32Int64)
	located[int64, int64](t, datatype.Int64Int64)
	located[float32, int64](t, datatype.Float32Int64)
	located[float64, int64](t, datatype.Float64Int64)
	located[int64, int32](t, datatype.LongInt32)
	located[float32, float32](t, datatype.Float32Float32)
	located[float64, float64](t, datatype.Float64Float64)
	located[int32, int32](t, datatype.Integer4Integer4)
}

// TestPairNaN: NaN comes before everything, and of two the one of lower index.
func TestPairNaN(t *testing.T) {
	type pair struct {
		V float64
		I int64
	}
	nan := math.NaN()
	for _, op := range []*reduce.Op{reduce.MaxLoc, reduce.MinLoc} {
		for _, tc := range [][3]pair{
			{{nan, 5}, {1, 2}, {nan, 5}},
			{{1, 2}, {nan, 5}, {nan, 5}},
			{{nan, 5}, {nan, 4}, {nan, 4}},
			{{nan, 4}, {nan, 5}, {nan, 4}},
		} {
			out := encode(t, tc[1:2])
			op.Apply(out, encode(t, tc[:1]), datatype.Float64Int64, 1)
			require.Equal(t, encode(t, tc[2:]), out, "%v %v", op, tc)
		}
	}
}
