package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/job"
)

// TestItGoesOn: jobs of different sizes take a few steps each, and get the result of one that takes
// all.
func TestItGoesOn(t *testing.T) {
	b := job.Build(t)
	store := filepath.Join(t.TempDir(), "store")
	run := func(n int, store, steps string) string {
		return b.MustRun(t, job.Setting{N: n, Method: "via+shm"}, "-store", store, "-steps", steps)
	}
	_, whole, _ := strings.Cut(run(2, store+"2", "160"), ": ")
	assert.Contains(t, run(4, store, "60"), "from step 0 to 60 on 4 processes: ")
	assert.Contains(t, run(1, store, "120"), "from step 50 to 120 on 1 processes: ")
	assert.Equal(t, "from step 100 to 160 on 3 processes: "+whole, run(3, store, "160"))
}

// TestTheGuideShowsThisProgram: docs/guides/mpi-trouble.md has the function that runs here.
func TestTheGuideShowsThisProgram(t *testing.T) {
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, compute, found := strings.Cut(string(source), "\nfunc compute(")
	require.True(t, found)
	guide, err := os.ReadFile("../../../docs/guides/mpi-trouble.md")
	require.NoError(t, err)
	assert.Contains(t, string(guide), "```go\nfunc compute("+compute+"```\n", "docs/guides/mpi-trouble.md and main.go differ")
}
