package peer

import "fmt"

// Reason says why a connection was refused or ended. It is one byte on the wire
// (CONN_ACK, BYE and link rejects). A number that this release does not know is a
// valid reason without a name.
type Reason uint8

const (
	// ReasonNone: accepted.
	ReasonNone Reason = 0
	// ReasonVersion: the two sides speak different protocol versions.
	ReasonVersion Reason = 1
	// ReasonProtocol: a side sent what the protocol forbids.
	ReasonProtocol Reason = 2
	// ReasonSelf: the link request came from this very session. A process that
	// sends to itself needs no connection.
	ReasonSelf Reason = 3
	// ReasonRefused: the other side refuses this peer.
	ReasonRefused Reason = 4
	// ReasonAbsent: no process listens at the address.
	ReasonAbsent Reason = 5
	// ReasonBusy: a side has no links, ids, buffers or descriptors left now.
	ReasonBusy Reason = 6
	// ReasonTimeout: no answer in time.
	ReasonTimeout Reason = 7
	// ReasonLinkLost: the link broke, or the other side closed it without BYE.
	ReasonLinkLost Reason = 8
	// ReasonPeerDied: the process at the other end ended.
	ReasonPeerDied Reason = 9
	// ReasonPeerRestarted: a new session of the peer asks to connect.
	ReasonPeerRestarted Reason = 10
	// ReasonDead: keep-alives went unanswered.
	ReasonDead Reason = 11
	// ReasonCancelled: an operation that was half on the wire was cancelled.
	ReasonCancelled Reason = 12
	// ReasonDropped: the address was dropped.
	ReasonDropped Reason = 13
	// ReasonClosing: the endpoint is being closed.
	ReasonClosing Reason = 14
	// ReasonStale: the request belongs to an attempt or session that is over.
	ReasonStale Reason = 15
	// ReasonCrossed: the two sides' requests crossed and the other one won.
	ReasonCrossed Reason = 16
	// ReasonSuperseded: a newer request took this one's place in the queue.
	ReasonSuperseded Reason = 17
	// ReasonNoAddress: the peer can connect to this side, but not the reverse.
	ReasonNoAddress Reason = 18

	reasonCount = 19
)

var reasonNames = [reasonCount]string{
	"none", "version", "protocol", "self", "refused", "absent", "busy",
	"timeout", "link lost", "peer died", "peer restarted", "dead", "cancelled",
	"dropped", "closing", "stale", "crossed", "superseded", "no address",
}

func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Transient reports whether another attempt may well succeed.
func (r Reason) Transient() bool {
	switch r {
	case ReasonBusy, ReasonTimeout, ReasonLinkLost, ReasonPeerDied, ReasonPeerRestarted, ReasonDead,
		ReasonCancelled, ReasonDropped, ReasonStale, ReasonCrossed, ReasonSuperseded:
		return true
	}
	return false
}

// cause is a reason together with the side that gave it.
type cause struct {
	reason Reason
	remote bool
}

// orLost turns a missing reason, which may come from the network, into a lost
// link.
func (r Reason) orLost() Reason {
	if r == ReasonNone {
		return ReasonLinkLost
	}
	return r
}

// final reports whether a disconnect for this reason also refuses the peer's
// waiting request.
func (r Reason) final() bool { return r == ReasonDropped || r == ReasonClosing }
