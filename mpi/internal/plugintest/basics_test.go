//go:build linux

package plugintest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/programs"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/plugins"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bg is the context of calls that nothing ends.
var bg = context.Background()

// load builds the plugin with the VIA method and loads it for the time of the test. Its methods are far-shm and far-udp.
func load(t *testing.T, opts plugins.Options) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, programs.Build(dir, "cmd/bmi-method-via"))
	opts.Names = map[string]string{"via+shm": "far-shm", "via+udp": "far-udp"}
	opts.Env = []string{"VIADUCT_SHM_DIR=" + t.TempDir()}
	p, err := plugins.Load(t.Context(), filepath.Join(dir, "bmi-method-via"), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Unload(bg)) })
}

// TestOverAPlugin: messages travel by a method in another process, over shared memory to that process, and over gRPC.
func TestOverAPlugin(t *testing.T) {
	for name, noRings := range map[string]bool{"rings": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			load(t, plugins.Options{NoRings: noRings})
			mpitest.Run(t, 3, mpitest.Options{Method: "far-shm"}, aLittleOfEverything)
		})
	}
}

// aLittleOfEverything is a test that must work over every method: messages of all sizes, a collective operation, and a new
// communicator.
func aLittleOfEverything(t *testing.T, p *mpi.Process) {
	w := p.World()
	rank, size := w.Rank(), w.Size()
	for _, n := range []int{0, 1, 1000, 100_000} {
		out, in := numbers(rank, n), make([]int64, n)
		from := (rank + size - 1) % size
		st, err := w.Sendrecv(bg, mpi.Slice(out), (rank+1)%size, 3, mpi.Slice(in), from, 3)
		require.NoError(t, err)
		require.Equal(t, from, st.Source)
		require.Equal(t, numbers(from, n), in)
		sum, want := make([]int64, n), make([]int64, n)
		require.NoError(t, w.Allreduce(bg, mpi.Slice(out), mpi.Slice(sum), mpi.Sum))
		for r := range size {
			for i, x := range numbers(r, n) {
				want[i] += x
			}
		}
		require.Equal(t, want, sum)
	}
	half, err := w.Split(bg, rank%2, rank)
	require.NoError(t, err)
	assert.Equal(t, (size+1-rank%2)/2, half.Size())
	require.NoError(t, half.Barrier(bg))
	require.NoError(t, half.Free())
}

// numbers are n elements of a rank.
func numbers(rank, n int) []int64 {
	xs := make([]int64, n)
	for i := range xs {
		xs[i] = int64(rank*1000003 + i*i)
	}
	return xs
}
