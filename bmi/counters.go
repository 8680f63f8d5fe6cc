package bmi

import "go.uber.org/atomic"

// counters are the endpoint's own, off the hot path: what happens once per
// sleep, not once per message.
type counters struct {
	sleeps    atomic.Uint64
	wakes     atomic.Uint64
	spinsLost atomic.Uint64
}

func (c *counters) read() EndpointStats {
	return EndpointStats{
		Sleeps:    c.sleeps.Load(),
		Wakes:     c.wakes.Load(),
		SpinsLost: c.spinsLost.Load(),
	}
}
