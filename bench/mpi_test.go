package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// fakeMPI returns an MPI whose points all take the given microseconds in each round.
func fakeMPI(name string, us ...float64) contender {
	points := fake(name, us...)
	round := 0
	return contender{name: name, run: func(ctx context.Context) ([]perf.Result, error) {
		all, err := points.run(ctx)
		v := us[round]
		round++
		return append(all,
			perf.Result{Test: barrier, Median: v, Unit: perf.UnitMicros},
			perf.Result{Test: allreduce, Size: allreduceSize, Median: v, Unit: perf.UnitMicros}), err
	}}
}

// fakeSort returns a sample sort that takes the given seconds.
func fakeSort(name string, seconds float64) contender {
	return contender{name: sortName(name), run: func(context.Context) ([]perf.Result, error) {
		return []perf.Result{{Test: sampleSort, Size: sortRecords * sortRecordBytes, Median: seconds, Unit: "s"}}, nil
	}}
}

func TestMPIRowsOfKnownNumbers(t *testing.T) {
	all := newResults()
	contenders := []contender{
		fake(ours, 1.1, 2, 1.1), fakeMPI(oursMPI, 1.2, 2.2, 1.15), fakeMPI(openMPI, 1, 1, 1), fakeMPI(mpich, 0.8, 0.8, 0.8),
		fakeSort(oursMPI, 1.5), fakeSort(openMPI, 1.3), fakeSort(mpich, 2),
	}
	for range 3 {
		for _, c := range contenders {
			all.add(context.Background(), c)
		}
	}
	got := mpiRows(all)
	require.Len(t, got, 9)
	var verdicts []string
	for _, r := range got {
		verdicts = append(verdicts, r.Verdict)
	}
	assert.Equal(t, []string{isMissed, isMissed, isMissed, isMissed, isMissed, isMissed, isMissed, isAim, isAim}, verdicts)

	assert.Equal(t, row{
		What: "mpi: 8 B half round trip", Value: "1.200 µs", Best: "1.50 × of mpich (0.800 µs); 1.20 × of openmpi",
		Reach: "≤ 1.15 × Open MPI", Aim: "≤ 0.95 × Open MPI", Verdict: isMissed,
	}, got[0])
	assert.Equal(t, "mpi: 64 B half round trip", got[1].What)
	assert.Equal(t, "1.50 × of mpich (0.800 µs)", got[1].Best)
	assert.Equal(t, "mpi: 1 KiB half round trip", got[2].What)
	assert.Equal(t, "0.83 million/s", got[3].Value)
	assert.Equal(t, "0.67 × of mpich (1.25 million/s); 0.83 × of openmpi", got[3].Best)
	assert.Equal(t, []string{"≥ 0.9 × Open MPI", "≥ 1.1 × Open MPI"}, []string{got[3].Reach, got[3].Aim})
	assert.Equal(t, "mpi: barrier", got[5].What)
	assert.Equal(t, "1.20 µs", got[6].Value)
	assert.Equal(t, "100 ns (mpi 1.200 µs, bmi 1.100 µs)", got[7].Value, "the median of 100, 200 and 50 ns")
	assert.Equal(t, "mpi: sample sort of 64 MiB, 4 processes on 2 cores", got[8].What)
	assert.Equal(t, "1.15 × of openmpi sample sort (1.300 s)", got[8].Best)

	for _, r := range mpiRows(newResults()) {
		assert.Equal(t, isUnknown, r.Verdict, r.What)
	}
	tables := (&report{Points: all.points()}).pointTables()
	assert.Contains(t, tables, "## Barrier of two ranks, µs\n\n| | 0 B |\n| --- | --- |\n| mpi over via+shm | 1.200 |\n| MPICH | 0.800 |\n| Open MPI | 1.000 |\n")
	assert.Contains(t, tables, "| openmpi sample sort | 1.300 |")
}

func TestParseSort(t *testing.T) {
	line := fmt.Sprintf("samplesort: %d records on %d processes in 0.750 s, verified\n", sortRecords, sortRanks)
	got, err := parseSort([]byte("chatter\n" + line))
	require.NoError(t, err)
	assert.InDelta(t, 0.75, got, 1e-9)
	for text, why := range map[string]string{
		"":                                       "does not say",
		strings.TrimSuffix(line, ", verified\n"): "does not say",
		strings.Replace(line, "on 4", "on 2", 1): "on 4 processes, not",
		strings.Replace(line, "0.750", "0.000", 1): "no time",
	} {
		_, err := parseSort([]byte(text))
		assert.ErrorContains(t, err, why, text)
	}
}

// TestMPIsAreMeasured runs ours, and the others where they are installed, for a moment.
func TestMPIsAreMeasured(t *testing.T) {
	cores := onTwoCores(t)
	t.Chdir("..") // where the sources are
	cfg := config{sizes: allSizes, mpi: t.TempDir(), work: t.TempDir(), point: time.Millisecond, cores: cores}
	require.NoError(t, programs.Build(cfg.mpi, "cmd/mpiexec", "cmd/mpibench", "examples/mpi/samplesort"))
	for _, c := range sortContenders(t.Context(), cfg) {
		t.Run(c.name, func(t *testing.T) {
			if c.missing != "" && c.name != sortName(oursMPI) {
				need.Unless(t, need.Peers, errors.New(c.missing))
			}
			require.Empty(t, c.missing)
			got, err := c.run(t.Context())
			require.NoError(t, err)
			require.Len(t, got, 1)
			assert.Positive(t, got[0].Median)
		})
	}
	left, err := os.ReadDir(cfg.work)
	require.NoError(t, err)
	for _, file := range left {
		assert.NotContains(t, file.Name(), "sorted", "outputs are removed")
	}
	for _, c := range []contender{oursMPIContender(cfg), mpiContender(t.Context(), cfg, openMPI), mpiContender(t.Context(), cfg, mpich)} {
		t.Run(c.name, func(t *testing.T) {
			if c.missing != "" {
				need.Unless(t, need.Peers, errors.New(c.missing))
			}
			got, err := c.run(t.Context())
			require.NoError(t, err)
			count := make(map[perf.Test]int)
			for _, r := range got {
				count[r.Test]++
				assert.Positive(t, r.Median, r.Test)
			}
			assert.Equal(t, map[perf.Test]int{
				perf.Latency: len(latencySizes), perf.Rate: 1, barrier: 1, allreduce: 1,
				perf.Bandwidth: len(bandwidthSizes), perf.Bidirectional: len(bandwidthSizes),
			}, count)
		})
	}
}
