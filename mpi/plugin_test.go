//go:build linux

package mpi_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// TestOverAPlugin: the ranks' messages travel by a method that lives in a process of its own,
// over shared memory to it, and over gRPC alone.
func TestOverAPlugin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bmi-method-via")
	out, err := exec.Command("go", "build", "-o", path, "github.com/viaduct-hpc/viaduct/cmd/bmi-method-via").CombinedOutput()
	require.NoError(t, err, "%s", out)
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

// aLittleOfEverything is what must work over any method: messages of every way to travel, a
// collective, and a communicator of one's own.
func aLittleOfEverything(t *testing.T, p *mpi.Process) {
	w := p.World()
	rank, size := w.Rank(), w.Size()
	for _, n := range []int{0, 1, 1000, 100_000} {
		out, in := make([]int64, n), make([]int64, n)
		for i := range out {
			out[i] = int64(rank*1_000_000 + i)
		}
		from := (rank + size - 1) % size
		st, err := mpi.Sendrecv(w, out, (rank+1)%size, 3, in, from, 3)
		require.NoError(t, err)
		require.Equal(t, from, st.Source)
		for i := range in {
			require.Equal(t, int64(from*1_000_000+i), in[i])
		}
		sum := make([]int64, n)
		require.NoError(t, mpi.Allreduce(w, out, sum, mpi.Sum))
		for i := range sum {
			require.Equal(t, int64(size*(size-1)/2*1_000_000+size*i), sum[i])
		}
	}
	half, err := w.Split(rank%2, rank)
	require.NoError(t, err)
	assert.Equal(t, (size+1-rank%2)/2, half.Size())
	require.NoError(t, mpi.Barrier(half))
	require.NoError(t, half.Free())
}
