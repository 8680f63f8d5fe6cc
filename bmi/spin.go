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
}

// spin polls for as long as that is worthwhile, counted from when anything moved
// last. It returns that time: a wait may be long because its message is.
func (e *Endpoint) spin(r *request, start, deadline time.Duration) (served bool, since time.Duration) {
	s := &e.spinner
	since = start
	budget := s.Budget()
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
