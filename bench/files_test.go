package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpiperf"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// fakeBlocks move as many MB/s in each test as given, in the order of filesTests.
func fakeBlocks(name string, mb ...float64) contender {
	return contender{name: name, run: func(context.Context) (all []perf.Result, err error) {
		for i, v := range mb {
			all = append(all, perf.Result{Test: filesTests[i], Size: filesBytes, Median: v})
		}
		return all, nil
	}}
}

func TestFilesRowsOfKnownNumbers(t *testing.T) {
	all := newResults()
	for _, c := range []contender{
		fakeBlocks(filesName(oursMPI), 1200, 1500), fakeBlocks(filesName(openMPI), 1000, 900), fakeBlocks(filesName(openMPIROMIO), 1100, 1000),
		fakeBlocks(filesName(mpich), 700, 800), fakeBlocks(filesOnName(oursTCP), 900, 700, 1000, 1000, 100, 90), fakeBlocks(filesOnName(ours), 990, 960, 1000, 1000, 200, 90),
	} {
		all.add(t.Context(), c)
	}
	got := fileRows(all)
	require.Len(t, got, 10)
	var verdicts []string
	for _, r := range got {
		verdicts = append(verdicts, r.Verdict)
	}
	assert.Equal(t, []string{isReach, isAim, isReach, isMissed, isReach, isReach, isAim, isAim, isReach, isAim}, verdicts)
	assert.Equal(t, row{
		What: "files: collective write of 256 MiB in blocks, 4 ranks, local file system", Value: "1200 MB/s",
		Best: "1.09 × of openmpi romio, files (1100 MB/s)", Reach: "≥ the best", Aim: "≥ 1.5 × the best", Verdict: isReach,
	}, got[0])
	assert.Equal(t, row{
		What: "files: collective write of 256 MiB in blocks, 4 ranks, pvfsd over tcp, against contiguous writes", Value: "900 MB/s",
		Best: "0.90 × of contiguous writes (1000 MB/s)", Reach: "≥ 0.8 × contiguous writes", Aim: "≥ 0.95 × contiguous writes", Verdict: isReach,
	}, got[2])

	for _, r := range fileRows(newResults()) {
		assert.Equal(t, []string{isUnknown, isUnknown}, []string{r.Value, r.Verdict}, r.What)
	}
	tables := (&report{Points: all.points()}).pointTables()
	assert.Contains(t, tables, "| mpi, files | 1200 |\n")
	assert.NotContains(t, strings.SplitN(tables, "## Files", 2)[0], "files")
}

// TestFilesAreMeasured runs ours, and the others where they are installed.
func TestFilesAreMeasured(t *testing.T) {
	assert.Equal(t, [3]int{filesPlanes, filesRows, filesColumns}, mpiperf.ArrayOf(filesBytes), "both measure the same array")
	need.Soak(t, "it writes some GiB")
	cores, err := perf.ParsePin("on")
	require.NoError(t, err)
	t.Chdir("..") // where the sources are
	bin := t.TempDir()
	cfg := config{mpi: bin, pvfsd: filepath.Join(bin, "pvfsd"), work: t.TempDir(), point: time.Millisecond, cores: cores}
	require.NoError(t, programs.Build(bin, "cmd/mpiexec", "cmd/mpibench", "cmd/pvfsd"))
	var names []string
	for _, c := range filesContenders(t.Context(), cfg) {
		names = append(names, c.name)
		t.Run(c.name, func(t *testing.T) {
			if c.missing != "" {
				need.Unless(t, need.Peers, errors.New(c.missing))
			}
			got, err := c.run(t.Context())
			require.NoError(t, err)
			var done []perf.Test
			for _, r := range got {
				done = append(done, r.Test)
				assert.Equal(t, filesBytes, r.Size)
				assert.Equal(t, perf.UnitMB, r.Unit)
				assert.Positive(t, r.Median, r.Test)
			}
			assert.Equal(t, filesTests[:len(done)], done)
		})
	}
	assert.Equal(t, overFiles, names)
	left, err := os.ReadDir(cfg.work)
	require.NoError(t, err)
	for _, file := range left {
		assert.NotContains(t, file.Name(), "array", "files are removed")
	}
}
