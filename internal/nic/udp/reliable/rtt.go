package reliable

import "time"

// roundTrip estimates the round trip and the time-out as RFC 6298 does.
type roundTrip struct {
	smooth, vary  time.Duration // 0 before the first measurement
	latest, least time.Duration
}

// granularity is the resolution of the stamps.
const granularity = time.Microsecond

func (r *roundTrip) measure(trip time.Duration) {
	r.latest = trip
	if r.smooth == 0 {
		r.smooth, r.vary, r.least = trip, trip/2, trip
		return
	}
	r.least = min(r.least, trip)
	r.vary += ((r.smooth - trip).Abs() - r.vary) / 4
	r.smooth += (trip - r.smooth) / 8
}

// timeout is how long to wait for the answer to a transmission, after a number of
// time-outs in a row. The first time-out is early: it costs one segment and finds
// a loss at the tail, behind which nothing arrives that would show it.
func (r *roundTrip) timeout(o *Options, probes int) time.Duration {
	if r.smooth == 0 {
		return min(o.TimeoutFirst<<min(probes, backoffMax), o.TimeoutMax)
	}
	wait := r.smooth + max(granularity, 4*r.vary) + o.AckDelay
	if probes == 0 {
		return min(max(wait, 2*r.smooth+o.AckDelay, o.ProbeMin), o.TimeoutMax)
	}
	return min(max(wait, o.TimeoutMin)<<min(probes-1, backoffMax), o.TimeoutMax)
}
