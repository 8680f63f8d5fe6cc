package progress

import (
	"sync/atomic"
	"time"
)

// counts are events of sleeps, not of messages, so they cost no message anything.
type counts struct {
	sleeps, wakes, spinsLost atomic.Uint64
	slept                    atomic.Int64 // nanoseconds
}

// Counts are what a Monitor has counted.
type Counts struct {
	Sleeps, Wakes, SpinsLost uint64        // how often a goroutine slept, was woken, and polled in vain before it slept
	Slept                    time.Duration // how long all sleeps that have ended took
}

// Counts returns the counts.
func (m *Monitor) Counts() Counts {
	c := &m.counts
	return Counts{Sleeps: c.sleeps.Load(), Wakes: c.wakes.Load(), SpinsLost: c.spinsLost.Load(), Slept: time.Duration(c.slept.Load())}
}
