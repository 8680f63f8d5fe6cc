package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// consumer is what the links of a method tell it (link.Consumer).
type consumer method

// PollSoon asks for a Poll (link.Consumer).
func (c *consumer) PollSoon() { c.host.Wake() }

// Requested handles a connect request (link.Consumer).
func (c *consumer) Requested(q *link.Request, err error) {
	m := (*method)(c)
	if m.closing {
		q.Refuse(peer.ReasonClosing)
		return
	}
	if err != nil {
		m.errors.Protocol++
		m.log.Warn("via: refused a connect request", "remote", q.Host, "error", err)
		q.Refuse(peer.ReasonProtocol)
		return
	}
	// The NIC's name for the requester counts, not the name in the request: a requester
	// that listens at all addresses of its machine cannot know which of them we see.
	ask := &q.Ask
	r := m.byHost[q.Host]
	if r == nil {
		if r, err = m.newRemote(q.Host, ask.Name == "" || q.OtherUser); err != nil {
			q.Refuse(peer.ReasonBusy)
			return
		}
	}
	r.note(q)
	m.requests++
	id := peer.Request(m.requests)
	m.waitingRequests[id] = q
	m.step(r, peer.Event{Kind: peer.EventLinkRequest, Request: id, Hello: peer.Hello{
		Version: version16(ask.Version),
		Session: ask.Session,
		Attempt: ask.Attempt,
		Name:    ask.Name,
	}})
}

// version16 limits a version from outside to the 16 bits that the machine compares.
func version16(v uint32) uint16 { return uint16(min(v, 1<<16-1)) }

// step gives the machine of a peer an event and carries out its actions. The
// actions of a step within a step come after those that are still to be done.
func (m *method) step(r *remote, ev peer.Event) {
	before := len(m.actions)
	m.stepped = r.fsm.Step(m.now(), ev, m.stepped[:0])
	for _, a := range m.stepped {
		m.actions = append(m.actions, remoteAction{r, a})
	}
	if !r.fsm.Ready() {
		r.link.Shut()
	}
	m.watch(r)
	if before > 0 {
		return // an outer step is at work
	}
	for i := 0; i < len(m.actions); i++ {
		m.act(m.actions[i].r, &m.actions[i].a)
	}
	clear(m.actions)
	m.actions = m.actions[:0]
	m.maybeForget(r)
}

type remoteAction struct {
	r *remote
	a peer.Action
}

// act carries out one action of a peer's machine.
func (m *method) act(r *remote, a *peer.Action) {
	action := *a // the list may move when it grows
	switch action.Kind {
	case peer.ActionLinkConnect:
		m.linkConnect(r, &action)
	case peer.ActionLinkAccept:
		m.linkAccept(r, &action)
	case peer.ActionLinkReject:
		if req := m.takeRequest(action.Request); req != nil {
			req.Refuse(action.Reason)
		}
	case peer.ActionLinkClose:
		m.closeLink(r)
	case peer.ActionSendConnReq:
		m.sendConnReq(r, &action.Hello)
	case peer.ActionSendConnAck:
		m.sendConnAck(r, &action.Hello)
	case peer.ActionSendBye:
		r.link.SendBare(matchbits.TypeCancel, wire.Bye{Reason: uint32(action.Reason)}.Aux())
	case peer.ActionSendKeepAlive:
		r.link.SendBare(matchbits.TypeKeepAlive, wire.KeepAlive{WantReply: true}.Aux())
	case peer.ActionAnswerKeepAlive:
		r.link.SendBare(matchbits.TypeKeepAlive, wire.KeepAlive{}.Aux())
	case peer.ActionFlush:
		m.opened(r)
	case peer.ActionFail:
		m.fail(r, action.Reason, action.Remote)
	case peer.ActionPostRecvs:
		m.postPostponed(r)
	}
}

func (m *method) takeRequest(id peer.Request) *link.Request {
	req := m.waitingRequests[id]
	delete(m.waitingRequests, id)
	return req
}

func (m *method) linkConnect(r *remote, a *peer.Action) {
	m.startAnew(r)
	err := m.links.Connect(&r.link, a.Link, r.host(), &wire.LinkReq{
		Version: uint32(a.Hello.Version), Session: a.Hello.Session,
		Attempt: a.Hello.Attempt, Name: a.Hello.Name,
	}, m.peerConfig.AttemptTimeout)
	if err != nil {
		m.linkFailed(r, a.Link, err)
	}
}

func (m *method) linkAccept(r *remote, a *peer.Action) {
	m.startAnew(r)
	if err := m.links.Accept(&r.link, a.Link, m.takeRequest(a.Request)); err != nil {
		m.linkFailed(r, a.Link, err)
	}
}

// startAnew forgets what the peer was sending over its last link.
func (m *method) startAnew(r *remote) {
	r.eagerBytes = 0
	if a := r.assembly; a != nil {
		r.assembly = nil
		m.endAssembly(a)
	}
}

// closeLink takes the link out of use.
func (m *method) closeLink(r *remote) {
	if !r.link.InUse() {
		return
	}
	if past := r.linkStats(); past != (bmi.LinkStats{}) {
		r.pastLinks = &past
	}
	if r.link.Close() {
		r.count.Disconnects++
	}
}

// Up tells the machine that the NICs have connected (link.Consumer).
func (c *consumer) Up(l *link.Link) {
	r := l.Owner().(*remote)
	r.source.Store(nil)
	if at := l.Source(); at.IsValid() {
		r.source.Store(&at)
	}
	(*method)(c).step(r, peer.Event{Kind: peer.EventLinkUp, Link: l.ID()})
}

