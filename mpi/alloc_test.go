//go:build !race

package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// named is a named number type.
type named int64

// TestNoAllocation: sending and receiving a few numbers allocates nothing.
func TestNoAllocation(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s := p.Self()
		assert.Zero(t, allocs(t, s, []int64{1}), "int64")
		assert.Zero(t, allocs(t, s, []byte{1}), "byte")
		assert.Zero(t, allocs(t, s, []named{1}), "named")
		assert.Zero(t, allocs(t, s, [][2]float32{{1, 2}}), "[2]float32")
		assert.Zero(t, allocs(t, s, []particle{{id: 1}}), "particle")
		x, y := named(1), named(0)
		assert.Zero(t, testing.AllocsPerRun(200, func() {
			r := s.Irecv(mpi.Value(&y), 0, 1)
			require.NoError(t, s.Send(bg, mpi.Value(&x), 0, 1, mpi.Synchronous))
			_, err := r.Wait(bg)
			require.NoError(t, err)
		}), "one number, with a mode")
	})
}

func allocs[T any](t *testing.T, s *mpi.Comm, xs []T) float64 {
	t.Helper()
	in := make([]T, len(xs))
	reqs := make([]mpi.Request, 2)
	return testing.AllocsPerRun(200, func() {
		r := s.Irecv(mpi.Slice(in), 0, 1)
		require.NoError(t, s.Send(bg, mpi.Slice(xs), 0, 1))
		_, err := r.Wait(bg)
		require.NoError(t, err)
		reqs[0] = s.Irecv(mpi.Slice(in), 0, 1)
		reqs[1] = s.Isend(mpi.Slice(xs), 0, 1)
		require.NoError(t, mpi.WaitAll(bg, reqs...))
	})
}

// BenchmarkSelf measures a message to this process itself.
func BenchmarkSelf(b *testing.B) {
	p, err := mpi.Init(b.Context(), mpi.Options{Method: "mem"})
	require.NoError(b, err)
	s, x, y := p.Self(), []int64{1}, []int64{0}
	for b.Loop() {
		r := s.Irecv(mpi.Slice(y), 0, 1)
		_ = s.Send(bg, mpi.Slice(x), 0, 1)
		_, _ = r.Wait(bg)
	}
	require.NoError(b, p.Finalize(b.Context()))
}
