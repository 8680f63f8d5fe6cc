package bmi

import (
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/spin"
)

// A spinner decides how long the holder of the monitor polls before it sleeps. Only the holder
// uses it, except for demand and hopeless.
type spinner struct {
	spin.Spinner

	// demand counts callers that sleep and rely on the watchers.
	demand atomic.Int32
	// hopeless: the last wait was expected to be too long to spin. Any goroutine may read it.
	hopeless atomic.Bool
}

// firstPolls is how often a caller that may wait polls before it joins the other waiters. It is
// 0 if the caller is expected to sleep, because the path to sleep polls anyway.
func (s *spinner) firstPolls() int {
	if s.hopeless.Load() {
		return 0
	}
	return firstPolls
}

// firstPolls polls take about as long as an answer from a fast peer.
const firstPolls = 64

// spin polls for as long as that is worthwhile, counted from the last progress. since is the
// time of that progress: a wait may be long only because its message is.
func (e *Endpoint) spin(r *request, start, deadline time.Duration) (served bool, since time.Duration) {
	s := &e.spinner
	since = start
	budget := s.Budget()
	if hopeless := budget <= 0; hopeless != s.hopeless.Load() {
		s.hopeless.Store(hopeless)
	}
	if budget <= 0 {
		return false, since
	}
	for now := start; ; {
		served, moved := e.pollAll(r, spin.Burst)
		if served {
			s.Won(now, now-since)
			return true, since
		}
		s.Yield()
		now = e.now()
		if moved {
			since = now
		}
		if now-since >= budget || (deadline >= 0 && now >= deadline) || e.closing.Load() {
			e.counters.spinsLost.Inc()
			s.Vain(now)
			return false, since
		}
	}
}