// Failed handles an attempt to connect that has ended (link.Consumer).
func (c *consumer) Failed(l *link.Link, err error) {
	(*method)(c).linkFailed(l.Owner().(*remote), l.ID(), err)
}

// linkFailed reports to the machine that a link could not be made.
func (m *method) linkFailed(r *remote, id peer.Link, err error) {
	reason, remote := link.Reason(err)
	if r.link.ID() == id {
		m.closeLink(r)
	}
	m.step(r, peer.Event{Kind: peer.EventLinkFailed, Link: id, Reason: reason, Remote: remote})
}

// Broke closes a link that broke (link.Consumer). The operations fail.
func (c *consumer) Broke(l *link.Link, err error) {
	m, r := (*method)(c), l.Owner().(*remote)
	m.closeLink(r)
	reason, _ := link.Reason(err)
	if reason == peer.ReasonTimeout {
		reason = peer.ReasonLinkLost // the peer was there before
	}
	m.step(r, peer.Event{Kind: peer.EventLinkDown, Link: l.ID(), Reason: reason})
}

// Breached ends the connection of a peer that broke the rules (link.Consumer).
func (c *consumer) Breached(l *link.Link, err error) {
	m, r := (*method)(c), l.Owner().(*remote)
	m.errors.Protocol++
	m.log.Warn("via: peer broke the protocol, disconnecting it", "peer", r.name, "error", err)
	m.step(r, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonProtocol})
}

// opened begins READY, and sends what waited for it.
func (m *method) opened(r *remote) {
	r.link.Opened(r.fsm.RemoteID(), r.fsm.RemoteCredits())
	packet := r.link.PacketBytes()
	eager := min(m.eagerBytes, r.fsm.RemoteEagerBytes(), EagerPacketsMax*packet)
	r.eagerBytes, r.oneBytes = int32(eager), int32(min(packet, eager))
	r.failed = nil
	r.count.Connects++
	m.pump(r)
}

// fail ends every operation with a peer.
func (m *method) fail(r *remote, reason peer.Reason, remote bool) {
	err := m.failure(r, reason, remote)
	r.failed = err
	m.abandonAssembly(r, err)
	m.inbox.Fail(&r.inbox, err)
	for r.sends.Len() > 0 {
		r.sends.Remove(&r.sends.First().queued)
	}
	m.resume(r) // they find that they failed
	var next *opState
	for s := r.ops.First(); s != nil; s = next {
		next = s.all.Next()
		m.failOp(s, err)
	}
	m.inbox.DropAnnounced(&r.inbox)
	if reason == peer.ReasonPeerRestarted || reason == peer.ReasonDropped || r.otherUser {
		m.inbox.DropEarly(&r.inbox)
	}
	if r.otherUser {
		// It cannot be answered, and the messages of strangers must not add up.
		m.inbox.DropHeld(&r.inbox)
	}
}

// failOp ends one operation, at once or when its memory is free.
func (m *method) failOp(s *opState, err error) {
	if s.err != nil {
		err = s.err // it was cancelled, or its file failed: it is why the others fail
	}
	switch s.phase {
	case phaseSending, phaseLarge:
		s.phase, s.err = phaseEnding, err
		if s.large != nil {
			s.large.transfer.Fail()
		}
		m.settle(s)
	case phaseEnding:
		// It is ending already.
	case phaseLocal:
		m.inbox.Withdraw(s.local)
		m.finish(s, 0, err)
	default:
		if s.inflight > 0 {
			s.phase, s.err = phaseEnding, err
			return
		}
		m.finish(s, 0, err)
	}
}

// failure makes the error that operations with a peer fail with.
func (m *method) failure(r *remote, reason peer.Reason, remote bool) error {
	kind := bmi.ErrPeerFailed
	switch reason {
	case peer.ReasonVersion:
		kind = bmi.ErrVersion
		m.errors.Version++
	case peer.ReasonRefused, peer.ReasonSelf:
		kind = bmi.ErrRefused
		m.errors.ConnectFailed++
	case peer.ReasonAbsent, peer.ReasonNoAddress, peer.ReasonTimeout:
		kind = bmi.ErrUnreachable
		m.errors.ConnectFailed++
	case peer.ReasonProtocol:
		kind = bmi.ErrProtocol
	case peer.ReasonDropped:
		kind = bmi.ErrDropped
		if remote {
			kind = bmi.ErrPeerFailed
		}
	case peer.ReasonClosing:
		kind = bmi.ErrClosed
		if remote {
			kind = bmi.ErrPeerFailed
		}
	default:
		m.errors.PeerFailed++
	}
	text := reason.String()
	if remote {
		text += ", says the peer"
	}
	if cause := r.link.TakeCause(); cause != nil {
		return fmt.Errorf("%w: %s: %s: %w", kind, r.name, text, cause)
	}
	return fmt.Errorf("%w: %s: %s", kind, r.name, text)
}

// drained reports to the machine that the last operation has ended.
func (m *method) drained(r *remote) {
	m.step(r, peer.Event{Kind: peer.EventDrained})
}

// maybeForget forgets a peer that cannot be reached, and for which nothing waits.
func (m *method) maybeForget(r *remote) {
	if !r.fsm.Idle() || r.ops.Len() > 0 || r.inbox.Recvs() > 0 || r.link.InUse() {
		return
	}
	if r.dropped || r.fsm.SendPolicy() == peer.PolicyRefuse && r.inbox.Early() == 0 && !r.inbox.Holds() {
		m.forget(r)
	}
}
