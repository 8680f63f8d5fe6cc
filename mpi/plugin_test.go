//go:build linux

package mpi_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/programs"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// TestOverAPlugin: messages travel by a method in another process, over shared memory to that
// process, and over gRPC.
func TestOverAPlugin(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, programs.Build(dir, "cmd/bmi-method-via"))
	path := filepath.Join(dir, "bmi-method-via")
	for name, noRings := range map[string]bool{"rings": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p, err := plugins.Load(t.Context(), path, plugins.Options{
				Names:   map[string]string{"via+shm": "far-shm", "via+udp": "far-udp"},
				Env:     []string{"VIADUCT_SHM_DIR=" + dir},
				NoRings: noRings,
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Unload(t.Context())) }()
			mpitest.Run(t, 3, mpitest.Options{Method: "far-shm"}, aLittleOfEverything)
		})
	}
}

// aLittleOfEverything is a test that must work over every method: messages of all sizes, a
// collective operation, and a new communicator.
func aLittleOfEverything(t *testing.T, p *mpi.Process) {
	w := p.World()
	rank, size, k := w.Rank(), w.Size(), integers()
	for _, n := range []int{0, 1, 1000, 100_000} {
		out, in := k.slice(rank, 0, n), make([]int64, n)
		from := (rank + size - 1) % size
		st, err := w.Sendrecv(bg, mpi.Slice(out), (rank+1)%size, 3, mpi.Slice(in), from, 3)
		require.NoError(t, err)
		require.Equal(t, from, st.Source)
		same(t, k.slice(from, 0, n), in, "message")
		sum := make([]int64, n)
		require.NoError(t, w.Allreduce(bg, mpi.Slice(out), mpi.Slice(sum), mpi.Sum))
		same(t, k.folded(0, size, 0, n), sum, "sum")
	}
	half, err := w.Split(bg, rank%2, rank)
	require.NoError(t, err)
	assert.Equal(t, (size+1-rank%2)/2, half.Size())
	require.NoError(t, half.Barrier(bg))
	require.NoError(t, half.Free())
}
