package peer

import "time"

// Step takes one event and appends the resulting actions to out. now is the time
// since an arbitrary start and never goes back. No content of an event makes Step
// panic: impossible events are ignored and counted.
func (m *Machine) Step(now time.Duration, ev Event, out []Action) []Action {
	switch ev.Kind {
	case EventTick:
		return m.tick(now, out)
	case EventQueued:
		return m.sendQueued(now, out)
	case EventUnqueued:
		return m.sendUnqueued(out)
	case EventDrained:
		return m.drain(now, out)
	case EventDisconnect:
		return m.endByUs(now, ev.Reason, out)
	case EventLinkRequest:
		return m.linkRequest(now, ev, out)
	}
	if ev.Link == 0 || ev.Link != m.link {
		return m.ignore(out)
	}
	switch ev.Kind {
	case EventLinkUp:
		return m.linkUp(now, out)
	case EventLinkFailed, EventLinkDown:
		return m.linkGone(now, ev, out)
	}
	m.Heard(now)
	switch ev.Kind {
	case EventConnReq:
		return m.connReq(now, ev.Hello, out)
	case EventConnAck:
		return m.connAck(now, ev.Hello, out)
	case EventBye:
		return m.endByPeer(now, ev.Reason, out)
	case EventKeepAlive:
		return m.keepAlive(out)
	}
	return m.ignore(out)
}

// ignore counts an event that changes nothing.
func (m *Machine) ignore(out []Action) []Action {
	m.ignored++
	return out
}

// NextDeadline returns when the next EventTick is due; ok is false if never.
func (m *Machine) NextDeadline() (at time.Duration, ok bool) {
	at = min(m.attemptBy, m.nextAt)
	switch m.state {
	case Wait:
		if m.queued > 0 {
			at = min(at, m.connectBy)
		}
	case Ready:
		at = min(m.askDue(), m.deadDue())
	}
	return at, at != never
}

// tick handles the deadline that has passed. Every branch moves that deadline.
func (m *Machine) tick(now time.Duration, out []Action) []Action {
	switch m.state {
	case Wait:
		return m.tickWait(now, out)
	case Ready:
		return m.tickReady(now, out)
	case Disconnect:
		if m.phase == phaseLinger && now >= m.attemptBy {
			return m.lingered(now, out)
		}
	}
	return out
}

func (m *Machine) tickWait(now time.Duration, out []Action) []Action {
	switch {
	case m.queued > 0 && now >= m.connectBy:
		return m.end(now, m.failure(), m.phase.linkUp(), out)
	case now >= m.attemptBy:
		return m.attemptFailed(now, cause{reason: ReasonTimeout}, out)
	case now >= m.nextAt && m.phase == phaseBackoff:
		return m.connect(now, out)
	case now >= m.nextAt:
		return m.askConn(now, out)
	}
	return out
}
