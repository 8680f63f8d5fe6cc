package via

import (
	"time"

	"github.com/viaduct-hpc/viaduct/peer"
)

const never = time.Duration(1<<63 - 1)

// watch updates the list of peers whose machines have a deadline.
func (m *method) watch(r *remote) {
	at, ok := r.fsm.NextDeadline()
	switch {
	case !ok:
		m.unwatch(r)
		return
	case r.timedAt == 0:
		m.timed = append(m.timed, r)
		r.timedAt = int32(len(m.timed)) // one for each peer at most
	}
	m.nextTick = min(m.nextTick, at)
}

func (m *method) unwatch(r *remote) {
	if r.timedAt == 0 {
		return
	}
	last := len(m.timed) - 1
	moved := m.timed[last]
	m.timed[r.timedAt-1] = moved
	moved.timedAt = r.timedAt
	m.timed[last] = nil
	m.timed = m.timed[:last]
	r.timedAt = 0
	if last == 0 {
		m.nextTick = never
	}
}

// tick gives an event to each machine whose deadline has passed. It reports whether
// there was one.
func (m *method) tick() (did bool) {
	if m.nextTick == never {
		return false
	}
	now := m.now()
	if now < m.nextTick {
		return false
	}
	m.nextTick = never
	due := append(m.due[:0], m.timed...)
	for _, r := range due {
		if r.timedAt == 0 {
			continue // the tick of an earlier one removed it
		}
		if r.link.Heard() {
			r.fsm.Heard(now)
		}
		if at, ok := r.fsm.NextDeadline(); ok && at <= now {
			m.step(r, peer.Event{Kind: peer.EventTick})
			did = true
		} else {
			m.watch(r)
		}
	}
	clear(due)
	m.due = due[:0]
	return did
}

// NextDeadline is when the method needs the next Poll (bmi.Deadliner). That Poll
// looks at the clock at once.
func (m *method) NextDeadline() (at time.Duration, ok bool) {
	at = m.nextTick
	if d, ok := m.links.NextDeadline(); ok {
		at = min(at, d)
	}
	return at, at != never
}
