package via

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/peer"
)

// Timer is the peer's place in method.timers.
func (r *remote) Timer() *timers.Timer[remote] { return &r.timer }

// watch sets the timer of a peer to the deadline of its machine.
func (m *method) watch(r *remote) {
	if at, ok := r.fsm.NextDeadline(); ok {
		m.timers.Set(r, at)
	} else {
		m.timers.Stop(r)
	}
}

// tick gives an event to each machine whose deadline has passed. It reports whether
// there was one.
func (m *method) tick() (did bool) {
	now, due := m.timers.Due(m.clock)
	if !due {
		return false
	}
	m.timers.Advance(now, func(r *remote) {
		if r.link.Heard() {
			r.fsm.Heard(now)
		}
		if at, ok := r.fsm.NextDeadline(); ok && at <= now {
			m.step(r, peer.Event{Kind: peer.EventTick})
			did = true
		} else {
			m.watch(r)
		}
	})
	return did
}

// NextDeadline is when the method needs the next Poll (bmi.Deadliner). That Poll
// looks at the clock at once.
func (m *method) NextDeadline() (at time.Duration, ok bool) {
	at, ok = m.timers.Next()
	if d, has := m.links.NextDeadline(); has && (!ok || d < at) {
		return d, true
	}
	return at, ok
}
