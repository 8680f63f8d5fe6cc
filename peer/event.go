package peer

import "fmt"

// Link names one link of one machine; the machine counts them up from 1. The
// owner keeps it with the VI and puts it into every event of that VI. Events of a
// link that the machine has given up are ignored.
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
	// EventDisconnect: this side ends the connection, for Reason: an operation
	// was cancelled while partly transmitted, DropAddr, closing, or the peer
	// broke the protocol. With ReasonDropped and ReasonClosing a waiting request
	// is refused too, and everything queued fails.
	EventDisconnect

	// EventLinkRequest: the peer asks for a link. Request, Hello (Version,
	// Session, Attempt). The answer is an ActionLinkAccept or
	// ActionLinkReject, perhaps of a later Step.
	EventLinkRequest
	// EventLinkUp: Link is connected. For an accepted link this event comes
	// before any packet of the link.
	EventLinkUp
	// EventLinkFailed: Link could not be made, or accepted, for Reason. Remote if
	// the other side gave the reason. The link no longer exists.
	EventLinkFailed
	// EventLinkDown: Link ended, for Reason (ReasonLinkLost, ReasonPeerDied,
	// ReasonProtocol). The link no longer exists. After ActionLinkClose the event
	// is not due, but harmless.
	EventLinkDown

	// EventConnReq, EventConnAck: the packet arrived over Link, with Hello.
	EventConnReq
	EventConnAck
	// EventBye: the other side ends the connection, for Reason.
	EventBye
	// EventKeepAlive: the other side sent a keep-alive and wants an answer. (An
	// answer to our own needs no event beyond Heard.)
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

// An Event is one thing that happened. Kind decides which fields are used.
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
