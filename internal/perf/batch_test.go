package perf

import (
	"errors"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlanKeepsTheBudget(t *testing.T) {
	for _, step := range []time.Duration{0, 100, time.Microsecond, 300 * time.Microsecond, 5 * time.Millisecond, time.Second} {
		p := planFor(100*time.Millisecond, step)
		assert.GreaterOrEqual(t, p.batches, batchesMin, step)
		assert.LessOrEqual(t, p.batches, batchesMax, step)
		assert.GreaterOrEqual(t, p.steps, 1, step)
		total := time.Duration(p.batches*p.steps) * step
		assert.LessOrEqual(t, total, max(110*time.Millisecond, batchesMin*step), step)
	}
	assert.Equal(t, 25000, planFor(100*time.Millisecond, 100).steps, "a short step is not timed alone")
}

func TestQuantiles(t *testing.T) {
	var s samples
	for i := 100; i >= 1; i-- {
		s = append(s, float64(i))
	}
	assert.InDelta(t, 50.5, s.median(), 0)
	assert.InDelta(t, 99, s.quantile(0.99), 0)
	assert.InDelta(t, 100, s.quantile(1), 0)
	assert.InDelta(t, 7, samples{7}.median(), 0)
	assert.InDelta(t, 7, samples{7}.quantile(0.99), 0)
	assert.Zero(t, samples{}.median())
	assert.Zero(t, samples{}.quantile(0.5))
}

func TestResultsOfKnownTimes(t *testing.T) {
	s := samples{2000} // nanoseconds a step
	assert.Equal(t, Result{Latency, "m", 8, 1, 1, 1, UnitMicros, nil}, s.result(Latency, "m", 8, 1))
	assert.Equal(t, Result{Rate, "m", 8, 64, 32e6, 32e6, UnitMessages, nil}, s.result(Rate, "m", 8, 64))
	assert.Equal(t, Result{Bandwidth, "m", 1000, 2, 1000, 1000, UnitMB, nil}, s.result(Bandwidth, "m", 1000, 2))
	assert.Equal(t, Result{Bidirectional, "m", 1000, 2, 2000, 2000, UnitMB, nil}, s.result(Bidirectional, "m", 1000, 2))
	assert.Less(t, samples{1, 1, 9}.result(Rate, "m", 8, 1).P99, samples{1, 1, 9}.result(Rate, "m", 8, 1).Median,
		"the bad end of a rate is the low one")
}

func TestTimeBatchesCountsStepsAndRestoresTheCollector(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	steps := 0
	got, err := timeBatches(plan{batches: 4, steps: 10}, func(n int) error {
		inside := debug.SetGCPercent(-1)
		assert.Equal(t, -1, inside, "the collector is off")
		steps += n
		return nil
	})
	require.NoError(t, err)
	assert.Len(t, got, 4)
	assert.Equal(t, 40, steps)
	assert.Equal(t, 77, debug.SetGCPercent(77))

	_, err = timeBatches(plan{batches: 4, steps: 10}, func(int) error { return errors.New("broken") })
	assert.EqualError(t, err, "broken")
}

func TestBatchesAndQuantilesForOthers(t *testing.T) {
	batches, steps := Batches(100*time.Millisecond, time.Microsecond)
	p := planFor(100*time.Millisecond, time.Microsecond)
	assert.Equal(t, p, plan{batches: batches, steps: steps})
	assert.Equal(t, 20*time.Millisecond, WarmUp(100*time.Millisecond))
	median, p99 := Quantiles([]float64{3, 1, 2})
	assert.Equal(t, []float64{2, 3}, []float64{median, p99})
}
