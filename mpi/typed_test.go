package mpi_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
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
		st, err := mpi.Sendrecv(w, out, peer, 0, in, peer, 0)
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
		st, err = mpi.SendrecvReplace(w, temperatures, peer, 0, peer, 0)
		require.NoError(t, err)
		assert.Equal(t, 2, mpi.GetCount[celsius](st))
		assert.Equal(t, 2, mpi.GetCount[float32](st))
		none := make([]struct{}, 4)
		st, err = mpi.SendrecvReplace(w, none, peer, 0, peer, 0)
		require.NoError(t, err)
		assert.Equal(t, 0, mpi.GetCount[struct{}](st))
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
			out, err := mpi.Typed(asBytes(matrix), 8*(n-width), 1, columns)
			require.NoError(t, err)
			row := make([]float64, n*width)
			in, err := mpi.BufferOf(row)
			require.NoError(t, err)
			require.NoError(t, p.AttachBufferAutomatic())
			for i, send := range []func(mpi.Buffer, int, int) (mpi.Request, error){
				w.IsendBuffer, w.IssendBuffer, w.IbsendBuffer, w.IrsendBuffer,
				start(t, w.SendInitBuffer), start(t, w.BsendInitBuffer), start(t, w.SsendInitBuffer), start(t, w.RsendInitBuffer),
				nowait(w.SendBuffer), nowait(w.BsendBuffer), nowait(w.SsendBuffer), nowait(w.RsendBuffer),
			} {
				clear(row)
				if p.World().Rank() == 0 {
					r, err := send(out, peer, i)
					require.NoError(t, err)
					_, err = r.Wait()
					require.NoError(t, err)
					continue
				}
				st, err := w.RecvBuffer(in, peer, i)
				require.NoError(t, err)
				assert.Equal(t, 1, st.Count(columns))
				assert.Equal(t, n*width, st.Elements(columns))
				assert.Equal(t, float64(n-width), row[0])
				assert.Equal(t, float64(n*n-1), row[n*width-1])
			}
			_, err = p.DetachBuffer(t.Context())
			require.NoError(t, err)
		})
	}
}

// start makes a send from a persistent send, which it starts once.
func start(t *testing.T, init func(mpi.Buffer, int, int) (mpi.Request, error)) func(mpi.Buffer, int, int) (mpi.Request, error) {
	return func(b mpi.Buffer, dst, tag int) (mpi.Request, error) {
		r, err := init(b, dst, tag)
		require.NoError(t, err)
		return r, r.Start()
	}
}

// nowait makes a send with a request from a blocking one.
func nowait(send func(mpi.Buffer, int, int) error) func(mpi.Buffer, int, int) (mpi.Request, error) {
	return func(b mpi.Buffer, dst, tag int) (mpi.Request, error) {
		return mpi.Request{}, send(b, dst, tag)
	}
}

func asBytes(xs []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(xs))), 8*len(xs))
}

func typeOfPairs() (*datatype.Type, error) { return datatype.Of[[2]int64]() }
