package reliable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHistogramPercentiles(t *testing.T) {
	var h Histogram
	assert.Zero(t, h.Percentile(50))
	for us := range 10000 {
		h.Add(time.Duration(us+1) * time.Microsecond)
	}
	for _, p := range []float64{1, 10, 50, 90, 99, 99.9} {
		want := p / 100 * 10000
		assert.InEpsilon(t, want, float64(h.Percentile(p)/time.Microsecond), 0.13, "%g %%", p)
	}
	assert.EqualValues(t, 10000, h.Count())
	assert.LessOrEqual(t, h.Percentile(0), 2*time.Microsecond)
	assert.GreaterOrEqual(t, h.Percentile(100), 8*time.Millisecond)
}

func TestHistogramBucketsMeet(t *testing.T) {
	for i := range histogramBuckets - 1 {
		assert.Equal(t, i, bucketOf(bucketStart(i)))
		assert.Equal(t, i, bucketOf(bucketStart(i+1)-1))
	}
	assert.Equal(t, histogramBuckets-1, bucketOf(^uint64(0)))
	assert.Greater(t, bucketStart(histogramBuckets-1), uint64(roundTripMax/time.Microsecond))
}

func TestHistogramExtremes(t *testing.T) {
	var h, o Histogram
	h.Add(-time.Second)
	h.Add(1 << 62)
	o.counts[0] = ^uint32(0)
	o.Add(0)
	assert.Equal(t, ^uint32(0), o.counts[0], "full, not empty again")
	h.Merge(&o)
	assert.Equal(t, ^uint32(0), h.counts[0])
	assert.EqualValues(t, 1, h.counts[histogramBuckets-1])
}

func TestStatsAdd(t *testing.T) {
	one := Stats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
	sum := one
	sum.Add(one)
	assert.Equal(t, Stats{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28}, sum)
}
