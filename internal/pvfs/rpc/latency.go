package rpc

import (
	"sync/atomic"
	"time"
)

// LatencyBounds are the upper bounds of the buckets of OpStats.Latency, which has one more bucket, without
// a bound.
var LatencyBounds = [...]time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 10 * time.Second,
}

// Latencies count requests by how long their handlers took: element i those of at most LatencyBounds[i].
type Latencies [len(LatencyBounds) + 1]uint64

// A histogram is the source of Latencies.
type histogram [len(LatencyBounds) + 1]atomic.Uint64

// add counts a request.
func (h *histogram) add(took time.Duration) {
	i := 0
	for i < len(LatencyBounds) && took > LatencyBounds[i] {
		i++
	}
	h[i].Add(1)
}

func (h *histogram) read() (all Latencies) {
	for i := range h {
		all[i] = h[i].Load()
	}
	return all
}
