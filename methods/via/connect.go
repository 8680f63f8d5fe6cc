package via

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// discriminator is the one of BMI endpoints, so that other consumers can share a
// name with them.
const discriminator = "bmi"

// requested handles a connect request of the NIC.
func (m *method) requested(req *vipl.ConnRequest) {
	if req.Discriminator != discriminator {
		m.refuse(req, peer.ReasonAbsent)
		return
	}
	if m.closing {
		m.refuse(req, peer.ReasonClosing)
		return
	}
	ask, err := wire.ParseLinkReq(req.Private)
	if err != nil {
		m.errors.Protocol++
		m.log.Warn("via: refused a connect request", "remote", req.Remote.Host, "error", err)
		m.refuse(req, peer.ReasonProtocol)
		return
	}
	// The NIC's name for the requester counts, not the name in the request: a requester
	// that listens at all addresses of its machine cannot know which of them we see.
	r := m.byHost[req.Remote.Host]
	if r == nil {
		if r, err = m.newRemote(req.Remote.Host, ask.Name == "" || req.OtherUser); err != nil {
			m.refuse(req, peer.ReasonBusy)
			return
		}
	}
	r.note(req)
	m.requests++
	id := peer.Request(m.requests)
	m.waitingRequests[id] = req
	m.step(r, peer.Event{Kind: peer.EventLinkRequest, Request: id, Hello: peer.Hello{
		Version: version16(ask.Version),
		Session: ask.Session,
		Attempt: ask.Attempt,
		Name:    ask.Name,
	}})
}

// refuse rejects a request. An error means that the requester is gone.
func (m *method) refuse(req *vipl.ConnRequest, reason peer.Reason) {
	_ = req.Reject([]byte{byte(reason)})
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
	if r.fsm.State() != peer.Ready {
		r.open = false
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
			m.refuse(req, action.Reason)
		}
	case peer.ActionLinkClose:
		m.closeLink(r)
	case peer.ActionSendConnReq:
		m.sendConnReq(r, &action.Hello)
	case peer.ActionSendConnAck:
		m.sendConnAck(r, &action.Hello)
	case peer.ActionSendBye:
		m.sendBare(r, matchbits.TypeCancel, wire.Bye{Reason: uint32(action.Reason)}.Aux())
	case peer.ActionSendKeepAlive:
		m.sendBare(r, matchbits.TypeKeepAlive, wire.KeepAlive{WantReply: true}.Aux())
	case peer.ActionAnswerKeepAlive:
		m.sendBare(r, matchbits.TypeKeepAlive, wire.KeepAlive{}.Aux())
	case peer.ActionFlush:
		m.opened(r)
	case peer.ActionFail:
		m.fail(r, action.Reason, action.Remote)
	case peer.ActionPostRecvs:
		m.postPostponed(r)
	}
}

func (m *method) takeRequest(id peer.Request) *vipl.ConnRequest {
	req := m.waitingRequests[id]
	delete(m.waitingRequests, id)
	return req
}

func (m *method) linkConnect(r *remote, a *peer.Action) {
	l, err := m.openLink(r, a.Link)
	if err == nil {
		ask := wire.LinkReq{
			Version: uint32(a.Hello.Version), Session: a.Hello.Session,
			Attempt: a.Hello.Attempt, Name: a.Hello.Name,
		}
		err = l.vi.ConnectStart(
			vipl.Address{Host: r.host(), Discriminator: discriminator},
			vipl.ConnectOptions{Private: ask.Append(nil), Timeout: m.peerConfig.AttemptTimeout},
		)
	}
	if err != nil {
		m.linkFailed(r, a.Link, err)
	}
}

func (m *method) linkAccept(r *remote, a *peer.Action) {
	req := m.takeRequest(a.Request)
	if req == nil {
		m.linkFailed(r, a.Link, nic.ErrNotConnected)
		return
	}
	l, err := m.openLink(r, a.Link)
	if err == nil {
		l.accepted = true
		err = req.Accept(l.vi)
	}
	if err != nil {
		m.refuse(req, peer.ReasonBusy) // unless Accept has answered it
		m.linkFailed(r, a.Link, err)
	}
}

// linkFailed reports to the machine that a link could not be made.
func (m *method) linkFailed(r *remote, id peer.Link, err error) {
	r.cause = err
	reason, remote := reasonOf(err)
	if r.link != nil && r.link.id == id {
		m.closeLink(r)
	}
	m.step(r, peer.Event{Kind: peer.EventLinkFailed, Link: id, Reason: reason, Remote: remote})
}

// errFlushed: a descriptor came back because the link ended. An event will say why.
var errFlushed = errors.New("the connection ended")

