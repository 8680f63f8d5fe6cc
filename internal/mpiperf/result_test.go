package mpiperf

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// known returns a point whose numbers are easy to follow.
func known(t *testing.T, test perf.Test, size, window int, times [][]float64) Result {
	s, ok := specOf(test)
	require.True(t, ok)
	r := resultOf(&point{spec: s, size: size, window: window}, times, 7)
	r.Method = "mem"
	return r
}

func TestResultsOfKnownTimes(t *testing.T) {
	r := known(t, "allreduce", 8, 1, [][]float64{{1000, 2000, 6000}, {3000, 3000, 4000}})
	assert.Equal(t, Result{
		Result: perf.Result{Test: "allreduce", Method: "mem", Size: 8, Window: 1, Median: 2.5, P99: 5, Unit: perf.UnitMicros},
		Ranks:  2, Iterations: 21, Batches: 3, Min: 2, Avg: 2.5, Max: 3,
	}, r, "the mean of the ranks in each batch, the medians of each rank")

	r = known(t, perf.Latency, 8, 1, [][]float64{{2000, 4000, 8000}, {1000, 1000, 1000}})
	assert.InDelta(t, 2, r.Median, 1e-9, "half a round trip of rank 0")
	assert.InDelta(t, 4, r.P99, 1e-9)
	assert.InDelta(t, 0.5, r.Min, 1e-9)

	r = known(t, perf.Rate, 8, 64, [][]float64{{32_000, 64_000, 128_000}, {64_000, 64_000, 64_000}})
	assert.InDelta(t, 1e6, r.Median, 1e-3)
	assert.InDelta(t, 5e5, r.P99, 1e-3, "the low end")

	one := [][]float64{{1e6}, {1e6}}
	assert.InDelta(t, 2000, known(t, perf.Bandwidth, 1e6, 2, one).Median, 1e-6)
	assert.InDelta(t, 4000, known(t, perf.Bidirectional, 1e6, 2, one).Median, 1e-6)
	assert.InDelta(t, 500, known(t, Partitioned, 64, 1, one).Median, 1e-6, "half a round trip")
	assert.InDelta(t, 1000, known(t, "write_all", 1e6, 1, [][]float64{{5e5}, {15e5}}).Median, 1e-6, "all bytes in the mean time of the ranks")
}

func TestTableAndJSON(t *testing.T) {
	var out bytes.Buffer
	table := NewTable(&out, false)
	r := known(t, perf.Latency, 8, 1, [][]float64{{2000}, {2000}})
	require.NoError(t, table.Add(r))
	require.NoError(t, table.Add(known(t, "barrier", 0, 1, [][]float64{{2e6}, {4e6}})))
	assert.Equal(t, ""+
		"TEST                  METHOD    RANKS       SIZE  WINDOW  ITERATIONS       MEDIAN          P99          MIN          AVG          MAX  UNIT\n"+
		"latency               mem           2        8 B       1           7        1.000        1.000        1.000        1.000        1.000  us\n"+
		"\n"+
		"barrier               mem           2        0 B       1           7         3000         3000         2000         3000         4000  us\n", out.String())
	out.Reset()
	require.NoError(t, NewTable(&out, true).Add(r))
	assert.Equal(t, `{"test":"latency","method":"mem","size":8,"window":1,"median":1,"p99":1,"unit":"us","ranks":2,"iterations":7,"batches":1,"min":1,"avg":1,"max":1}`+"\n", out.String())
}

func TestParseTests(t *testing.T) {
	got, err := ParseTests([]string{"barrier", "messages", "latency"})
	require.NoError(t, err)
	assert.Equal(t, []perf.Test{"barrier", perf.Latency, perf.Rate, perf.Bandwidth, perf.Bidirectional, Partitioned}, got)
	collectives, err := ParseTests([]string{"collectives"})
	require.NoError(t, err)
	all, err := ParseTests([]string{"all"})
	require.NoError(t, err)
	files, err := ParseTests([]string{"files"})
	require.NoError(t, err)
	assert.Equal(t, []perf.Test{"write_all", "read_all", "write_strided", "read_strided", "write_contiguous", "read_contiguous"}, files)
	assert.Len(t, all, len(specs)-len(files))
	onesided, err := ParseTests([]string{"one-sided"})
	require.NoError(t, err)
	assert.Equal(t, []perf.Test{"put", "get", "fetch_and_op", "fence"}, onesided)
	assert.Equal(t, all[5:], append(collectives, onesided...))
	_, err = ParseTests([]string{"latency", "lateness"})
	assert.ErrorContains(t, err, `unknown test "lateness": choose from latency, rate,`)
}

func TestSeriesAndShapes(t *testing.T) {
	latency, _ := specOf(perf.Latency)
	sizes := Plan{}.sizesOf(latency)
	assert.Equal(t, []int{0, 1, 2, 4}, sizes[:4])
	assert.Equal(t, messagesMax, sizes[len(sizes)-1])
	reduction, _ := specOf("allreduce")
	assert.Equal(t, 8, Plan{}.sizesOf(reduction)[0])

	p, err := Plan{}.checked(2)
	require.NoError(t, err)
	warmUp, batches, steps := p.shape(latency, 8, 1)
	assert.Equal(t, []int{1000, 10, 1000}, []int{warmUp, batches, steps})
	_, batches, steps = p.shape(latency, 1<<20, 1)
	assert.Equal(t, []int{10, 100}, []int{batches, steps})
	p.Iterations = 3
	warmUp, batches, steps = p.shape(latency, 8, 1)
	assert.Equal(t, []int{2, 3, 1}, []int{warmUp, batches, steps}, "no batch without an iteration")

	bandwidth, _ := specOf(perf.Bandwidth)
	assert.Equal(t, 64, p.windowOf(bandwidth, 1))
	assert.Equal(t, 4, p.windowOf(bandwidth, 1<<20))
	assert.Equal(t, 2, p.windowOf(bandwidth, 64<<20))
	assert.Equal(t, 1, p.windowOf(latency, 8))
}
