package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			exit(role(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

func TestParseUCX(t *testing.T) {
	out := []byte("iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n 100,80.5,90.25,91.5,590.66,590.66,591,600\n")
	r, err := parseUCX(out, perf.Latency, 1<<20)
	require.NoError(t, err)
	assert.InDelta(t, 80.5, r.Median, 1e-9)
	assert.InDelta(t, 91.5, r.P99, 1e-9)
	r, err = parseUCX(out, perf.Rate, 8)
	require.NoError(t, err)
	assert.InDelta(t, 600, r.Median, 1e-9)
	r, err = parseUCX(out, perf.Bandwidth, 1e6)
	require.NoError(t, err)
	assert.InDelta(t, 600, r.Median, 1e-9, "10^6 bytes, 600 times a second")
	for _, bad := range []string{"", "1,2,3", "a,b,c,d,e,f,g,h"} {
		_, err = parseUCX([]byte(bad), perf.Latency, 8)
		assert.Error(t, err, bad)
	}
}

func TestParseFabric(t *testing.T) {
	out := []byte("bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n8       10k     =10k     156k        1.93s      0.08      96.55       0.01\n")
	r, err := parseFabric(out, 8)
	require.NoError(t, err)
	assert.InDelta(t, 96.55, r.Median, 1e-9)
	assert.Equal(t, perf.UnitMicros, r.Unit)
	_, err = parseFabric([]byte("nothing"), 8)
	assert.Error(t, err)
}

func TestParseMatch(t *testing.T) {
	out := []byte(`cpu: x
BenchmarkMatch/side=posted/kind=exact/queued=1-2         	 3276622	        36.00 ns/op	       0 B/op	       0 allocs/op
BenchmarkMatch/side=posted/kind=exact/queued=1-2         	 3578730	        34.00 ns/op	       0 B/op	       0 allocs/op
BenchmarkMatch/side=posted/kind=exact/queued=1000000-2   	 1000000	        70.0 ns/op	       0 B/op	       0 allocs/op
`)
	got, err := parseMatch(out)
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"side=posted/kind=exact/queued=1": 35, "side=posted/kind=exact/queued=1000000": 70}, got)
}

func TestParseResultsSkipsChatterAndRejectsNothing(t *testing.T) {
	got, err := parseResults([]byte("warning: x\n{\"test\":\"latency\",\"method\":\"m\",\"size\":8,\"window\":1,\"median\":2,\"p99\":3,\"unit\":\"us\"}\n"))
	require.NoError(t, err)
	assert.Equal(t, []perf.Result{{Test: perf.Latency, Method: "m", Size: 8, Window: 1, Median: 2, P99: 3, Unit: "us"}}, got)
	_, err = parseResults([]byte("warning: x\n"))
	assert.Error(t, err)
	_, err = parseResults([]byte("{\"test\":\n"))
	assert.Error(t, err)
}

func TestJudge(t *testing.T) {
	assert.Equal(t, isAim, judge(1.4, 2, 1.4))
	assert.Equal(t, isReach, judge(1.5, 2, 1.4))
	assert.Equal(t, isMissed, judge(2.1, 2, 1.4))
	assert.Equal(t, isUnknown, judge(math.NaN(), 2, 1.4))
	assert.Equal(t, isAim, judgeMore(1.3, 0.7, 1.25))
	assert.Equal(t, isReach, judgeMore(0.7, 0.7, 1.25))
	assert.Equal(t, isMissed, judgeMore(0.6, 0.7, 1.25))

	nan := math.NaN()
	assert.Equal(t, isAim, judgeApart(1, 1, 1.3, 1.3))
	assert.Equal(t, isReach, judgeApart(1, 1, 1.4, 1.3))
	assert.Equal(t, isReach, judgeApart(1, 1, nan, 1.3), "the aim cannot be seen")
	assert.Equal(t, isMissed, judgeApart(1.1, 1, 1, 1.3), "the aim does not replace what must be reached")
	assert.Equal(t, isUnknown, judgeApart(nan, 1, 1, 1.3))
}

// fake returns a contender whose points take the given microseconds in each
// round.
func fake(name string, us ...float64) contender {
	round := 0
	return contender{name: name, run: func(context.Context) ([]perf.Result, error) {
		v := us[round]
		round++
		var all []perf.Result
		for _, size := range latencySizes {
			all = append(all, perf.Result{Test: perf.Latency, Method: "other", Size: size, Median: v, P99: v, Unit: perf.UnitMicros})
		}
		return append(all, perf.Result{Test: perf.Rate, Size: rateSize, Median: 1e6 / v, P99: 1e6 / v, Unit: perf.UnitMessages}), nil
	}}
}

