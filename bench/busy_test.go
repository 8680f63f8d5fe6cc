package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

func TestSplitOf(t *testing.T) {
	two := perf.Cores{Pinned: true, Near: 0, Far: 1}
	assert.Equal(t, split{ranks: "0", busy: "1"}, splitOf(two, []int{0, 1}), "both ranks share one")
	assert.Equal(t, split{ranks: "0,1", busy: "5"}, splitOf(two, []int{0, 1, 5, 6}))
	assert.Equal(t, split{ranks: "0", busy: "1"}, splitOf(two, nil))
}

// fakeRuns are runs of 8 B half round trips in a neighbourhood.
func fakeRuns(all *results, n neighbourhood, method string, us ...float64) {
	id := pointID{n.name(method), perf.Latency, rateSize}
	for _, v := range us {
		all.values[id] = append(all.values[id], perf.Result{Test: perf.Latency, Size: rateSize, Median: v})
	}
}

func TestBusyRowsOfKnownNumbers(t *testing.T) {
	all := newResults()
	one, two := neighbourhood{busy: 1}, neighbourhood{busy: 2}
	fakeRuns(all, one, ours, 1, 2, 3)
	fakeRuns(all, one, oursMPI, 4, 4, 31)
	fakeRuns(all, one, openMPI, 2, 4, 6)
	fakeRuns(all, two, ours, 1)
	fakeRuns(all, two, openMPI, 1)
	all.failures[two.name(openMPI)] = "failed: no end within 20s"
	fakeRuns(all, neighbourhood{apart: true}, ours, 10)
	fakeRuns(all, neighbourhood{apart: true, busy: 1}, ours, 11, 10.5)
	fakeRuns(all, neighbourhood{apart: true, busy: 4}, ours, 12)

	got := busyRows(all, split{ranks: "0", busy: "1"})
	require.Len(t, got, 12)
	assert.Equal(t, row{
		What: "busy: 8 B half round trip, via+shm, beside 1 busy", Value: "2.00 µs, worst 3.00 µs",
		Best:  "0.5 ×, worst 0.5 ×, of openmpi (4.00 µs, worst 6.00 µs)",
		Reach: "≤ 1.5 × Open MPI, worst ≤ 5 ×", Aim: "≤ Open MPI, worst, too", Verdict: isAim,
	}, got[0])
	assert.Equal(t, isMissed, got[1].Verdict, "the worst of mpi is more than five times that of Open MPI")
	assert.Equal(t, "openmpi: failed: no end within 20s", got[2].Best)
	assert.Equal(t, isUnknown, got[2].Verdict)
	assert.Equal(t, isUnknown, got[4].Value)

	assert.Equal(t, "busy: 8 B half round trip, via+shm, 1 busy, ranks on processor 0, busy ones on 1", got[6].What)
	assert.Equal(t, "10.75 µs, worst 11.00 µs; 1.07 × of 10.00 µs without busy ones", got[6].Value)
	assert.Equal(t, isAim, got[6].Verdict)
	assert.Equal(t, isMissed, got[10].Verdict)
	assert.Equal(t, isUnknown, got[11].Verdict)
}

func TestWorseVerdict(t *testing.T) {
	assert.Equal(t, isAim, worse(isAim, isAim))
	assert.Equal(t, isReach, worse(isAim, isReach))
	assert.Equal(t, isMissed, worse(isMissed, isReach))
	assert.Equal(t, isUnknown, worse(isMissed, isUnknown))
}

// TestBesideBusyProcesses runs ours, and Open MPI where it is installed, for a moment.
func TestBesideBusyProcesses(t *testing.T) {
	cores := onTwoCores(t)
	need.Program(t, "cc", "gcc")
	t.Chdir("..") // where the sources are
	cfg := config{self: thisProgram(t), mpi: t.TempDir(), work: t.TempDir(), point: time.Millisecond, cores: cores}
	require.NoError(t, programs.Build(cfg.mpi, "cmd/mpiexec"))
	program, err := compileC(t.Context(), cfg, "busy")
	require.NoError(t, err)
	for _, n := range []neighbourhood{{busy: 2}, {busy: 1, apart: true}} {
		t.Run(n.String(), func(t *testing.T) {
			if n.apart {
				need.Program(t, "taskset")
			}
			stop, err := n.startBusy(cfg, program)
			require.NoError(t, err)
			defer stop()
			for _, c := range n.contenders(t.Context(), cfg) {
				if c.missing != "" {
					t.Logf("%s: %s", c.name, c.missing)
					continue
				}
				got, err := c.run(t.Context())
				require.NoError(t, err, c.name)
				require.Len(t, got, 1)
				assert.Positive(t, got[0].Median, c.name)
			}
		})
	}
	_, err = neighbourhood{busy: 1}.startBusy(cfg, "/no/such/program")
	assert.Error(t, err)
}

// TestWithoutBusyProcesses: the report says why a row is missing.
func TestWithoutBusyProcesses(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no C compiler
	all := newResults()
	states, err := busyRuns(t.Context(), config{work: t.TempDir(), rounds: 1}, all)
	require.NoError(t, err)
	assert.Empty(t, states)
	require.Len(t, all.failures, len(overBusy))
	for _, method := range overBusy {
		assert.Equal(t, "no C compiler", all.failures[method], method)
	}
}
