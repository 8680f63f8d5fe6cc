package mpi_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// celsius is a named number, particle a structure with padding.
type (
	celsius  float32
	particle struct {
		id  int8
		pos [3]float64
		hot bool
	}
)

// TestGoTypes sends and receives types other than plain numbers.
func TestGoTypes(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, peer := p.World(), 1-p.World().Rank()
		out := []particle{{id: 1, pos: [3]float64{1, 2, 3}, hot: true}, {id: 2}}
		in := make([]particle, 3)
		st, err := w.Sendrecv(bg, mpi.Slice(out), peer, 0, mpi.Slice(in), peer, 0)
		require.NoError(t, err)
		assert.Equal(t, out, in[:2])
		assert.Equal(t, 2*26, st.Bytes, "holes do not travel")
		assert.Equal(t, 2, mpi.GetCount[particle](st))
		assert.Equal(t, 52, mpi.GetCount[byte](st))
		assert.Equal(t, mpi.Undefined, mpi.GetCount[float64](st))
		assert.Equal(t, mpi.Undefined, mpi.GetCount[string](st))
		assert.Equal(t, mpi.Undefined, st.Count(nil))
		assert.Equal(t, mpi.Undefined, st.Elements(nil))

		temperatures := []celsius{20.5, 21}
		st, err = w.Sendrecv(bg, mpi.Slice(temperatures), peer, 0, mpi.InPlace, peer, 0)
		require.NoError(t, err)
		assert.Equal(t, 2, mpi.GetCount[celsius](st))
		assert.Equal(t, 2, mpi.GetCount[float32](st))
		none := make([]struct{}, 4)
		st, err = w.Sendrecv(bg, mpi.Slice(none), peer, 0, mpi.InPlace, peer, 0)
		require.NoError(t, err)
		assert.Equal(t, 0, mpi.GetCount[struct{}](st))
	})
}

// TestNumbersOfC reduces numbers that Go lacks.
func TestNumbersOfC(t *testing.T) {
	type located = datatype.Pair[number.LongDouble, int32]
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, of := p.World(), number.LongDoubleFromFloat64
		// 2^60, 1 and 1: a float64 would lose the ones.
		xs := []number.LongDouble{of(1), of(float64(w.Rank()))}
		if w.Rank() == 0 {
			xs[0] = of(0x1p60)
		}
		sums := make([]number.LongDouble, 2)
		require.NoError(t, w.Allreduce(bg, mpi.Slice(xs), mpi.Slice(sums), mpi.Sum))
		assert.Equal(t, []number.LongDouble{of(0x1p60).Add(of(2)), of(3)}, sums)

		best := []located{{Value: of(5), Index: int32(w.Rank())}, {Value: of(-float64(w.Rank())), Index: int32(w.Rank())}}
		require.NoError(t, w.Allreduce(bg, mpi.InPlace, mpi.Slice(best), mpi.MaxLoc))
		assert.Equal(t, []located{{Value: of(5)}, {Value: of(math.Copysign(0, -1))}}, best)

		ors := []uint32{uint32(w.Rank()) << 8, 0}
		logical := mpi.Typed(ors, 0, 2, datatype.Logical4)
		require.NoError(t, w.Allreduce(bg, mpi.InPlace, logical, mpi.LOr))
		assert.Equal(t, []uint32{1, 0}, ors)
		assert.ErrorIs(t, w.Allreduce(bg, mpi.InPlace, logical, mpi.Sum), mpi.ErrOp)
	})
}

// TestTyped sends a column of a matrix, and receives it as a row, with every kind of send.
func TestTyped(t *testing.T) {
	const n = 200 // 1600 bytes, or 320,000
	for _, width := range []int{1, n} {
		mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			w, peer := p.World(), 1-p.World().Rank()
			columns, err := datatype.Vector(n, width, n, datatype.Float64)
			require.NoError(t, err)
			matrix := make([]float64, n*n)
			for i := range matrix {
				matrix[i] = float64(i)
			}
			out := mpi.Typed(matrix, n-width, 1, columns)
			row := make([]float64, n*width)
			in := mpi.Slice(row)
			require.NoError(t, p.World().AttachBuffer(nil))
			for tag, how := range [][]mpi.Mode{nil, {mpi.Synchronous}, {mpi.Buffered}, {mpi.Ready}} {
				for _, send := range []func(b mpi.Buffer, dst, tag int, how ...mpi.Mode) mpi.Request{w.Isend, started(t, w), nowait(t, w)} {
					clear(row)
					if w.Rank() == 0 {
						_, err := send(out, peer, tag, how...).Wait(bg)
						require.NoError(t, err)
						continue
					}
					st, err := w.Recv(bg, in, peer, tag)
					require.NoError(t, err)
					assert.Equal(t, 1, st.Count(columns))
					assert.Equal(t, n*width, st.Elements(columns))
					assert.Equal(t, float64(n-width), row[0])
					assert.Equal(t, float64(n*n-1), row[n*width-1])
				}
			}
			_, err = p.World().DetachBuffer(t.Context())
			require.NoError(t, err)
		})
	}
}

// started makes persistent sends, and starts each once.
func started(t *testing.T, w *mpi.Comm) func(b mpi.Buffer, dst, tag int, how ...mpi.Mode) mpi.Request {
	return func(b mpi.Buffer, dst, tag int, how ...mpi.Mode) mpi.Request {
		r := w.Isend(b, dst, tag, append([]mpi.Mode{mpi.Persistent}, how...)...)
		require.NoError(t, r.Start())
		return r
	}
}

// nowait makes blocking sends, whose request is null.
func nowait(t *testing.T, w *mpi.Comm) func(b mpi.Buffer, dst, tag int, how ...mpi.Mode) mpi.Request {
	return func(b mpi.Buffer, dst, tag int, how ...mpi.Mode) mpi.Request {
		require.NoError(t, w.Send(bg, b, dst, tag, how...))
		return mpi.Request{}
	}
}

func typeOfPairs() (*datatype.Type, error) { return datatype.Of[[2]int64]() }
