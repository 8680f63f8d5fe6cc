package view

import "math"

// quantile is the latency that a part q of the requests did not exceed, from a histogram: counts[i] requests were at most bounds[i],
// and the last of counts over all bounds. Within a bucket the requests are taken to be spread evenly.
func quantile(bounds []float64, counts []uint64, q float64) Quantile {
	if len(counts) != len(bounds)+1 {
		return Quantile{}
	}
	total := 0.0
	for _, n := range counts {
		total += float64(n)
	}
	if total == 0 {
		return Quantile{}
	}
	want, below, lower := math.Ceil(q*total), 0.0, 0.0
	for i, bound := range bounds {
		n := float64(counts[i])
		if n > 0 && below+n >= want {
			return Quantile{Seconds: lower + (bound-lower)*(want-below)/n}
		}
		below, lower = below+n, bound
	}
	return Quantile{Seconds: lower, Over: true}
}

// since are the counts of a histogram since an earlier state of it; all, if that has other bounds or nothing was added.
func since(before, now []uint64) []uint64 {
	if len(before) != len(now) {
		return now
	}
	added, any := make([]uint64, len(now)), false
	for i := range now {
		if now[i] < before[i] {
			return now // it began again
		}
		added[i] = now[i] - before[i]
		any = any || added[i] > 0
	}
	if !any {
		return now
	}
	return added
}
