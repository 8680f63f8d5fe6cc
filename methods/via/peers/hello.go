package peers

import (
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

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
		PeerID:  uint32(p.Link.MyID()),
		Credits: uint32(p.Link.Posted()),
		MTU:     uint32(ps.links.Caps().MTUBytes),
		Eager:   ps.Machine.Local.EagerBytes,
		Flags:   p.Link.Flags(),
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
		ack.PeerID = uint32(p.Link.MyID())
		ack.Credits = uint32(p.Link.Posted())
		ack.MTU = uint32(ps.links.Caps().MTUBytes)
		ack.Eager = ps.Machine.Local.EagerBytes
		ack.Flags = p.Link.Flags()
	}
	k := ps.links.Take()
	k.Body = ack.Append(k.Body)
	p.Link.SendControl(k, matchbits.TypeConnAck, 0, 0)
}