// brokenBy is the error of a descriptor that did not succeed.
func brokenBy(what string, status nic.Status) error {
	if status == nic.StatusFlushed {
		return errFlushed
	}
	return fmt.Errorf("%s ended with status %d", what, status)
}

// linkBroke notes that the link in use gave an error. Nothing more is sent over
// it. The operations fail in the next Poll, because a caller may be using one of
// them now.
func (m *method) linkBroke(r *remote, err error) {
	if r.link == nil {
		return
	}
	if r.broken {
		if errors.Is(r.cause, errFlushed) {
			r.cause = err // it says why
		}
		return
	}
	r.broken, r.open = true, false
	r.cause, r.causeWait = err, causeWaitPolls
	m.broken = append(m.broken, r)
	m.host.Wake()
}

// endBroken closes the links that broke.
func (m *method) endBroken() {
	wait := 0 // links that wait a few Polls for the event that says why
	for len(m.broken) > wait {
		r := m.broken[wait]
		if r.broken && r.causeWait > 0 && errors.Is(r.cause, errFlushed) && r.vi.State() == vipl.Connected {
			r.causeWait--
			wait++
			continue
		}
		m.broken = slices.Delete(m.broken, wait, wait+1)
		if !r.broken {
			continue // the machine has already given up this link
		}
		id := r.link.id
		m.log.Debug("via: link broke", "peer", r.name, "error", r.cause)
		m.closeLink(r)
		reason, _ := reasonOf(r.cause)
		if reason == peer.ReasonTimeout {
			reason = peer.ReasonLinkLost // the peer was there before
		}
		m.step(r, peer.Event{Kind: peer.EventLinkDown, Link: id, Reason: reason})
	}
}

// protocolError ends the connection of a peer that broke the rules.
func (m *method) protocolError(r *remote, err error) {
	m.errors.Protocol++
	m.log.Warn("via: peer broke the protocol, disconnecting it", "peer", r.name, "error", err)
	r.cause = err
	m.step(r, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonProtocol})
}

// reasonOf translates an error of the NIC. remote is true if the other side gave
// the reason.
func reasonOf(err error) (reason peer.Reason, remote bool) {
	var rejected *vipl.RejectedError
	switch {
	case errors.As(err, &rejected):
		if len(rejected.Reason) == 1 && rejected.Reason[0] != 0 {
			return peer.Reason(rejected.Reason[0]), true
		}
		return peer.ReasonRefused, true
	case errors.Is(err, vipl.ErrNoMatch), errors.Is(err, nic.ErrUnreachable):
		return peer.ReasonAbsent, false
	case errors.Is(err, nic.ErrKey), errors.Is(err, os.ErrPermission):
		return peer.ReasonRefused, false
	case errors.Is(err, nic.ErrVersion):
		return peer.ReasonVersion, false
	case errors.Is(err, nic.ErrPeerDied):
		return peer.ReasonPeerDied, false
	case errors.Is(err, nic.ErrTimeout), errors.Is(err, vipl.ErrTimeout):
		return peer.ReasonTimeout, false
	case errors.Is(err, nic.ErrProtocol):
		return peer.ReasonProtocol, false
	case errors.Is(err, nic.ErrNotConnected):
		return peer.ReasonLinkLost, false
	case errors.Is(err, errResource):
		return peer.ReasonBusy, false
	}
	return peer.ReasonLinkLost, false
}

// opened begins READY, and sends what waited for it.
func (m *method) opened(r *remote) {
	l := r.link
	r.theirID = matchbits.PeerID(r.fsm.RemoteID())
	r.packetBytes = min(m.caps.MTUBytes, l.theirMTU) - wire.HeaderLen
	r.eagerBytes = min(m.eagerBytes, r.fsm.RemoteEagerBytes(), EagerPacketsMax*r.packetBytes)
	r.oneBytes = min(r.packetBytes, r.eagerBytes)
	r.credits.Extend(r.fsm.RemoteCredits())
	both := l.theirFlags & m.connFlags(l)
	l.reads, l.writes = both&wire.ConnRDMARead != 0, both&wire.ConnRDMAWrite != 0
	r.connected = true
	r.open, r.failed = !r.broken, nil
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
		r.sends.Remove(r.sends.First())
	}
	m.resume(r) // they find that they failed
	var next *opState
	for s := r.ops.First(); s != nil; s = next {
		next = r.ops.Next(s)
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
	if r.cause != nil {
		cause := r.cause
		r.cause = nil
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
	if !r.fsm.Idle() || r.ops.Len() > 0 || r.inbox.Recvs() > 0 || r.link != nil {
		return
	}
	if r.dropped || r.fsm.SendPolicy() == peer.PolicyRefuse && r.inbox.Early() == 0 && !r.inbox.Holds() {
		m.forget(r)
	}
}
