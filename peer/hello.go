package peer

import "fmt"

// Hello is what two sides tell each other when they connect. It is the content of
// CONN_REQ and CONN_ACK, and its first four fields go with a link request. Its
// encoding belongs to the packets that carry it.
type Hello struct {
	// Version of the protocol above the link. Both sides must speak the same.
	Version uint16
	// Session names the sender's process for as long as it lives. It is
	// random, never 0, and differs after a restart.
	Session uint64
	// Attempt is the token of the attempt, numbered by the side that made the
	// link. CONN_ACK repeats the number of the CONN_REQ. It is never 0, and
	// larger than that of every earlier attempt of the same session to the same
	// peer.
	Attempt uint64
	// Name is the address under which the sender can be connected to; empty if it
	// has none.
	Name string

	// Latest (CONN_ACK) is the newest attempt of the sender. That attempt and all
	// earlier ones are given up. 0 if there was none.
	Latest uint64
	// Reason (CONN_ACK) is ReasonNone if the connection is accepted. Otherwise
	// the fields below mean nothing.
	Reason Reason
	// PeerID is the id that the sender of this Hello assigned to its receiver.
	// The receiver puts it into the match bits of its packets.
	PeerID ID
	// Credits is the number of receives that the sender has pre-posted.
	Credits uint16
	// EagerBytes is the largest payload, in bytes, that the sender accepts
	// without a rendezvous.
	EagerBytes uint32
}

// String omits fields that are not set.
func (h Hello) String() string {
	s := fmt.Sprintf("v%d session %x attempt %d", h.Version, h.Session, h.Attempt)
	if h.Name != "" {
		s += fmt.Sprintf(" from %q", h.Name)
	}
	if h.Latest != 0 {
		s += fmt.Sprintf(" latest %d", h.Latest)
	}
	if h.Reason != ReasonNone {
		return s + fmt.Sprintf(" refused: %v", h.Reason)
	}
	if h.PeerID != 0 {
		s += fmt.Sprintf(" id %d", h.PeerID)
	}
	if h.Credits != 0 || h.EagerBytes != 0 {
		s += fmt.Sprintf(" credits %d eager %d", h.Credits, h.EagerBytes)
	}
	return s
}
