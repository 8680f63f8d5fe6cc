package bmi

import (
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/spin"
)

// A spinner decides how long the holder of the monitor polls before it sleeps; it alone
// uses all but demand.
type spinner struct {
	spin.Spinner

	// demand counts callers that rely on the watchers while they sleep.
	demand atomic.Int32
	// hopeless: the last wait was expected to be too long to spin. Anybody reads it.
	hopeless atomic.Bool
}

// firstPolls is how often a caller polls who may wait, before it joins the others who do: not at
// all if it will sleep, for then whatever came is noticed on the way.
func (s *spinner) firstPolls() int {
	if s.hopeless.Load() {
		return 0
	}
	return firstPolls
}

// firstPolls is about as long as an answer takes from a fast peer.
const firstPolls = 64

// spin polls for as long as that is worthwhile, counted from when anything moved
// last. It returns that time: a wait may be long because its message is.
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
		served, moved := e.pass(r, spin.Burst)
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
