package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/job"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

func TestEveryRankSaysHello(t *testing.T) {
	b := job.Build(t)
	for _, s := range job.Settings() {
		t.Run(s.String(), func(t *testing.T) {
			lines := strings.Split(strings.TrimSuffix(b.MustRun(t, s), "\n"), "\n")
			require.Len(t, lines, s.N)
			for rank, line := range lines {
				assert.Contains(t, line, fmt.Sprintf("hello from rank %d of %d on ", rank, s.N))
			}
		})
	}
	t.Run("over a plugin's method", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, programs.Build(dir, "examples/plugin-go"))
		t.Setenv("BMI_PLUGINS", filepath.Join(dir, "plugin-go"))
		assert.Contains(t, b.MustRun(t, job.Setting{N: 3, Method: "seq"}), "hello from rank 2 of 3 on ")
	})
	t.Run("without a launcher", func(t *testing.T) {
		assert.Contains(t, b.Alone(t), "hello from rank 0 of 1 on ")
	})
}

// TestManyRanks: a job may have many times as many ranks as there are processors.
func TestManyRanks(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 64
	}
	lines := strings.Split(strings.TrimSuffix(job.Build(t).MustRun(t, job.Setting{N: n, Method: "via+shm"}), "\n"), "\n")
	require.Len(t, lines, n)
	for rank, line := range lines {
		require.Contains(t, line, fmt.Sprintf("hello from rank %d of %d on ", rank, n))
	}
}

// TestTheGuideShowsThisProgram: docs/guides/mpi-write.md has the program that runs here.
func TestTheGuideShowsThisProgram(t *testing.T) {
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	at := strings.Index(string(source), "package main\n")
	require.GreaterOrEqual(t, at, 0)
	guide, err := os.ReadFile("../../../docs/guides/mpi-write.md")
	require.NoError(t, err)
	assert.Contains(t, string(guide), "```go\n"+string(source)[at:]+"```\n", "docs/guides/mpi-write.md and main.go differ")
}