func fakeResults() *results {
	all := newResults()
	limit := contender{name: bare, run: func(context.Context) ([]perf.Result, error) {
		out := []perf.Result{{Test: perf.LimitBounce, Median: 1, P99: 1, Unit: perf.UnitMicros}}
		for _, size := range latencySizes {
			out = append(out, perf.Result{Test: perf.LimitMemcpy, Size: size, Median: 2, P99: 2, Unit: perf.UnitMicros})
		}
		return out, nil
	}}
	broken := contender{name: mpich, run: func(context.Context) ([]perf.Result, error) { return nil, errors.New("broken") }}
	us, mpi := fake(ours, 1.5, 1.2, 9), fake(openMPI, 2, 3, 4)
	for range 3 {
		for _, c := range []contender{limit, us, mpi, broken, absent(ucx, notInstalled)} {
			all.add(context.Background(), c)
		}
	}
	return all
}

func TestRowsOfKnownNumbers(t *testing.T) {
	zero, ratio, kib := 0.0, 1.5, 40.0*1024
	got := rows(fakeResults(), counts{AllocsPerMessage: &zero, MatchRatio: &ratio, ConnectedBytes: &kib})
	byWhat := make(map[string]row)
	for _, r := range got {
		byWhat[r.What] = r
	}
	require.Len(t, byWhat, 94)

	latency := byWhat["8 B half round trip"]
	assert.Equal(t, "1.500 µs", latency.Value, "the median of the rounds")
	assert.Equal(t, "1.50 × (1.000 µs)", latency.Bare)
	assert.Equal(t, "0.50 × of openmpi (3.000 µs)", latency.Best)
	assert.Equal(t, isReach, latency.Verdict)
	open := byWhat["8 B half round trip, against Open MPI"]
	assert.Equal(t, "0.50 × of openmpi (3.000 µs)", open.Best)
	assert.Equal(t, []string{"≤ 1.1 × Open MPI", "≤ 0.9 × Open MPI", isAim}, []string{open.Reach, open.Aim, open.Verdict})
	assert.Equal(t, isAim, byWhat["1 KiB half round trip"].Verdict)
	assert.Equal(t, "≤ 0.8 × the best", byWhat["64 KiB half round trip, plain memory"].Reach)
	assert.Equal(t, "≤ the best", byWhat["1 MiB half round trip, plain memory"].Reach)
	assert.Equal(t, isAim, byWhat["8 B message rate, window 64"].Verdict)
	assert.Equal(t, isAim, byWhat["1 MiB half round trip, plain memory"].Verdict)
	assert.Equal(t, isAim, byWhat["allocations per 8 B message, post to completion"].Verdict)
	assert.Equal(t, isReach, byWhat["match with 1,000,000 queued entries against 1"].Verdict)
	assert.Equal(t, isReach, byWhat["memory per connected idle peer"].Verdict)
	assert.Equal(t, isUnknown, byWhat["memory per known unconnected peer"].Verdict)
	assert.Equal(t, isUnknown, byWhat["8 processes all exchanging on 2 cores, per message"].Verdict)
}

func TestTCPRowsOfKnownNumbers(t *testing.T) {
	all := newResults()
	socket := contender{name: bareSocket, run: func(context.Context) ([]perf.Result, error) {
		var out []perf.Result
		for _, size := range latencySizes {
			out = append(out, perf.Result{Test: perf.LimitSocket, Size: size, Median: 2, Unit: perf.UnitMicros})
		}
		return out, nil
	}}
	for _, c := range []contender{socket, fake(oursTCP, 2.5), fake(ucxTCP, 3), fake(libfabricTCP, 2.4), fake(openMPI, 1), fake(ours, 1)} {
		all.add(context.Background(), c)
	}
	allocs, idle := 0.0, 9.0*1024
	got := tcpRows(all, counts{TCPAllocsPerMessage: &allocs, TCPConnectedBytes: &idle})
	require.Len(t, got, 5)

	assert.Equal(t, "2.50 µs", got[0].Value)
	assert.Equal(t, "1.25 × (2.00 µs)", got[0].Bare)
	assert.Equal(t, "1.04 × of libfabric tcp (2.40 µs); 0.83 × of ucx tcp", got[0].Best, "only with those over TCP")
	assert.Equal(t, isAim, got[0].Verdict, "0.83 × of UCX")

	assert.Equal(t, "419.43 GB/s", got[1].Value, "1 MiB in 2.5 µs")
	assert.Equal(t, "0.80 × (524.29 GB/s)", got[1].Bare)
	assert.Equal(t, "0.96 × of libfabric tcp (436.91 GB/s)", got[1].Best)
	assert.Equal(t, isMissed, got[1].Verdict)

	assert.Equal(t, isAim, got[2].Verdict)
	assert.Equal(t, "0.40 million/s", got[2].Value)
	assert.Equal(t, isAim, got[3].Verdict)
	assert.Equal(t, isMissed, got[4].Verdict)
	assert.Equal(t, "9.0 KiB", got[4].Value)

	for _, r := range tcpRows(newResults(), counts{}) {
		assert.Equal(t, isUnknown, r.Verdict, r.What)
		assert.Equal(t, isUnknown, r.Value, r.What)
		assert.Empty(t, r.Bare, r.What)
	}
}

