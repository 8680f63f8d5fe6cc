package mpiperf

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// A Result is one measured point, and one line of `mpibench --json`. In the perf.Result, Median
// and P99 are over batches, where the value of a batch is the mean of all ranks, or for
// messages that of the first rank.
type Result struct {
	perf.Result
	Ranks int `json:"ranks"`
	// Iterations of all batches together.
	Iterations int `json:"iterations"`
	Batches    int `json:"batches"`
	// Min, Avg and Max are over ranks, of the medians of each rank, in Unit.
	Min float64 `json:"min"`
	Avg float64 `json:"avg"`
	Max float64 `json:"max"`
	// Checked is the number of rounds in which contents were checked; 0: not requested.
	Checked int `json:"checked,omitempty"`
}

// resultOf computes a result from the time of an iteration in each batch on each rank, in
// nanoseconds.
func resultOf(p *point, times [][]float64, steps int) Result {
	batches := len(times[0])
	r := Result{
		Result: perf.Result{Test: p.test, Size: p.size, Window: p.window, Unit: p.unit()},
		Ranks:  len(times), Iterations: batches * steps, Batches: batches,
	}
	if p.paired() {
		r.Median, r.P99 = perf.Quantiles(times[0])
	} else {
		r.Median, r.P99 = perf.Quantiles(means(times))
	}
	medians := make([]float64, len(times))
	for i, mine := range times {
		median, _ := perf.Quantiles(mine)
		medians[i] = p.inUnit(median)
		r.Avg += medians[i] / float64(len(times))
	}
	r.Median, r.P99 = p.inUnit(r.Median), p.inUnit(r.P99)
	r.Min, r.Max = slices.Min(medians), slices.Max(medians)
	return r
}

// means are the means over ranks, for each batch.
func means(times [][]float64) []float64 {
	out := make([]float64, len(times[0]))
	for _, mine := range times {
		for batch, t := range mine {
			out[batch] += t / float64(len(times))
		}
	}
	return out
}

// unit is what a test measures.
func (s spec) unit() string {
	switch {
	case s.test == perf.Rate:
		return perf.UnitMessages
	case s.test == perf.Bandwidth || s.test == perf.Bidirectional || s.kind == files:
		return perf.UnitMB
	}
	return perf.UnitMicros
}

// inUnit converts the nanoseconds of an iteration, which for messages is a round trip or a
// window, to the unit of the test.
func (p *point) inUnit(nanos float64) float64 {
	window, perSecond := float64(p.window), 1e9/nanos
	switch {
	case p.test == perf.Latency || p.test == Partitioned:
		return nanos / 2 / 1e3
	case p.test == perf.Rate:
		return window * perSecond
	case p.test == perf.Bidirectional:
		window *= 2
		fallthrough
	case p.unit() == perf.UnitMB:
		return window * float64(p.size) / 1e6 * perSecond
	}
	return nanos / 1e3
}
