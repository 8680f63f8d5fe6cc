package progress

import "go.uber.org/atomic"

// counts are events of sleeps, not of messages, so they cost no message anything.
type counts struct {
	sleeps, wakes, spinsLost atomic.Uint64
}

// Counts are how often a goroutine slept, was woken, and polled in vain before it slept.
func (m *Monitor) Counts() (sleeps, wakes, spinsLost uint64) {
	return m.counts.sleeps.Load(), m.counts.wakes.Load(), m.counts.spinsLost.Load()
}
