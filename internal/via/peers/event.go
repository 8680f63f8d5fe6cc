package peers

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/peer"
)

// PollSoon asks for a Poll (link.Consumer).
func (ps *Peers) PollSoon() { ps.Wake() }

// Requested handles a connect request (link.Consumer).
func (ps *Peers) Requested(q *link.Request, err error) {
	if ps.closing {
		q.Refuse(peer.ReasonClosing)
		return
	}
	if err != nil {
		ps.Errors.Protocol++
		ps.Log.Warn("via: refused a connect request", "remote", q.Host, "error", err)
		q.Refuse(peer.ReasonProtocol)
		return
	}
	// The NIC's name for the requester counts, not the name in the request: a requester
	// that listens at all addresses of its machine cannot know which of them we see.
	ask := &q.Ask
	p := ps.byHost[q.Host]
	if p == nil {
		if p, err = ps.user.NewPeer(q.Host, ask.Name == "" || q.OtherUser); err != nil {
			q.Refuse(peer.ReasonBusy)
			return
		}
	}
	if q.User != nil {
		p.user.Store(&bmi.User{UID: q.User.UID, Groups: q.User.Groups})
	}
	p.otherUser = q.OtherUser
	ps.lastRequest++
	ps.requests[ps.lastRequest] = q
	ps.Step(p, peer.Event{Kind: peer.EventLinkRequest, Request: ps.lastRequest, Hello: peer.Hello{
		Version: version16(ask.Version),
		Session: ask.Session,
		Attempt: ask.Attempt,
		Name:    ask.Name,
	}})
}

// Up tells the machine that the NICs have connected (link.Consumer).
func (ps *Peers) Up(l *link.Link) {
	p := of(l.Owner())
	p.source.Store(nil)
	if at := l.Source(); at.IsValid() {
		p.source.Store(&at)
	}
	ps.Step(p, peer.Event{Kind: peer.EventLinkUp, Link: l.ID()})
}

// Failed handles an attempt to connect that has ended (link.Consumer).
func (ps *Peers) Failed(l *link.Link, err error) { ps.linkFailed(of(l.Owner()), l.ID(), err) }

// Broke closes a link that broke (link.Consumer). The operations fail.
func (ps *Peers) Broke(l *link.Link, err error) {
	p := of(l.Owner())
	ps.closeLink(p)
	reason, _ := link.Reason(err)
	if reason == peer.ReasonTimeout {
		reason = peer.ReasonLinkLost // the peer was there before
	}
	ps.Step(p, peer.Event{Kind: peer.EventLinkDown, Link: l.ID(), Reason: reason})
}

// Breached ends the connection of a peer that broke the rules (link.Consumer).
func (ps *Peers) Breached(l *link.Link, err error) {
	p := of(l.Owner())
	ps.Errors.Protocol++
	ps.Log.Warn("via: peer broke the protocol, disconnecting it", "peer", p.name, "error", err)
	ps.Step(p, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonProtocol})
}
