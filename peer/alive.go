package peer

import "time"

// askDue is when to send a keep-alive: KeepAliveAfter after the later of two times, that of the
// last packet from the peer and that of the last keep-alive to it.
func (m *Machine) askDue() time.Duration {
	return after(max(m.heardAt, m.askAt), m.cfg.KeepAliveAfter)
}

// deadDue is when to give up the peer: only after a keep-alive was sent, and then
// with the full time to answer. So a process that was stopped for longer than
// DeadAfter does not declare its peers dead when it continues.
func (m *Machine) deadDue() time.Duration {
	ask, dead := m.cfg.KeepAliveAfter, m.cfg.DeadAfter
	if ask <= 0 || dead <= 0 || m.askedAt <= m.heardAt {
		return never
	}
	if dead <= ask {
		return after(m.askedAt, ask)
	}
	return after(m.askedAt, dead-ask)
}

func (m *Machine) tickReady(now time.Duration, out []Action) []Action {
	switch {
	case now >= m.deadDue():
		return m.end(now, cause{reason: ReasonDead}, true, out)
	case now >= m.askDue():
		if m.askedAt <= m.heardAt {
			m.askedAt = now
		}
		m.askAt = now
		return append(out, Action{Kind: ActionSendKeepAlive, Link: m.link})
	}
	return out
}

// keepAlive answers the peer's question.
func (m *Machine) keepAlive(out []Action) []Action {
	if m.state != Ready && !m.phase.linkUp() {
		return m.ignore(out)
	}
	return append(out, Action{Kind: ActionAnswerKeepAlive, Link: m.link})
}
