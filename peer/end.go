package peer

import "time"

// end leaves WAIT or READY for DISCONNECT: tell the peer if bye, fail everything,
// close the link, and leave DISCONNECT at once if nothing is in flight.
func (m *Machine) end(now time.Duration, why cause, bye bool, out []Action) []Action {
	m.become(Disconnect)
	if bye {
		out = append(out, Action{Kind: ActionSendBye, Link: m.link, Reason: why.reason})
	}
	out = m.fail(why, out)
	out = m.closeLink(out)
	return m.drain(now, out)
}

// fail ends all operations with the peer.
func (m *Machine) fail(why cause, out []Action) []Action {
	m.queued = 0
	return append(out, Action{Kind: ActionFail, Reason: why.reason, Remote: why.remote})
}

// drain ends DISCONNECT when no operation is in flight any more, and serves the
// requests that came in the meantime.
func (m *Machine) drain(now time.Duration, out []Action) []Action {
	if m.state != Disconnect || m.refs > 0 || m.phase == phaseLinger {
		return out
	}
	m.become(Init)
	out = append(out, Action{Kind: ActionPostRecvs})
	return m.serve(now, out)
}

// endByUs handles a disconnect by this side.
func (m *Machine) endByUs(now time.Duration, why Reason, out []Action) []Action {
	if why.final() {
		out = m.rejectWaiting(why, out)
	}
	switch {
	case m.state == Ready:
		return m.end(now, cause{reason: why}, true, out)
	case m.state == Wait:
		return m.end(now, cause{reason: why}, m.phase.linkUp(), out)
	case why.final():
		return m.fail(cause{reason: why}, out)
	}
	return m.ignore(out)
}

// endByPeer handles a disconnect that the peer announced.
func (m *Machine) endByPeer(now time.Duration, why Reason, out []Action) []Action {
	said := cause{why.orLost(), true}
	switch {
	case m.state == Ready:
		return m.end(now, said, false, out)
	case m.state == Wait:
		return m.attemptFailed(now, said, out)
	}
	return m.lingered(now, m.closeLink(out))
}

// linkGone handles the end of the link without a BYE.
func (m *Machine) linkGone(now time.Duration, ev Event, out []Action) []Action {
	m.forgetLink()
	why := cause{ev.Reason.orLost(), ev.Remote}
	switch m.state {
	case Ready:
		return m.end(now, why, false, out)
	case Wait:
		return m.attemptFailed(now, why, out)
	}
	return m.lingered(now, out)
}

// lingered ends phaseLinger, and with it the link if there still is one.
func (m *Machine) lingered(now time.Duration, out []Action) []Action {
	out = m.closeLink(out)
	m.phase, m.attemptBy = phaseNone, never
	return m.drain(now, out)
}
