package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

func TestParseHeat(t *testing.T) {
	line := "heat: 600 × 800 cells, 200 steps on 2 × 2 processes in 0.125 s\n"
	got, err := parseHeat([]byte("chatter\n" + line))
	require.NoError(t, err)
	assert.InDelta(t, 0.125, got, 1e-9)
	for text, why := range map[string]string{
		"":                                   "does not say",
		strings.Replace(line, " s\n", "", 1): "does not say",
		strings.Replace(line, "2 × 2", "1 × 2", 1): "another plate",
		strings.Replace(line, "200", "20", 1):      "another plate",
	} {
		_, err := parseHeat([]byte(text))
		assert.ErrorContains(t, err, why, text)
	}
}

// fakeMany are four ranks whose tests all take the same time.
func fakeMany(name string, v float64) contender {
	return contender{name: manyName(name), run: func(context.Context) ([]perf.Result, error) {
		return []perf.Result{
			{Test: alltoall, Size: rateSize, Median: v}, {Test: barrier, Median: v}, {Test: allreduce, Size: allreduceSize, Median: v}, {Test: heat, Median: v},
		}, nil
	}}
}

func TestOversubscribedRowsOfKnownNumbers(t *testing.T) {
	all := newResults()
	for _, c := range []contender{fakeMany(oursMPI, 2), fakeMany(openMPI, 12), fakeMany(openMPIPolling, 1), fakeMany(mpich, 20)} {
		all.add(t.Context(), c)
	}
	got := oversubscribedRows(all)
	require.Len(t, got, 4)
	assert.Equal(t, row{
		What: "oversubscribed: 8 B all to all, 4 ranks on 2 processors", Value: "2.0 µs",
		Best:  "6.00 × as fast as openmpi (12.0 µs); 10.00 × as fast as mpich (20.0 µs); 0.50 × as fast as openmpi polling (1.0 µs)",
		Reach: "≥ 1 × as fast as both", Aim: "≥ 1 × as fast as both", Verdict: isAim,
	}, got[0])
	assert.Equal(t, "oversubscribed: heat, 600 × 800 cells, 200 steps, 4 ranks on 2 processors", got[3].What)
	assert.Equal(t, isReach, got[3].Verdict, "6 × as fast as the faster one that knows of the other ranks")

	for _, r := range oversubscribedRows(newResults()) {
		assert.Equal(t, []string{isUnknown, isUnknown, notInstalled}, []string{r.Value, r.Verdict, r.Best}, r.What)
	}
	tables := (&report{Points: all.points()}).pointTables()
	assert.Contains(t, tables, "## More ranks than processors: barrier, µs\n\n| | 0 B |\n| --- | --- |\n| mpi, 4 ranks | 2.0 |\n")
	assert.NotContains(t, strings.SplitN(tables, "## More ranks", 2)[0], "4 ranks")
}

// TestMoreRanksThanProcessors runs ours, and the others where they are installed, for a moment.
func TestMoreRanksThanProcessors(t *testing.T) {
	cores, err := perf.ParsePin("on")
	require.NoError(t, err)
	t.Chdir("..") // where the sources are
	cfg := config{mpi: t.TempDir(), work: t.TempDir(), point: time.Millisecond, cores: cores}
	require.NoError(t, programs.Build(cfg.mpi, "cmd/mpiexec", "cmd/mpibench", "examples/mpi/heat"))
	var names []string
	for _, c := range oversubscribedContenders(t.Context(), cfg) {
		names = append(names, c.name)
		t.Run(c.name, func(t *testing.T) {
			if c.missing != "" && c.name != manyName(oursMPI) {
				need.Unless(t, need.Peers, errors.New(c.missing))
			}
			got, err := c.run(t.Context())
			require.NoError(t, err)
			var tests []perf.Test
			for _, r := range got {
				tests = append(tests, r.Test)
				assert.Positive(t, r.Median, r.Test)
			}
			assert.Equal(t, []perf.Test{alltoall, barrier, allreduce, heat}, tests)
		})
	}
	assert.Equal(t, overSubscribed, names)
}

// TestHeatInCIsTheSerialOne: peers/heat.c computes what one process alone does.
func TestHeatInCIsTheSerialOne(t *testing.T) {
	for _, name := range []string{openMPI, mpich} {
		t.Run(name, func(t *testing.T) {
			p := mpiPrograms[name]
			need.Program(t, p.compiler)
			need.Program(t, p.launcher)
			program := filepath.Join(t.TempDir(), "heat")
			text, err := exec.Command(p.compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, "peers/heat.c").CombinedOutput()
			require.NoError(t, err, "%s", text)
			for _, plate := range [][3]int{{61, 47, 80}, {2, 2, 3}, {5, 2, 1}} {
				line := append(slices.Clone(manyArgs[name]), program, strconv.Itoa(plate[0]), strconv.Itoa(plate[1]), strconv.Itoa(plate[2]), "check")
				out, err := command(t.Context(), p.env, p.launcher, line...)
				require.NoError(t, err)
				assert.Regexp(t, heatLine, string(out))
				assert.Contains(t, string(out), "heat: 0 cells differ from the serial solution\n")
			}
		})
	}
}
