package peer

import "time"

// linkRequest decides on a link that the peer wants to make: accept it now,
// keep it until the present connection is out of the way, or reject it.
//
// When requests cross, the side with the larger session number wins: both
// sides know both numbers, so both decide alike. The winner keeps the loser's
// request in case its own attempt fails.
func (m *Machine) linkRequest(now time.Duration, ev Event, out []Action) []Action {
	r := ask{id: ev.Request, session: ev.Hello.Session, attempt: ev.Hello.Attempt, has: true}
	if bad := m.checkRequest(ev.Hello); bad != ReasonNone {
		return m.reject(r, bad, out)
	}
	switch m.state {
	case Init:
		return m.accept(now, r, out)
	case Wait:
		return m.linkRequestInWait(now, r, out)
	case Ready:
		why := ReasonPeerRestarted
		if r.session == m.session {
			why = ReasonLinkLost
		}
		out = m.keepWaiting(r, out)
		return m.end(now, cause{reason: why}, false, out)
	}
	out = m.keepWaiting(r, out)
	if m.phase == phaseLinger {
		return m.lingered(now, out)
	}
	return out
}

func (m *Machine) linkRequestInWait(now time.Duration, r ask, out []Action) []Action {
	switch m.phase {
	case phaseLinking:
		if m.cfg.Local.Session > r.session {
			return m.keepWaiting(r, out)
		}
	case phaseAsking:
		// The peer's NIC has accepted our link. So this request is either older,
		// or newer because the peer has lost that link. The handshake will tell
		// which.
		return m.keepWaiting(r, out)
	case phaseAccepting, phaseExpecting:
		if r.session == m.accepting.session && r.attempt <= m.accepting.attempt {
			return m.reject(r, ReasonStale, out)
		}
	}
	// An earlier request that waits is older than this one.
	out = m.rejectWaiting(ReasonSuperseded, out)
	return m.accept(now, r, m.closeLink(out))
}

// checkRequest finds what is wrong with a link request, in any state.
func (m *Machine) checkRequest(h Hello) Reason {
	switch {
	case h.Version != m.cfg.Local.Version:
		return ReasonVersion
	case h.Session == 0 || h.Attempt == 0:
		return ReasonProtocol
	case h.Session == m.cfg.Local.Session:
		return ReasonSelf
	case h.Session == m.former, h.Session == m.session && h.Attempt <= m.seen:
		return ReasonStale
	}
	return ReasonNone
}

// accept begins an attempt made by the peer.
func (m *Machine) accept(now time.Duration, r ask, out []Action) []Action {
	if m.state == Init {
		m.become(Wait)
	}
	m.enter(phaseAccepting)
	m.accepting = r
	m.openLink(now, false)
	return append(out, Action{Kind: ActionLinkAccept, Link: m.link, Request: r.id})
}

func (m *Machine) acceptWaiting(now time.Duration, out []Action) []Action {
	r := m.waiting
	m.waiting = ask{}
	return m.accept(now, r, out)
}

// keepWaiting keeps only one waiting request. Of two attempts of the same session it keeps the
// newer, otherwise the one that came last.
func (m *Machine) keepWaiting(r ask, out []Action) []Action {
	if w := m.waiting; w.has && w.session == r.session && w.attempt >= r.attempt {
		return m.reject(r, ReasonStale, out)
	}
	out = m.rejectWaiting(ReasonSuperseded, out)
	m.waiting = r
	return out
}

func (m *Machine) rejectWaiting(why Reason, out []Action) []Action {
	if !m.waiting.has {
		return out
	}
	r := m.waiting
	m.waiting = ask{}
	return m.reject(r, why, out)
}

func (m *Machine) reject(r ask, why Reason, out []Action) []Action {
	return append(out, Action{Kind: ActionLinkReject, Request: r.id, Reason: why})
}

// connReq answers a CONN_REQ over the present link, for the first time or again
// because the answer may have been lost.
func (m *Machine) connReq(now time.Duration, h Hello, out []Action) []Action {
	ours := !m.initiator && h.Session == m.accepting.session && h.Attempt == m.accepting.attempt
	switch {
	case m.phase == phaseLinking, m.phase == phaseAsking:
		return m.end(now, cause{reason: ReasonProtocol}, m.phase.linkUp(), out)
	case !ours, m.phase == phaseAccepting:
		return m.ignore(out) // of another attempt, or before the link is up
	case m.state == Ready:
		return m.answerConn(ReasonNone, out)
	case m.phase == phaseLinger:
		return m.answerConn(m.why.reason, out)
	}
	if bad := m.check(h); bad != ReasonNone {
		return m.refuse(now, bad, out)
	}
	return m.ready(now, h, h.Attempt, m.answerConn(ReasonNone, out))
}

// answerConn sends CONN_ACK, positive if why is ReasonNone.
func (m *Machine) answerConn(why Reason, out []Action) []Action {
	h := m.hello(m.accepting.attempt)
	h.Latest, h.Reason = m.attempt, why
	return append(out, Action{Kind: ActionSendConnAck, Link: m.link, Hello: h})
}

// refuse sends a negative CONN_ACK and leaves the link open for a while.
func (m *Machine) refuse(now time.Duration, why Reason, out []Action) []Action {
	out = m.answerConn(why, out)
	m.become(Disconnect)
	m.phase, m.why = phaseLinger, cause{reason: why}
	m.attemptBy = now + max(m.cfg.LingerAfter, 0)
	return m.fail(m.why, out)
}
