package host

import "time"

// These are for the owner of the Method, while there is no plugin or the Method is not polled.

// Pending returns the number of operations in progress.
func (m *Method) Pending() int { return m.ops.live }

// Unsaid reports whether something has not been written to the ring: there was no room, or there is
// no plugin.
func (m *Method) Unsaid() bool {
	return !m.lanes[0].empty() || !m.lanes[1].empty() || len(m.control) > 0
}

// Pressing reports whether the next Poll may be able to write a record. No bell tells when there is
// room in the ring again. Room in the arena comes from an operation that ends, and for that the
// plugin rings.
func (m *Method) Pressing() bool {
	if m.line == nil || m.rulesBroken {
		return false
	}
	for i := range m.lanes {
		if l := &m.lanes[i]; !l.empty() && !l.stuck {
			return true
		}
	}
	return len(m.control) > 0
}

// Arm asks the plugin to ring when it writes a record. It returns false if the next Poll has
// something to do, and then has not asked. Messages that the endpoint did not accept do not count:
// the endpoint wakes its method when it accepts some. If there are too many of them, the plugin's
// records are not read and Arm does not ask.
func (m *Method) Arm() bool {
	switch {
	case m.Pressing():
		return false
	case m.line == nil || m.rulesBroken || m.kept >= keptMax:
		return true
	}
	return m.line.In.Arm()
}

// Disarm undoes Arm.
func (m *Method) Disarm() {
	if m.line != nil {
		m.line.In.Disarm()
	}
}

// delay sets the deadline of an operation that waits for a plugin, if it has none.
func (m *Method) delay(o *op) {
	if o.due == 0 && m.cfg.Due != nil {
		o.due = m.cfg.Due()
	}
}

// NextDue returns the earliest deadline of the operations that wait for a plugin.
func (m *Method) NextDue() (at time.Duration, ok bool) {
	o := m.nextDue()
	if o == nil {
		return 0, false
	}
	return o.due, true
}

// nextDue returns that operation; the times in a lane are in order.
func (m *Method) nextDue() (first *op) {
	for i := range m.lanes {
		if o := m.lanes[i].ops.First(); o != nil && m.line == nil && o.due != 0 && (first == nil || o.due < first.due) {
			first = o
		}
	}
	return first
}

// Expire ends with err the operations whose time to wait for a plugin is over. It returns whether
// there were any.
func (m *Method) Expire(now time.Duration, err error) (did bool) {
	for o := m.nextDue(); o != nil && o.due <= now; o = m.nextDue() {
		m.giveUp(o, err)
		did = true
	}
	return did
}

// GiveUp ends with err all operations that are not in the plugin.
func (m *Method) GiveUp(err error) {
	m.eachWaiting(func(o *op) { m.giveUp(o, err) })
}
