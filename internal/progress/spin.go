package progress

import (
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/spin"
)

// A spinner decides how long the holder of the monitor polls before it sleeps. Only the holder uses it, except for relying and
// tooLong.
type spinner struct {
	spin.Spinner

	// relying counts callers that sleep and rely on the watchers.
	relying atomic.Int32
	// tooLong: the last wait was expected to be too long to spin.
	tooLong atomic.Bool
	// passing: the core is passed on to other processes between polls.
	passing atomic.Bool
}

// firstPolls polls take about as long as an answer from a fast peer.
const firstPolls = 64

// FirstPolls is how often a goroutine that may wait polls before it calls Wait. It is 0 if the goroutine is expected to sleep, because
// the path to sleep polls anyway.
func (m *Monitor) FirstPolls() int {
	switch {
	case m.spinner.tooLong.Load():
		return 0
	case m.spinner.passing.Load():
		return spin.TightBurst
	}
	return firstPolls
}

// SpinMax returns the longest time to poll before sleeping; 0 means never to poll.
func (m *Monitor) SpinMax() time.Duration { return m.spinner.Limit() }

// SetSpinMax changes it, from the next wait on. 0 or less means never to poll.
func (m *Monitor) SetSpinMax(d time.Duration) { m.spinner.SetLimit(d) }

// IgnoreLoad makes goroutines spin however busy the machine is. It is for tests.
func (m *Monitor) IgnoreLoad() { m.spinner.IgnoreLoad() }

// spin polls for as long as that is worthwhile, counted from the last progress. since is the time of that progress: a wait may be
// long only because its message is.
func (m *Monitor) spin(check Condition, start, deadline time.Duration) (met bool, since time.Duration) {
	s := &m.spinner
	since = start
	budget := s.Budget()
	if tooLong := budget <= 0; tooLong != s.tooLong.Load() {
		s.tooLong.Store(tooLong)
	}
	if budget <= 0 {
		return false, since
	}
	polls := s.Polls()
	if passing := polls < spin.Burst; passing != s.passing.Load() {
		s.passing.Store(passing)
	}
	for now := start; ; {
		met, moved := m.poll(check, polls)
		if met {
			s.Won(now, now-since)
			return true, since
		}
		on := s.Yield(now, now-since)
		now = m.Now()
		if moved {
			since = now
		}
		if !on || now-since >= budget || (deadline >= 0 && now >= deadline) || m.ended.Load() {
			m.counts.spinsLost.Add(1)
			s.Vain(now)
			return false, since
		}
	}
}
