package peers

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/peer"
)

// Step gives the machine of a peer an event and carries out its actions. The
// actions of a step within a step come after those that are still to be done.
func (ps *Peers) Step(p *Peer, ev peer.Event) {
	before := len(ps.actions)
	now, was := ps.Clock(), p.machine.State()
	ps.stepped = p.machine.Step(now, ev, ps.stepped[:0])
	if p.machine.State() != was {
		p.since = now
	}
	for _, a := range ps.stepped {
		ps.actions = append(ps.actions, action{p, a})
	}
	if !p.machine.Ready() {
		p.Link.Shut()
	}
	ps.watch(p)
	if before > 0 {
		return // an outer step is at work
	}
	for i := 0; i < len(ps.actions); i++ {
		a := ps.actions[i] // the list may move when it grows
		ps.act(a.p, &a.Action)
	}
	clear(ps.actions)
	ps.actions = ps.actions[:0]
	ps.MaybeForget(p)
}

// Release ends what Acquire began.
func (ps *Peers) Release(p *Peer) {
	if p.machine.Release() {
		ps.Step(p, peer.Event{Kind: peer.EventDrained})
	}
}

// watch sets the timer of a peer to the deadline of its machine.
func (ps *Peers) watch(p *Peer) {
	if at, ok := p.machine.NextDeadline(); ok {
		ps.timers.Set(p, at)
	} else {
		ps.timers.Stop(p)
	}
}

// act carries out one action of a peer's machine.
func (ps *Peers) act(p *Peer, a *peer.Action) {
	switch a.Kind {
	case peer.ActionLinkConnect:
		ps.connect(p, a)
	case peer.ActionLinkAccept:
		if err := ps.links.Accept(&p.Link, a.Link, ps.takeRequest(a.Request)); err != nil {
			ps.linkFailed(p, a.Link, err)
		}
	case peer.ActionLinkReject:
		if req := ps.takeRequest(a.Request); req != nil {
			req.Refuse(a.Reason)
		}
	case peer.ActionLinkClose:
		ps.closeLink(p)
	case peer.ActionSendConnReq:
		ps.sendConnReq(p, &a.Hello)
	case peer.ActionSendConnAck:
		ps.sendConnAck(p, &a.Hello)
	case peer.ActionSendBye:
		p.Link.SendBare(matchbits.TypeCancel, wire.Bye{Reason: uint32(a.Reason)}.Aux())
	case peer.ActionSendKeepAlive:
		p.Link.SendBare(matchbits.TypeKeepAlive, wire.KeepAlive{WantReply: true}.Aux())
	case peer.ActionAnswerKeepAlive:
		p.Link.SendBare(matchbits.TypeKeepAlive, wire.KeepAlive{}.Aux())
	case peer.ActionFlush:
		p.Link.Opened(p.machine.RemoteID(), p.machine.RemoteCredits())
		p.failed = nil
		p.Traffic.Connects++
		ps.Report(bmi.Connected, p.name)
		ps.user.Opened(p)
	case peer.ActionFail:
		ps.fail(p, a.Reason, a.Remote)
	case peer.ActionPostRecvs:
		ps.user.Recovered(p)
	}
}

func (ps *Peers) takeRequest(id peer.Request) *link.Request {
	req := ps.requests[id]
	delete(ps.requests, id)
	return req
}

func (ps *Peers) connect(p *Peer, a *peer.Action) {
	err := ps.links.Connect(&p.Link, a.Link, p.host(), &wire.LinkReq{
		Version: uint32(a.Hello.Version), Session: a.Hello.Session,
		Attempt: a.Hello.Attempt, Name: a.Hello.Name,
	}, p.machine.AttemptTime())
	if err != nil {
		ps.linkFailed(p, a.Link, err)
	}
}

// linkFailed reports to the machine that a link could not be made.
func (ps *Peers) linkFailed(p *Peer, id peer.Link, err error) {
	reason, remote := link.Reason(err)
	if p.Link.ID() == id {
		ps.closeLink(p)
	}
	ps.Step(p, peer.Event{Kind: peer.EventLinkFailed, Link: id, Reason: reason, Remote: remote})
}

// closeLink takes the link out of use.
func (ps *Peers) closeLink(p *Peer) {
	if !p.Link.InUse() {
		return
	}
	if past := p.linkStats(); past != (netstats.Link{}) {
		p.pastLinks = &past
	}
	if p.Link.Close() {
		p.Traffic.Disconnects++
		ps.Report(bmi.Disconnected, p.name)
	}
}

// MaybeForget forgets a peer that cannot be reached, and for which nothing waits.
func (ps *Peers) MaybeForget(p *Peer) {
	if !p.machine.Idle() || p.Link.InUse() {
		return
	}
	operations, messages := ps.user.Waits(p)
	if !operations && (p.dropped || !messages && p.machine.SendPolicy() == peer.PolicyRefuse) {
		ps.forget(p)
	}
}

// forget takes a record out of the tables: the peer was dropped, or cannot be
// reached any more. Operations with its address fail from now on.
func (ps *Peers) forget(p *Peer) {
	if p.gone {
		return
	}
	p.gone, p.refusing = true, true
	ps.user.Forgotten(p)
	ps.unlist(p)
	ps.ids.Give(p.id, p.generation)
	ps.timers.Stop(p)
	count := p.count()
	ps.past.Add(&count)
}

// unlist frees the address of a peer for a new record.
func (ps *Peers) unlist(p *Peer) {
	if ps.byHost[p.host()] == p {
		delete(ps.byHost, p.host())
	}
}
