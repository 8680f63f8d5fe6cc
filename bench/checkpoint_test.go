package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// TestCheckpointRows: the time of a save is compared with that of a copy in, and of a restore with one
// out.
func TestCheckpointRows(t *testing.T) {
	all := newResults()
	of := func(test perf.Test, seconds float64) perf.Result {
		return perf.Result{Test: test, Size: pvfsBytes, Window: 1, Median: seconds, P99: seconds, Unit: "s"}
	}
	all.add(context.Background(), contender{name: checkpointName(ours), run: func(context.Context) ([]perf.Result, error) {
		return []perf.Result{of(checkpointSave, 0.5), of(checkpointRestore, 0.5), of(checkpointIn, 0.45), of(checkpointOut, 0.2)}, nil
	}})
	got := checkpointRows(all)
	require.Len(t, got, 4)
	assert.Equal(t, isUnknown, got[0].Verdict)
	assert.Equal(t, row{
		What: "checkpoint: 1 GiB of 4 ranks saved, via+shm", Value: "0.500 s", Best: "0.90 × as fast as pvfs cp (0.450 s)",
		Reach: "≥ 0.8 × pvfs cp", Aim: "≥ pvfs cp", Verdict: isReach,
	}, got[2])
	assert.Equal(t, isMissed, got[3].Verdict)
}

// TestCheckpointsAreMeasured runs everything with a small array.
func TestCheckpointsAreMeasured(t *testing.T) {
	cores := onTwoCores(t)
	t.Chdir("..") // where the sources are
	bin := t.TempDir()
	require.NoError(t, programs.Build(bin, "cmd/pvfs", "cmd/pvfsd", "cmd/mpiexec", "bench"))
	cfg := config{
		self: filepath.Join(bin, "bench"), mpi: bin, pvfs: filepath.Join(bin, "pvfs"), pvfsd: filepath.Join(bin, "pvfsd"), work: bin,
		cores: cores, only: groupCheckpoint, pvfsBytes: 3<<20 + 5,
	}
	defer removePVFSInput()
	for _, c := range prepare(t.Context(), cfg) {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.run(t.Context())
			require.NoError(t, err)
			tests := make(map[perf.Test]bool)
			for _, r := range got {
				assert.Positive(t, r.Median, r.Test)
				tests[r.Test] = true
			}
			assert.Len(t, tests, 4)
		})
	}
	left, err := filepath.Glob(filepath.Join(memoryFolder, memoryName("pvfs-*")))
	require.NoError(t, err)
	assert.Empty(t, left)
}
