package peer

import "fmt"

// ActionKind says what the owner must do.
type ActionKind uint8

const (
	// ActionLinkConnect: open a VI for Link, take a peer id for it, and
	// connect to the peer's address; Hello (Version, Session, Attempt, Name)
	// goes with the request. EventLinkUp or EventLinkFailed follows.
	ActionLinkConnect ActionKind = iota + 1
	// ActionLinkAccept: open a VI for Link, take a peer id for it, and accept
	// Request with it. EventLinkUp or EventLinkFailed follows. EventLinkFailed
	// also follows if the request was withdrawn.
	ActionLinkAccept
	// ActionLinkReject: reject Request, with Reason for the other side.
	ActionLinkReject
	// ActionLinkClose: end Link and give its peer id back. Earlier packets should
	// be sent first if that needs no waiting. Operations in flight come back
	// flushed and release their references. The machine has forgotten the link.
	// This action is neither due nor given after EventLinkFailed or EventLinkDown:
	// the owner then closes the VI and gives the id back at once.
	ActionLinkClose

	// ActionSendConnReq, ActionSendConnAck: send the packet over Link. Hello is
	// complete except for PeerID, which is the id taken for Link.
	ActionSendConnReq
	ActionSendConnAck
	// ActionSendBye: tell the other side that the connection ends, for Reason.
	ActionSendBye
	// ActionSendKeepAlive: send a keep-alive over Link, which the other side
	// answers.
	ActionSendKeepAlive
	// ActionAnswerKeepAlive: answer a keep-alive.
	ActionAnswerKeepAlive

	// ActionFlush: the connection is READY. Start the queued sends, in order, as
	// far as credits allow. The owner keeps the rest.
	ActionFlush
	// ActionFail: every operation with the peer fails with Reason (Remote: the
	// other side gave it). The queued sends and the queued and posted receives
	// fail at once, operations in flight when they come back from the NIC.
	ActionFail
	// ActionPostRecvs: post the receives that were queued in DISCONNECT.
	ActionPostRecvs

	actionCount = iota
)

var actionNames = [actionCount + 1]string{
	"none", "link-connect", "link-accept", "link-reject", "link-close",
	"send-conn-req", "send-conn-ack", "send-bye", "send-keep-alive", "answer-keep-alive",
	"flush", "fail", "post-recvs",
}

func (k ActionKind) String() string {
	if int(k) < len(actionNames) {
		return actionNames[k]
	}
	return fmt.Sprintf("ActionKind(%d)", uint8(k))
}

// An Action is one thing to do. Kind decides which fields are used.
type Action struct {
	Kind    ActionKind
	Reason  Reason
	Remote  bool
	Link    Link
	Request Request
	Hello   Hello
}

func (a Action) String() string {
	s := a.Kind.String()
	switch a.Kind {
	case ActionLinkConnect, ActionSendConnReq, ActionSendConnAck:
		s += fmt.Sprintf(" link %d attempt %d", a.Link, a.Hello.Attempt)
		if a.Hello.Reason != ReasonNone {
			s += fmt.Sprintf(" refused: %v", a.Hello.Reason)
		}
	case ActionLinkAccept:
		s += fmt.Sprintf(" #%d as link %d", a.Request, a.Link)
	case ActionLinkReject:
		s += fmt.Sprintf(" #%d (%v)", a.Request, a.Reason)
	case ActionLinkClose, ActionSendKeepAlive, ActionAnswerKeepAlive:
		s += fmt.Sprintf(" link %d", a.Link)
	case ActionSendBye:
		s += fmt.Sprintf(" link %d (%v)", a.Link, a.Reason)
	case ActionFail:
		s += fmt.Sprintf(" (%s)", because(a.Reason, a.Remote))
	}
	return s
}
