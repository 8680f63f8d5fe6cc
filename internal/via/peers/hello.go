package peers

import (
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/peer"
)

// terms returns the description of this side for a peer.
func (ps *Peers) terms(p *Peer) wire.Terms {
	t := p.Link.Terms()
	t.Eager = ps.Machine.Local.EagerBytes
	return t
}

// sendConnReq sends CONN_REQ over the link in use. It and its answer spend the credits
// that every side has at least.
func (ps *Peers) sendConnReq(p *Peer, h *peer.Hello) {
	if !p.Link.InUse() {
		return
	}
	k := ps.links.Take()
	k.Body = (&wire.ConnReq{
		Version: uint32(h.Version),
		Session: h.Session,
		Attempt: h.Attempt,
		Terms:   ps.terms(p),
		Name:    h.Name,
	}).Append(k.Body)
	p.Link.SendControl(k, matchbits.TypeConnReq, 0, 0)
}

// sendConnAck answers a CONN_REQ.
func (ps *Peers) sendConnAck(p *Peer, h *peer.Hello) {
	if !p.Link.InUse() {
		return
	}
	ack := wire.ConnAck{
		Version: uint32(h.Version),
		Reason:  uint32(h.Reason),
		Session: h.Session,
		Attempt: h.Attempt,
		Latest:  h.Latest,
	}
	if h.Reason == peer.ReasonNone {
		ack.Terms = ps.terms(p)
	}
	k := ps.links.Take()
	k.Body = ack.Append(k.Body)
	p.Link.SendControl(k, matchbits.TypeConnAck, 0, 0)
}