func TestTablesKeepTCPApart(t *testing.T) {
	all := newResults()
	all.add(context.Background(), fake(oursTCP, 2.5))
	all.add(context.Background(), fake(ours, 1.25))
	within, over, ok := strings.Cut((&report{Points: all.points()}).pointTables(), "## Over TCP")
	require.True(t, ok)
	assert.Contains(t, within, "| via+shm | 1.250 |")
	assert.NotContains(t, within, "| tcp |")
	assert.Contains(t, over, "| tcp | 2.500 |")
	assert.NotContains(t, over, "| via+shm |")
}

func TestIterationsFillThePoint(t *testing.T) {
	set := pairSettings{step: 1e-6, bytesPerSecond: 1e9}
	assert.Equal(t, 50_000, set.iterations(100*time.Millisecond, 1000))
	assert.Equal(t, 20, set.iterations(time.Millisecond, 1<<20), "a few at least")
	set.atLeast = time.Second
	assert.Equal(t, 500_000, set.iterations(time.Millisecond, 1000), "as long as the tool needs")
}

func TestRowsWithoutPeersSayWhatIsMissing(t *testing.T) {
	all := newResults()
	all.add(context.Background(), fake(ours, 1))
	for _, r := range rows(all, counts{}) {
		if strings.HasPrefix(r.What, "1 MiB") {
			assert.Equal(t, notInstalled, r.Best)
			assert.Equal(t, isUnknown, r.Verdict)
		}
	}
}

func TestReportIsWritten(t *testing.T) {
	all := fakeResults()
	bytes := 1000.0
	r := &report{Machine: machine{CPU: "a processor", Versions: map[string]string{}}, Rounds: 3, Points: all.points(), Notes: all.notes(), Counts: counts{KnownBytes: &bytes}}
	r.Rows = rows(all, r.Counts)
	folder := t.TempDir()
	// The test of bench/plot, a module of its own, draws these charts.
	require.NoError(t, r.write(folder, func(_ string, charts []chart) error {
		text, err := json.MarshalIndent(charts, "", "\t")
		golden.Check(t, "plot/testdata/charts.json", append(text, '\n'))
		return err
	}))
	for _, name := range []string{"results.json", "results.md"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		switch filepath.Ext(name) {
		case ".md":
			assert.Contains(t, string(text), "| 8 B half round trip | 1.500 µs |")
			assert.Contains(t, string(text), "- MPICH: failed: broken")
			assert.Contains(t, string(text), "- UCX: not installed (make bench-deps)")
		case ".json":
			var back report
			require.NoError(t, json.Unmarshal(text, &back))
			assert.Equal(t, r.Points, back.Points)
			assert.Equal(t, []float64{1.5, 1.2, 9}, back.Points[indexOf(t, back.Points, ours, perf.Latency, 8)].Rounds)
		}
	}
}

func indexOf(t *testing.T, points []point, method string, test perf.Test, size int) int {
	t.Helper()
	for i, p := range points {
		if p.Method == method && p.Test == test && p.Size == size {
			return i
		}
	}
	require.FailNow(t, "no such point")
	return 0
}

// onTwoCores are the two processors of a measurement. A test without them is skipped.
func onTwoCores(t *testing.T) perf.Cores {
	t.Helper()
	cores, err := perf.ParsePin("on")
	require.NoError(t, err)
	if !cores.Pinned {
		need.Unless(t, need.Cores, errors.New("this needs two"))
	}
	return cores
}

func TestCrowdExchanges(t *testing.T) {
	cores := onTwoCores(t)
	got, err := crowdContender(config{point: time.Millisecond, cores: cores}).run(context.Background())
	require.NoError(t, err)
	require.Len(t, got, len(shapes))
	for _, r := range got {
		assert.Positive(t, r.Median, r.Test)
	}
}

func TestIdlePeersCostSomething(t *testing.T) {
	cost, err := measureIdle(ours, idleEach)
	require.NoError(t, err)
	assert.Equal(t, idleProcesses*idleEach, cost.peers)
	assert.Positive(t, cost.connected)
	assert.Positive(t, cost.known)
	assert.Positive(t, cost.segments, "a connection maps shared memory")
	assert.LessOrEqual(t, cost.residing, cost.segments)
}

func TestIdleConnectionsOverTCPCostSomething(t *testing.T) {
	cost, err := measureIdle(oursTCP, idleEachTCP)
	require.NoError(t, err)
	assert.Equal(t, idleProcesses*idleEachTCP, cost.peers)
	assert.Positive(t, cost.connected)
	assert.Zero(t, cost.segments, "no shared memory")
	assert.Zero(t, cost.known)
}

func TestIdleConnectionsOverUDPCostSomething(t *testing.T) {
	file, remove, err := makeKey()
	require.NoError(t, err)
	defer remove()
	var c counts
	require.NoError(t, c.idleUDP(config{keyFile: file}))
	assert.Positive(t, *c.UDPConnectedBytes)
}

func TestSmapsCountKilobytes(t *testing.T) {
	rollup, err := smaps(os.Getpid())
	require.NoError(t, err)
	assert.Greater(t, rollup["Rss"], 1e6, fmt.Sprint(rollup))
	_, err = smaps(0)
	assert.Error(t, err)
}
