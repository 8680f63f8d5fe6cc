package perf

import (
	"context"
	"fmt"
	"runtime"
)

// Allocs counts the allocations of this side of a ping-pong per message, from
// post to completion. Each round trip is two messages: one sent and one received.
func (c *Client) Allocs(ctx context.Context, size, roundTrips int) (perMessage float64, err error) {
	d := &clientDuel{c: c, ctx: ctx, r: request{kind: kindRun, test: Latency, size: size, window: 1}}
	defer func() {
		if e := d.end(); err == nil {
			err = e
		}
	}()
	const settling = 1000 // round trips until pools and caches are filled
	if err := d.begin(settling + roundTrips); err != nil {
		return 0, err
	}
	if err := d.step(settling); err != nil {
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := d.step(roundTrips); err != nil {
		return 0, fmt.Errorf("perf: count allocations: %w", err)
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(2*roundTrips), nil
}
