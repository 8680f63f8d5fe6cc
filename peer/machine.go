package peer

import (
	"fmt"
	"time"
)

// A Machine is the connection to one remote endpoint, as seen from this side. It
// belongs to one goroutine at a time. Make it with New.
//
// Invariants: link ≠ 0 exactly when the machine has a link, that is, in READY and
// in every phase except none and backoff; refs ≥ 0; waiting is set only in
// DISCONNECT and, when requests crossed, in phases linking and asking.
type Machine struct {
	// The fields that operations use; they need no Step.
	state   State
	phase   phase
	tries   uint8 // failed attempts in a row
	refs    int32 // operations in flight
	heardAt time.Duration

	cfg     *Config
	queued  uint32 // sends that wait for READY
	link    Link   // the link in use; 0: none
	links   Link   // newest link number given out
	ignored uint32 // events that came too late or made no sense

	passive   bool  // we have no address to connect to
	initiator bool  // this side made the link
	why       cause // of the latest failed attempt, or of a refusal
	remoteID  ID    // the id that the peer wants in the match bits
	credits   uint16
	eager     uint32

	session uint64 // of the peer when last READY; 0: never was
	former  uint64 // the session before that
	seen    uint64 // newest attempt of session that is known to be over or in use
	attempt uint64 // newest of ours

	accepting ask // the request whose link was accepted, if this side is not the initiator
	waiting   ask // request that waits; id valid if has

	connectBy time.Duration // queued sends fail then
	attemptBy time.Duration // the attempt fails then, or lingering ends
	nextAt    time.Duration // phase asking: resend; backoff: retry
	askedAt   time.Duration // first keep-alive since heardAt, if after it
	askAt     time.Duration // newest keep-alive sent
	rng       uint64
}

// ask is a link request, reduced to the parts that are remembered.
type ask struct {
	id      Request
	session uint64
	attempt uint64
	has     bool
}

// New returns a machine in INIT. The seed drives the jitter of reconnecting.
// passive means that there is no address to connect to.
func New(cfg *Config, seed uint64, passive bool) *Machine {
	m := new(Machine)
	m.Reset(cfg, seed, passive)
	return m
}

// Reset makes m a new machine in place, for owners that embed it.
func (m *Machine) Reset(cfg *Config, seed uint64, passive bool) {
	*m = Machine{
		cfg: cfg, rng: seed, passive: passive,
		connectBy: never, attemptBy: never, nextAt: never,
	}
}

// State returns the state of the connection.
func (m *Machine) State() State { return m.state }

// Ready reports whether the state is Ready.
func (m *Machine) Ready() bool { return m.state == Ready }

// Refs is the number of references held by operations in flight.
func (m *Machine) Refs() int { return int(m.refs) }

// Queued is the number of sends that wait for READY, by the machine's own count.
func (m *Machine) Queued() int { return int(m.queued) }

// Acquire takes a reference for an operation that goes in flight. DISCONNECT does
// not end before the reference is released.
func (m *Machine) Acquire() { m.refs++ }

// Release returns a reference. If it reports true, the last operation of a
// connection that ended has released its reference, and Step with EventDrained is
// due.
func (m *Machine) Release() (drained bool) {
	if m.refs--; m.refs > 0 || m.refs == 0 && m.state == Ready {
		return false
	}
	return m.released()
}

// released is the rare case of Release.
func (m *Machine) released() bool {
	if m.refs < 0 {
		panic("peer: Release without Acquire")
	}
	return m.state == Disconnect && m.refs == 0
}

// Heard records that a packet arrived from the peer over the link.
func (m *Machine) Heard(now time.Duration) { m.heardAt = now }

// Link is the link in use, 0 if there is none.
func (m *Machine) Link() Link { return m.link }

// RemoteID is the id for the match bits of packets to the peer. It is valid in
// READY.
func (m *Machine) RemoteID() ID { return m.remoteID }

// RemoteCredits is how many receives the peer had pre-posted when READY began.
func (m *Machine) RemoteCredits() int { return int(m.credits) }

// RemoteEagerBytes is the largest payload that the peer accepts without a
// rendezvous, in bytes; valid in READY.
func (m *Machine) RemoteEagerBytes() int { return int(m.eager) }

// Session names the peer's process as of the latest READY; 0 before the first.
func (m *Machine) Session() uint64 { return m.session }

// Ignored counts events that came too late or made no sense: a measure of how
// disorderly the link, or the peer, is.
func (m *Machine) Ignored() uint32 { return m.ignored }

// AttemptTime bounds the present attempt, or the next one; 0: only the NIC bounds it.
func (m *Machine) AttemptTime() time.Duration { return m.cfg.attemptTime(m.tries) }

// SetPassive says whether there is no address to connect to. Use false once the
// address is known of a peer that was known only from its own requests.
func (m *Machine) SetPassive(passive bool) { m.passive = passive }

// Idle reports whether the owner may forget the machine: nothing is connected,
// queued, in flight or waiting. The machine does not know of posted receives; the
// owner must check those.
func (m *Machine) Idle() bool {
	return m.state == Init && m.refs == 0 && m.queued == 0
}

// SendPolicy says what to do with a send that is posted now.
func (m *Machine) SendPolicy() Policy {
	switch {
	case m.state == Ready:
		return PolicyNow
	case m.passive && m.state != Wait && !m.waiting.has:
		return PolicyRefuse
	}
	return PolicyQueue
}

// RecvPolicy says what to do with a receive that is posted now.
func (m *Machine) RecvPolicy() Policy {
	if m.state == Disconnect {
		return PolicyQueue
	}
	return PolicyNow
}

// become is the only writer of state. It resets what must not leak from one state
// into the next.
func (m *Machine) become(s State) {
	if !legal[m.state][s] {
		panic(fmt.Sprintf("peer: illegal transition %v -> %v", m.state, s))
	}
	m.state, m.phase = s, phaseNone
	m.attemptBy, m.nextAt = never, never
	if s == Ready || s == Init {
		m.connectBy, m.tries, m.why = never, 0, cause{}
	}
}

// enter changes the phase of WAIT; each phase sets the deadlines it needs.
func (m *Machine) enter(p phase) {
	m.phase, m.nextAt = p, never
}

// String returns one line for logs: state, phase and reference counts.
func (m *Machine) String() string {
	s := m.state.String()
	if m.phase != phaseNone {
		s += "(" + m.phase.String() + ")"
	}
	if m.link != 0 {
		s += fmt.Sprintf(" link %d", m.link)
	}
	if m.queued != 0 {
		s += fmt.Sprintf(" queued %d", m.queued)
	}
	if m.refs != 0 {
		s += fmt.Sprintf(" refs %d", m.refs)
	}
	if m.waiting.has {
		s += fmt.Sprintf(" request #%d waits", m.waiting.id)
	}
	return s
}

// Describe returns all details, for people.
func (m *Machine) Describe() string {
	s := m.String()
	if m.session != 0 {
		s += fmt.Sprintf("; session %x", m.session)
	}
	if m.state == Ready {
		s += fmt.Sprintf(", send as id %d, credits %d, eager %d", m.remoteID, m.credits, m.eager)
	}
	if m.passive {
		s += "; passive"
	}
	if at, ok := m.NextDeadline(); ok {
		s += fmt.Sprintf("; deadline %v", at)
	}
	if m.ignored != 0 {
		s += fmt.Sprintf("; ignored %d", m.ignored)
	}
	return s
}
