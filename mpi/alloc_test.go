//go:build !race

package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// number is a named number type.
type number int64

// TestNoAllocation: sending and receiving a few numbers allocates nothing.
func TestNoAllocation(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s := p.Self()
		assert.Zero(t, allocs(t, s, []int64{1}), "int64")
		assert.Zero(t, allocs(t, s, []byte{1}), "byte")
		assert.Zero(t, allocs(t, s, []number{1}), "number")
		assert.Zero(t, allocs(t, s, [][2]float32{{1, 2}}), "[2]float32")
		assert.Zero(t, allocs(t, s, []particle{{id: 1}}), "particle")
	})
}

func allocs[T any](t *testing.T, s *mpi.Comm, xs []T) float64 {
	t.Helper()
	in := make([]T, len(xs))
	reqs := make([]mpi.Request, 2)
	return testing.AllocsPerRun(200, func() {
		r, err := mpi.Irecv(s, in, 0, 1)
		require.NoError(t, err)
		require.NoError(t, mpi.Send(s, xs, 0, 1))
		_, err = r.Wait()
		require.NoError(t, err)
		reqs[0], err = mpi.Irecv(s, in, 0, 1)
		require.NoError(t, err)
		reqs[1], err = mpi.Isend(s, xs, 0, 1)
		require.NoError(t, err)
		require.NoError(t, mpi.WaitAll(reqs...))
	})
}

// BenchmarkSelf measures a message to this process itself.
func BenchmarkSelf(b *testing.B) {
	p, err := mpi.Init(b.Context(), mpi.Options{Method: "mem"})
	require.NoError(b, err)
	s, x, y := p.Self(), []int64{1}, []int64{0}
	for b.Loop() {
		r, _ := mpi.Irecv(s, y, 0, 1)
		_ = mpi.Send(s, x, 0, 1)
		_, _ = r.Wait()
	}
	require.NoError(b, p.Finalize(b.Context()))
}
