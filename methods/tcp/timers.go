package tcp

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/timers"
)

// A timer is embedded in each object with a deadline, in terms of
// bmi.MethodConfig.Clock. An object has at most one at a time.
type timer struct {
	place timers.Timer[timer]
	owner timed
}

// A timed is called when its deadline has passed.
type timed interface{ expired(m *method) }

// Timer is the place of the timer in method.timers.
func (t *timer) Timer() *timers.Timer[timer] { return &t.place }

// expire calls expired for every deadline that has passed.
func (m *method) expire() (did bool) {
	now, due := m.timers.Due(m.clock)
	if !due {
		return false
	}
	m.timers.Advance(now, func(t *timer) {
		t.owner.expired(m)
		did = true
	})
	return did
}

// NextDeadline returns when the next Poll is due (bmi.Deadliner).
func (m *method) NextDeadline() (at time.Duration, ok bool) { return m.timers.Next() }
