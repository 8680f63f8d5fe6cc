package perf

import (
	"runtime/debug"
	"slices"
	"time"
)

// Batching: how a point's time is divided. Only batches are timed, never single steps, so
// that a clock's cost (some 25 ns) and its resolution do not matter for a step of 150 ns.
const (
	// batchesMax is the number of batches of a point if its budget allows.
	batchesMax = 40
	// batchesMin is measured even if the budget is too small.
	batchesMin = 3
	// batchTimeMin is the shortest batch that is worth a clock reading.
	batchTimeMin = 20 * time.Microsecond
	// warmUpShare: 1/warmUpShare of a point's budget is spent before its measurement.
	warmUpShare = 5
)

// A plan says how many steps both sides execute.
type plan struct {
	// batches ≥ 1, steps ≥ 1 in each.
	batches, steps int
}

// planFor divides the budget of a point, given the measured cost of one step.
func planFor(budget, step time.Duration) plan {
	step = max(step, time.Nanosecond)
	batch := max(budget/batchesMax, batchTimeMin)
	steps := max(1, int(batch/step))
	batches := int(budget / (time.Duration(steps) * step))
	return plan{batches: min(max(batches, batchesMin), batchesMax), steps: steps}
}

// samples are the mean times of one step in each batch, in nanoseconds.
type samples []float64

// quantile is the value that a share q of the samples does not exceed
// (nearest rank). 0 < q ≤ 1.
func (s samples) quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	rank := int(q*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}

func (s samples) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// timeBatches runs step in batches and returns the mean time of a step in each. The
// garbage collector is off meanwhile: the measured path does not allocate, and the
// collector must not use a core.
func timeBatches(p plan, step func(n int) error) (samples, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	out := make(samples, 0, p.batches)
	for range p.batches {
		start := time.Now()
		if err := step(p.steps); err != nil {
			return nil, err
		}
		out = append(out, float64(time.Since(start).Nanoseconds())/float64(p.steps))
	}
	return out, nil
}

// result turns samples of one step into the unit of the test. A step is a round
// trip for a latency and a limit, a window otherwise.
func (s samples) result(test Test, method string, size, window int) Result {
	r := Result{Test: test, Method: method, Size: size, Window: window}
	median, p99 := s.median(), s.quantile(0.99)
	switch test {
	case Rate:
		r.Unit = UnitMessages
		r.Median, r.P99 = perSecond(float64(window), median), perSecond(float64(window), p99)
	case Bandwidth, Bidirectional:
		bytes := float64(window) * float64(size)
		if test == Bidirectional {
			bytes *= 2
		}
		r.Unit = UnitMB
		r.Median, r.P99 = perSecond(bytes/1e6, median), perSecond(bytes/1e6, p99)
	default:
		r.Unit = UnitMicros
		r.Median, r.P99 = median/2/1e3, p99/2/1e3
	}
	return r
}

// perSecond is amount per second if amount takes nanos nanoseconds.
func perSecond(amount, nanos float64) float64 {
	if nanos <= 0 {
		return 0
	}
	return amount / nanos * 1e9
}

// Batches divides the budget of a point into batches of steps, as all measurements do,
// given the measured cost of one step. Both are at least 1.
func Batches(budget, step time.Duration) (batches, steps int) {
	p := planFor(budget, step)
	return p.batches, p.steps
}

// WarmUp is the part of a point's budget that is spent before its measurement.
func WarmUp(budget time.Duration) time.Duration { return budget / warmUpShare }

// Quantiles are the median and the 99th percentile (nearest rank) of some batches' times.
func Quantiles(times []float64) (median, p99 float64) {
	return samples(times).median(), samples(times).quantile(0.99)
}
