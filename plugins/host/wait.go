package host

import "time"

// What follows is for whoever runs the Method while there is no plugin, or nobody polls.

// Pending is how many operations are not over.
func (m *Method) Pending() int { return m.ops.live }

// Unsaid reports whether the plugin was not told something yet: there was no room, or
// there is no plugin.
func (m *Method) Unsaid() bool {
	return !m.lanes[0].empty() || !m.lanes[1].empty() || len(m.control) > 0
}

// Pressing reports whether there is something that the plugin may be told by the next
// Poll, as far as is known here: nobody rings when there is room in the ring again. Room in
// the arena comes of an operation that ends, which the plugin rings for.
func (m *Method) Pressing() bool {
	if m.line == nil || m.deaf {
		return false
	}
	for i := range m.lanes {
		if l := &m.lanes[i]; !l.empty() && !l.stuck {
			return true
		}
	}
	return len(m.control) > 0
}

// Arm asks the plugin to ring when it says something. It reports false if the next Poll
// has something to do, and then has asked for nothing. Messages that the endpoint did not
// take are no such thing: it wakes its method once it takes some. With too many of them
// the plugin is not listened to, and rings in vain.
func (m *Method) Arm() bool {
	switch {
	case m.Pressing():
		return false
	case m.line == nil || m.deaf || m.kept >= keptMax:
		return true
	}
	return m.line.In.Arm()
}

// Disarm takes Arm back.
func (m *Method) Disarm() {
	if m.line != nil {
		m.line.In.Disarm()
	}
}

// delay notes until when an operation waits for a plugin, unless that is known.
func (m *Method) delay(o *op) {
	if o.due == 0 && m.cfg.Due != nil {
		o.due = m.cfg.Due()
	}
}

// NextDue is when the first of the operations is given up that wait for a plugin.
func (m *Method) NextDue() (at time.Duration, ok bool) {
	o := m.nextDue()
	if o == nil {
		return 0, false
	}
	return o.due, true
}

// nextDue is the operation that is given up first; times of a lane are in order.
func (m *Method) nextDue() (first *op) {
	for i := range m.lanes {
		if o := m.lanes[i].ops.First(); o != nil && m.line == nil && o.due != 0 && (first == nil || o.due < first.due) {
			first = o
		}
	}
	return first
}

// Expire ends with err the operations that waited for a plugin until now. It reports
// whether there were any.
func (m *Method) Expire(now time.Duration, err error) (did bool) {
	for o := m.nextDue(); o != nil && o.due <= now; o = m.nextDue() {
		m.giveUp(o, err)
		did = true
	}
	return did
}

// GiveUp ends with err all operations that the plugin has not heard of.
func (m *Method) GiveUp(err error) {
	m.eachWaiting(func(o *op) { m.giveUp(o, err) })
}
