package main

import (
	"context"
	"errors"
	"os/exec"
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

// fakeOneSided are two ranks whose tests all take the same time, except for partitioned messages.
func fakeOneSided(name string, v, parts float64) contender {
	return contender{name: oneSidedName(name), run: func(context.Context) ([]perf.Result, error) {
		return []perf.Result{
			{Test: put, Size: rateSize, Median: v}, {Test: get, Size: rateSize, Median: v}, {Test: fetchAndOp, Size: rateSize, Median: v},
			{Test: fence, Size: rateSize, Median: v}, {Test: put, Size: mpiLargeSize, Median: v}, {Test: perf.Latency, Size: mpiLargeSize, Median: v},
			{Test: partitioned, Size: mpiLargeSize, Median: parts},
		}, nil
	}}
}

func TestOneSidedRowsOfKnownNumbers(t *testing.T) {
	all := newResults()
	for _, c := range []contender{
		fakeOneSided(oursMPI, 1.1, 1.32), fakeOneSided(openMPI, 2, 2), fakeOneSided(mpich, 1, 3), fakeOneSided(oursMPITCP, 6, 6), fakeOneSided(openMPITCP, 10, 10),
	} {
		all.add(t.Context(), c)
	}
	got := oneSidedRows(all)
	require.Len(t, got, 7)
	var verdicts []string
	for _, r := range got {
		verdicts = append(verdicts, r.Verdict)
	}
	assert.Equal(t, []string{isReach, isReach, isReach, isMissed, isReach, isAim, isReach}, verdicts)
	assert.Equal(t, row{
		What: "one-sided: 8 B put and flush", Value: "1.100 µs", Best: "1.10 × of mpich, one-sided (1.000 µs)",
		Reach: "≤ 1.2 × the best", Aim: "≤ 0.8 × the best", Verdict: isReach,
	}, got[0])
	assert.Equal(t, "0.60 × of openmpi tcp, one-sided (10.00 µs)", got[5].Best)
	assert.Equal(t, "one-sided: 64 partitions of 16 KiB", got[6].What)
	assert.Equal(t, "1.32 µs, 1.20 × of one message", got[6].Value)
	assert.Equal(t, "0.44 × of mpich, one-sided (3.00 µs, 3.00 × of one message)", got[6].Best)

	for _, r := range oneSidedRows(newResults()) {
		assert.Equal(t, []string{isUnknown, isUnknown}, []string{r.Value, r.Verdict}, r.What)
	}
	tables := (&report{Points: all.points()}).pointTables()
	assert.Contains(t, tables, "| mpi, one-sided | 1.100 | 1.100 |\n")
	assert.NotContains(t, strings.SplitN(tables, "## One-sided", 2)[0], "one-sided")
}

// TestOneSidedOperationsAreMeasured runs ours, and the others where they are installed, for a moment.
func TestOneSidedOperationsAreMeasured(t *testing.T) {
	assert.Equal(t, mpiperf.Partitions, partitions)
	cores := onTwoCores(t)
	t.Chdir("..") // where the sources are
	cfg := config{mpi: t.TempDir(), work: t.TempDir(), point: time.Millisecond, cores: cores}
	require.NoError(t, programs.Build(cfg.mpi, "cmd/mpiexec", "cmd/mpibench"))
	tests := map[string][]perf.Test{
		oneSidedName(oursMPI):    {put, get, fetchAndOp, fence, put, perf.Latency, partitioned},
		oneSidedName(openMPI):    {put, get, fetchAndOp, fence, put},
		oneSidedName(mpich):      {put, get, fetchAndOp, fence, put, perf.Latency, partitioned},
		oneSidedName(oursMPITCP): {put},
		oneSidedName(openMPITCP): {put},
	}
	var names []string
	for _, c := range oneSidedContenders(t.Context(), cfg) {
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
				assert.Positive(t, r.Median, r.Test)
			}
			assert.Equal(t, tests[c.name], done)
		})
	}
	assert.Equal(t, overOneSided, names)
}

// TestProgramsInCAreCleanC: the compilers of the other MPIs have nothing to say about the programs.
func TestProgramsInCAreCleanC(t *testing.T) {
	for name, programs := range map[string][]string{openMPI: {"rma", "blocks"}, mpich: {"rma", "blocks", "partitioned"}} {
		compiler := mpiPrograms[name].compiler
		if !find(compiler) {
			continue
		}
		for _, program := range programs {
			text, err := exec.Command(compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(t.TempDir(), program), filepath.Join("peers", program+".c")).CombinedOutput()
			assert.NoError(t, err, "%s with %s: %s", program, compiler, text)
		}
	}
}
