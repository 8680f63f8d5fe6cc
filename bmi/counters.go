package bmi

import "go.uber.org/atomic"

// counters are the endpoint's own counters. They are off the hot path: they count
// events of a sleep, not of a message.
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
