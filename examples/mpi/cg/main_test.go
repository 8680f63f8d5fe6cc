package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/cg"
	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/job"
)

func TestASystemIsSolved(t *testing.T) {
	b := job.Build(t)
	file := filepath.Join(t.TempDir(), "rock.mtx")
	grid := cg.Grid{NX: 14, NY: 9, NZ: 7, Contrast: 3, Seed: 1}
	for _, s := range job.Settings() {
		t.Run(s.String(), func(t *testing.T) {
			out := b.MustRun(t, s, "-generate", "14x9x7", file)
			assert.Regexp(t, `^cg: 882 rows, \d+ entries on \d processes: residual \S+e-1\d after \d+ iterations in .* s; computed directly: \S+e-1\d\n$`, out)
			f, err := os.Open(file)
			require.NoError(t, err)
			defer func() { assert.NoError(t, f.Close()) }()
			got, err := cg.Read(f)
			require.NoError(t, err)
			assert.Equal(t, grid.Rows(0, grid.Len()), got, "the file has another matrix")
		})
	}
	four := job.Setting{N: 4, Method: "via+shm"}
	t.Run("fewer rows than processes", func(t *testing.T) {
		b.MustRun(t, four, "-generate", "3x1", file)
	})
	t.Run("bad input", func(t *testing.T) {
		assert.Contains(t, b.MustFail(t, four, "-generate", "14x9x", file), "is not the size of a grid")
		assert.Contains(t, b.MustFail(t, four, "-generate", "14x9", "-iterations", "2", file), "not solved after 2 iterations")
		assert.Contains(t, b.MustFail(t, four, file+"none"), "no such file")
		require.NoError(t, os.WriteFile(file, []byte("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1\n1 2 5\n"), 0o600))
		assert.Contains(t, b.MustFail(t, four, file), "the matrix is not symmetric")
		require.NoError(t, os.WriteFile(file, []byte("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 5\n2 2 2\n"), 0o600))
		assert.Contains(t, b.MustFail(t, four, file), "the matrix is not positive definite")
	})
}

// TestAWrongSolutionIsSeen: the residual that is computed directly decides.
func TestAWrongSolutionIsSeen(t *testing.T) {
	o := &options{tolerance: 1e-6}
	good := cg.Result{Converged: true, Residual: 9e-7}
	require.NoError(t, check(good, 2e-6, o))
	assert.ErrorContains(t, check(good, 2e-5, o), "far from")
	assert.ErrorContains(t, check(cg.Result{}, 0, o), "not solved")
}
