package peer

import "time"

// sendQueued handles a send that must wait.
func (m *Machine) sendQueued(now time.Duration, out []Action) []Action {
	m.queued++
	switch m.state {
	case Init:
		return m.serve(now, out)
	case Wait:
		m.armConnectBy(now)
	case Ready:
		return m.flush(out)
	}
	return out
}

// sendUnqueued handles the cancel of a queued send. With no send left there is no
// further attempt; a running attempt ends by itself.
func (m *Machine) sendUnqueued(out []Action) []Action {
	if m.queued == 0 {
		return m.ignore(out)
	}
	m.queued--
	if m.queued == 0 && m.state == Wait {
		m.connectBy = never
		if m.phase == phaseBackoff {
			m.become(Init)
		}
	}
	return out
}

// serve decides the next step in INIT: accept the waiting request, or connect for
// the waiting sends.
func (m *Machine) serve(now time.Duration, out []Action) []Action {
	switch {
	case m.waiting.has:
		return m.acceptWaiting(now, out)
	case m.queued == 0:
		return out
	case m.passive:
		return m.fail(cause{reason: ReasonNoAddress}, out)
	}
	return m.connect(now, out)
}

// connect starts an attempt of this side. Attempt numbers also grow across
// machines of the same session and peer: a number is at least the time in
// microseconds, and no machine makes an attempt every microsecond for long.
func (m *Machine) connect(now time.Duration, out []Action) []Action {
	if m.state == Init {
		m.become(Wait)
	}
	m.attempt = max(m.attempt, uint64(max(now, 0)/time.Microsecond)) + 1
	m.enter(phaseLinking)
	m.openLink(now, true)
	h := m.hello(m.attempt)
	h.Credits, h.EagerBytes = 0, 0
	return append(out, Action{Kind: ActionLinkConnect, Link: m.link, Hello: h})
}

// openLink numbers a new link and sets the deadline of its attempt.
func (m *Machine) openLink(now time.Duration, initiator bool) {
	if m.links++; m.links == 0 {
		m.links = 1
	}
	m.link, m.initiator = m.links, initiator
	m.attemptBy = after(now, m.AttemptTime())
	m.armConnectBy(now)
}

// closeLink gives up the link. If an attempt of the peer fails, its repeated
// requests are stale too.
func (m *Machine) closeLink(out []Action) []Action {
	if m.link == 0 {
		return out
	}
	out = append(out, Action{Kind: ActionLinkClose, Link: m.link})
	m.forgetLink()
	return out
}

func (m *Machine) forgetLink() {
	if !m.initiator && m.accepting.session == m.session {
		m.seen = max(m.seen, m.accepting.attempt)
	}
	m.link = 0
}

// armConnectBy sets the deadline for the waiting sends, unless it is already set.
func (m *Machine) armConnectBy(now time.Duration) {
	if m.queued > 0 && m.connectBy == never {
		m.connectBy = after(now, m.cfg.ConnectTimeout)
	}
}

// linkUp continues the handshake over a link that is connected.
func (m *Machine) linkUp(now time.Duration, out []Action) []Action {
	switch m.phase {
	case phaseLinking:
		m.enter(phaseAsking)
		return m.askConn(now, out)
	case phaseAccepting:
		m.enter(phaseExpecting)
		return out
	}
	return m.ignore(out)
}

// askConn sends CONN_REQ, for the first time or again.
func (m *Machine) askConn(now time.Duration, out []Action) []Action {
	m.nextAt = after(now, m.cfg.ResendAfter)
	return append(out, Action{Kind: ActionSendConnReq, Link: m.link, Hello: m.hello(m.attempt)})
}

// connAck ends an attempt of this side, with success or failure.
func (m *Machine) connAck(now time.Duration, h Hello, out []Action) []Action {
	if m.phase != phaseAsking || h.Attempt != m.attempt {
		return m.ignore(out)
	}
	if h.Reason != ReasonNone {
		return m.attemptFailed(now, cause{h.Reason, true}, out)
	}
	if bad := m.check(h); bad != ReasonNone {
		return m.end(now, cause{reason: bad}, true, out)
	}
	return m.ready(now, h, h.Latest, out)
}

// check finds what is wrong with a Hello that offers a connection.
func (m *Machine) check(h Hello) Reason {
	switch {
	case h.Version != m.cfg.Local.Version:
		return ReasonVersion
	case h.Session == m.cfg.Local.Session:
		return ReasonSelf
	case h.Session == 0 || !h.PeerID.Valid():
		return ReasonProtocol
	}
	return ReasonNone
}

// ready enters READY with the values from the peer's Hello. Its attempts up to
// latest are over.
func (m *Machine) ready(now time.Duration, h Hello, latest uint64, out []Action) []Action {
	if h.Session != m.session {
		m.former, m.session, m.seen = m.session, h.Session, 0
	}
	m.seen = max(m.seen, latest)
	m.remoteID, m.credits, m.eager = h.PeerID, h.Credits, h.EagerBytes
	m.become(Ready)
	m.heardAt, m.askedAt, m.askAt = now, now, now
	out = m.rejectWaiting(ReasonCrossed, out)
	return m.flush(out)
}

func (m *Machine) flush(out []Action) []Action {
	m.queued = 0
	return append(out, Action{Kind: ActionFlush})
}

// attemptFailed ends an attempt, of either side, that did not lead to READY. It
// then accepts the waiting request, retries later, or gives up.
func (m *Machine) attemptFailed(now time.Duration, why cause, out []Action) []Action {
	m.why = why
	out = m.closeLink(out)
	if m.waiting.has {
		return m.acceptWaiting(now, out)
	}
	if m.queued == 0 {
		m.become(Init)
		return out
	}
	delay := m.cfg.retryDelay(m.tries, &m.rng)
	m.tries = min(m.tries, 254) + 1
	if m.passive || !m.transient(why.reason) || after(now, delay) >= m.connectBy {
		return m.end(now, why, false, out)
	}
	m.enter(phaseBackoff)
	m.attemptBy, m.nextAt = never, after(now, delay)
	return out
}

// transient is Reason.Transient, adjusted to the configuration of this endpoint.
func (m *Machine) transient(r Reason) bool {
	return r.Transient() || r == ReasonAbsent && m.cfg.RetryAbsent
}

// failure returns why connecting has failed so far.
func (m *Machine) failure() cause {
	if m.why.reason != ReasonNone {
		return m.why
	}
	return cause{reason: ReasonTimeout}
}

// hello returns what this side sends about itself in an attempt.
func (m *Machine) hello(attempt uint64) Hello {
	h := m.cfg.Local
	h.Attempt = attempt
	return h
}
