package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// sendConnReq sends CONN_REQ over the link in use. It and its answer spend the credits
// that every side has at least.
func (m *method) sendConnReq(r *remote, h *peer.Hello) {
	if !r.link.InUse() {
		return
	}
	p := m.links.Take()
	p.Body = (&wire.ConnReq{
		Version: uint32(h.Version),
		Session: h.Session,
		Attempt: h.Attempt,
		PeerID:  uint32(r.link.MyID()),
		Credits: uint32(r.link.Posted()),
		MTU:     uint32(m.caps.MTUBytes),
		Eager:   uint32(m.eagerBytes),
		Flags:   r.link.Flags(),
		Name:    h.Name,
	}).Append(p.Body)
	r.link.SendControl(p, matchbits.TypeConnReq, 0, 0)
}

// sendConnAck answers a CONN_REQ.
func (m *method) sendConnAck(r *remote, h *peer.Hello) {
	if !r.link.InUse() {
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
		ack.PeerID = uint32(r.link.MyID())
		ack.Credits = uint32(r.link.Posted())
		ack.MTU = uint32(m.caps.MTUBytes)
		ack.Eager = uint32(m.eagerBytes)
		ack.Flags = r.link.Flags()
	}
	p := m.links.Take()
	p.Body = ack.Append(p.Body)
	r.link.SendControl(p, matchbits.TypeConnAck, 0, 0)
}

// connReqArrived reads CONN_REQ.
func (m *method) connReqArrived(r *remote, body []byte) error {
	req, err := wire.ParseConnReq(body)
	if err != nil {
		return fmt.Errorf("CONN_REQ: %w", err)
	}
	r.link.Learn(req.MTU, req.Flags)
	m.step(r, peer.Event{Kind: peer.EventConnReq, Link: r.link.ID(), Hello: peer.Hello{
		Version:    version16(req.Version),
		Session:    req.Session,
		Attempt:    req.Attempt,
		Name:       req.Name,
		PeerID:     peer.ID(req.PeerID),
		Credits:    uint16(req.Credits),
		EagerBytes: req.Eager,
	}})
	return nil
}

// connAckArrived reads CONN_ACK.
func (m *method) connAckArrived(r *remote, body []byte) error {
	ack, err := wire.ParseConnAck(body)
	if err != nil {
		return fmt.Errorf("CONN_ACK: %w", err)
	}
	r.link.Learn(ack.MTU, ack.Flags)
	m.step(r, peer.Event{Kind: peer.EventConnAck, Link: r.link.ID(), Hello: peer.Hello{
		Version:    version16(ack.Version),
		Session:    ack.Session,
		Attempt:    ack.Attempt,
		Latest:     ack.Latest,
		Reason:     peer.Reason(min(ack.Reason, 255)),
		PeerID:     peer.ID(ack.PeerID),
		Credits:    uint16(ack.Credits),
		EagerBytes: ack.Eager,
	}})
	return nil
}

// byeArrived reads CANCEL, by which the peer ends the connection.
func (m *method) byeArrived(r *remote, h wire.Header, body []byte) error {
	bye, err := wire.ParseBye(h.Aux, body)
	if err != nil {
		return fmt.Errorf("CANCEL: %w", err)
	}
	m.step(r, peer.Event{Kind: peer.EventBye, Link: r.link.ID(), Reason: peer.Reason(min(bye.Reason, 255)), Remote: true})
	return nil
}

// keepAliveArrived reads KEEP_ALIVE.
func (m *method) keepAliveArrived(r *remote, h wire.Header, body []byte) error {
	k, err := wire.ParseKeepAlive(h.Aux, body)
	if err == nil && k.WantReply {
		m.step(r, peer.Event{Kind: peer.EventKeepAlive, Link: r.link.ID()})
	}
	return err
}
