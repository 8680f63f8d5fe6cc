package peer

import "fmt"

// Hello is what two sides tell each other when they connect: it is the content
// of CONN_REQ and CONN_ACK, and its first four fields go with a link request.
// How it is encoded is the business of the packets that carry it.
type Hello struct {
	// Version of the protocol above the link. Both sides must speak the same.
	Version uint16
	// Session names the sender's process for as long as it lives. It is
	// random, never 0, and differs after a restart.
	Session uint64
	// Attempt is the token of the attempt, numbered by the side that made
	// the link; CONN_ACK repeats what CONN_REQ said. Never 0; larger than
	// that of every earlier attempt of the same session to the same peer.
	Attempt uint64
	// Name is the sender's address, under which it can be connected to;
	// empty if it cannot.
	Name string

	// Latest (CONN_ACK) is the newest attempt of the sender's own: it and
	// all before it are given up. 0 if there was none.
	Latest uint64
	// Reason (CONN_ACK) is ReasonNone if the connection is accepted. If not,
	// the fields below mean nothing.
	Reason Reason
	// PeerID is the id that the receiver of this Hello puts into the match
	// bits of what it sends: the sender has assigned it.
	PeerID ID
	// Credits is the number of receives that the sender has pre-posted.
	Credits uint16
	// EagerBytes is the largest payload, in bytes, that the sender takes
	// without a rendezvous.
	EagerBytes uint32
}

// String leaves out what is not set.
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
