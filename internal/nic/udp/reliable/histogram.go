package reliable

import (
	"math/bits"
	"time"
)

// A Histogram counts durations in buckets of microseconds, four to each power of
// two: a percentile is off by at most an eighth. The zero value is empty.
type Histogram struct {
	counts [histogramBuckets]uint32
	total  uint64
}

// histogramBuckets reach beyond roundTripMax.
const histogramBuckets = 4 * 26

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	i := bucketOf(uint64(max(d, 0) / time.Microsecond))
	h.total++
	if h.counts[i]++; h.counts[i] == 0 {
		h.counts[i]-- // full: the distribution is known well enough
	}
}

// bucketOf is the bucket of a number of microseconds: below 4 one each, then by
// the highest bit and the two bits behind it.
func bucketOf(us uint64) int {
	if us < 4 {
		return int(us)
	}
	high := bits.Len64(us) - 1
	return min(4*(high-1)+int(us>>(high-2)&3), histogramBuckets-1)
}

// bucketStart is the smallest number of microseconds in a bucket.
func bucketStart(i int) uint64 {
	if i < 4 {
		return uint64(i)
	}
	return uint64(4+i%4) << (i/4 - 1)
}

// Count is how many durations were counted.
func (h *Histogram) Count() uint64 { return h.total }

// Percentile is the duration that p percent of the counted ones do not exceed, to
// within a bucket; 0 if there are none. 0 ≤ p ≤ 100.
func (h *Histogram) Percentile(p float64) time.Duration {
	var sum uint64
	for _, n := range h.counts {
		sum += uint64(n)
	}
	if sum == 0 {
		return 0
	}
	rank := max(uint64(p/100*float64(sum)+0.5), 1)
	for i, n := range h.counts {
		if uint64(n) >= rank {
			return time.Duration(bucketStart(i)+bucketStart(i+1)) * time.Microsecond / 2
		}
		rank -= uint64(n)
	}
	return time.Duration(bucketStart(histogramBuckets)) * time.Microsecond
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	h.total += o.total
	for i, n := range o.counts {
		if h.counts[i] += n; h.counts[i] < n {
			h.counts[i] = ^uint32(0)
		}
	}
}
