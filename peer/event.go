package peer

import "fmt"

// Link names one link of one machine, counted up from 1 by the machine. The
// owner keeps it with the VI and puts it into every event of that VI. Events of
// a link that the machine has given up are ignored.
type Link uint32

// Request is the owner's name for a link request that waits for an answer.
type Request uint64

// EventKind says what happened.
type EventKind uint8

const (
	// EventTick: time has passed. Due when NextDeadline has passed.
	EventTick EventKind = iota
	// EventQueued: a send was appended to the queued sends (PolicyQueue).
	EventQueued
	// EventUnqueued: a queued send was cancelled and left the list. Not due
	// for sends that ActionFlush or ActionFail took off the list.
	EventUnqueued
	// EventDrained: Release reported true.
	EventDrained
	// EventDisconnect: our side ends the connection, for Reason: cancel of
	// an operation half on the wire, DropAddr, closing, or the peer sent
	// what the protocol forbids. With ReasonDropped and ReasonClosing a
	// request that waits is refused too, and everything queued fails.
	EventDisconnect

	// EventLinkRequest: the peer asks for a link. Request, Hello (Version,
	// Session, Attempt). The answer is an ActionLinkAccept or
	// ActionLinkReject, perhaps of a later Step.
	EventLinkRequest
	// EventLinkUp: Link is connected. For an accepted link it comes before
	// any packet of that link.
	EventLinkUp
	// EventLinkFailed: Link could not be made, or accepted, for Reason.
	// Remote if the other side said so. The link is gone.
	EventLinkFailed
	// EventLinkDown: Link ended, for Reason (ReasonLinkLost, ReasonPeerDied,
	// ReasonProtocol). The link is gone. Not due after ActionLinkClose, but
	// harmless.
	EventLinkDown

	// EventConnReq, EventConnAck: the packet arrived over Link, with Hello.
	EventConnReq
	EventConnAck
	// EventBye: the other side ends the connection, for Reason.
	EventBye
	// EventKeepAlive: the other side asks whether we are alive. (An answer
	// to ours needs no event beyond Heard.)
	EventKeepAlive

	eventCount = iota
)

var eventNames = [eventCount]string{
	"tick", "queued", "unqueued", "drained", "disconnect",
	"link-request", "link-up", "link-failed", "link-down",
	"conn-req", "conn-ack", "bye", "keep-alive",
}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// An Event is one thing that happened. Which fields count depends on Kind.
type Event struct {
	Kind    EventKind
	Reason  Reason
	Remote  bool
	Link    Link
	Request Request
	Hello   Hello
}

func (e Event) String() string {
	s := e.Kind.String()
	switch e.Kind {
	case EventDisconnect:
		s += fmt.Sprintf(" (%v)", e.Reason)
	case EventLinkRequest:
		s += fmt.Sprintf(" #%d %v", e.Request, e.Hello)
	case EventLinkUp, EventKeepAlive:
		s += fmt.Sprintf(" link %d", e.Link)
	case EventLinkFailed, EventLinkDown, EventBye:
		s += fmt.Sprintf(" link %d (%s)", e.Link, because(e.Reason, e.Remote))
	case EventConnReq, EventConnAck:
		s += fmt.Sprintf(" link %d %v", e.Link, e.Hello)
	}
	return s
}

func because(r Reason, remote bool) string {
	if remote {
		return r.String() + ", says the peer"
	}
	return r.String()
}
