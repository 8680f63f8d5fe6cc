package peer

import "fmt"

// State is the state of the connection to a peer.
//
//	          send queued: connect
//	          link request: accept
//	┌──────┐ ───────────────────────────▶ ┌──────┐ ──┐ attempt failed, retry;
//	│ INIT │                              │ WAIT │   │ link requests cross
//	└──────┘ ◀─────────────────────────── └──────┘ ◀─┘
//	    ▲     attempt failed, no send        │  │
//	    │     waits for it                   │  │ handshake done:
//	    │                        refused,    │  │ flush
//	    │ drained:               gave up:    │  │
//	    │ post receives,         fail        │  ▼
//	    │ reconnect        ┌─────────────────┘ ┌───────┐
//	    │                  ▼                   │ READY │
//	┌────────────┐ ◀────────────────────────── └───────┘
//	│ DISCONNECT │  link down, bye, dead, cancel,
//	└────────────┘  drop, peer restarted: fail
//
// WAIT has phases (see phase) for the side that connects, for the side that
// accepts and for the pause between two attempts.
type State uint8

const (
	// Init: no connection, and none being made.
	Init State = iota
	// Wait: a connection is being made, by either side.
	Wait
	// Ready: operations may start.
	Ready
	// Disconnect: the connection ended. Operations in flight still hold
	// references, and nothing new starts until they release them.
	Disconnect

	stateCount = iota
)

func (s State) String() string {
	switch s {
	case Init:
		return "INIT"
	case Wait:
		return "WAIT"
	case Ready:
		return "READY"
	case Disconnect:
		return "DISCONNECT"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// legal is the table of edges: legal[from][to].
var legal = [stateCount][stateCount]bool{
	Init:       {Wait: true},
	Wait:       {Init: true, Ready: true, Disconnect: true},
	Ready:      {Disconnect: true},
	Disconnect: {Init: true},
}

// phase divides WAIT, and marks a DISCONNECT that lingers. It is phaseNone in
// every other state.
type phase uint8

const (
	phaseNone phase = iota
	// phaseLinking: our own link is being made.
	phaseLinking
	// phaseAsking: our own link is up, CONN_REQ is sent, CONN_ACK is due.
	phaseAsking
	// phaseBackoff: an attempt of ours failed; the next one is due at nextAt.
	phaseBackoff
	// phaseAccepting: a link of the peer's making is being accepted.
	phaseAccepting
	// phaseExpecting: the accepted link is up, CONN_REQ is due.
	phaseExpecting
	// phaseLinger: DISCONNECT after a negative CONN_ACK. The link stays open so
	// that the peer can read the reason and close the link itself.
	phaseLinger

	phaseCount = iota
)

func (p phase) String() string {
	names := [phaseCount]string{"", "linking", "asking", "backoff", "accepting", "expecting", "linger"}
	if int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// linkUp reports whether packets can be sent in this phase of WAIT.
func (p phase) linkUp() bool { return p == phaseAsking || p == phaseExpecting }

// Policy says what to do with a newly posted operation.
type Policy uint8

const (
	// PolicyNow: start it (a send), or post it (a receive).
	PolicyNow Policy = iota
	// PolicyQueue: keep it in a list; for a send, EventQueued is due.
	PolicyQueue
	// PolicyRefuse: complete it with an error (ReasonNoAddress).
	PolicyRefuse
)

func (p Policy) String() string {
	switch p {
	case PolicyNow:
		return "now"
	case PolicyQueue:
		return "queue"
	case PolicyRefuse:
		return "refuse"
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}
