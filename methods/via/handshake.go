package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// sendConnReq sends CONN_REQ over the link in use.
func (m *method) sendConnReq(r *remote, h *peer.Hello) {
	if r.link == nil {
		return
	}
	p := m.takePacket()
	p.room = (&wire.ConnReq{
		Version: uint32(h.Version),
		Session: h.Session,
		Attempt: h.Attempt,
		PeerID:  uint32(r.link.myID),
		Credits: uint32(r.link.credits),
		MTU:     uint32(m.caps.MTUBytes),
		Eager:   uint32(m.eagerBytes),
		Flags:   m.connFlags(r.link),
		Name:    h.Name,
	}).Append(p.room)
	m.sendHandshake(r, p, matchbits.TypeConnReq)
}

// sendConnAck answers a CONN_REQ.
func (m *method) sendConnAck(r *remote, h *peer.Hello) {
	if r.link == nil {
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
		ack.PeerID = uint32(r.link.myID)
		ack.Credits = uint32(r.link.credits)
		ack.MTU = uint32(m.caps.MTUBytes)
		ack.Eager = uint32(m.eagerBytes)
		ack.Flags = m.connFlags(r.link)
	}
	p := m.takePacket()
	p.room = ack.Append(p.room)
	m.sendHandshake(r, p, matchbits.TypeConnAck)
}

func (m *method) connFlags(l *link) (flags wire.ConnFlags) {
	if !m.rdmaUsable(l) {
		return 0
	}
	if m.caps.RDMARead {
		flags |= wire.ConnRDMARead
	}
	if m.caps.RDMAWrite {
		flags |= wire.ConnRDMAWrite
	}
	return flags
}

// sendHandshake sends a packet before READY. It spends one of the credits that
// every side has at least.
func (m *method) sendHandshake(r *remote, p *packet, kind matchbits.Type) {
	m.sendControl(r, p, kind, 0, 0)
}

// sendBare sends a packet without a body if that is possible now. Later it would
// be useless.
func (m *method) sendBare(r *remote, kind matchbits.Type, aux uint32) {
	if r.link == nil || !r.credits.MayCredit() ||
		kind == matchbits.TypeKeepAlive && !r.credits.MayControl() {
		return
	}
	p := m.takePacket()
	p.kind, p.tag, p.aux = kind, 0, aux
	p.segs = append(p.segs[:0], nic.Segment{Data: p.room, Handle: p.handle})
	if err := m.transmitControl(r, p); err != nil {
		m.givePacket(p)
		m.log.Debug("via: packet not sent", "peer", r.name, "type", kind, "error", err)
	}
}

// connReqArrived reads CONN_REQ.
func (m *method) connReqArrived(r *remote, body []byte) error {
	req, err := wire.ParseConnReq(body)
	if err != nil {
		return fmt.Errorf("CONN_REQ: %w", err)
	}
	m.learn(r.link, req.MTU, req.Flags)
	m.step(r, peer.Event{Kind: peer.EventConnReq, Link: r.link.id, Hello: peer.Hello{
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
	m.learn(r.link, ack.MTU, ack.Flags)
	m.step(r, peer.Event{Kind: peer.EventConnAck, Link: r.link.id, Hello: peer.Hello{
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

func (m *method) learn(l *link, mtu uint32, flags wire.ConnFlags) {
	l.theirMTU, l.theirFlags = int(mtu), flags
}

// byeArrived reads CANCEL, by which the peer ends the connection.
func (m *method) byeArrived(r *remote, h wire.Header, body []byte) error {
	bye, err := wire.ParseBye(h.Aux, body)
	if err != nil {
		return fmt.Errorf("CANCEL: %w", err)
	}
	m.step(r, peer.Event{Kind: peer.EventBye, Link: r.link.id, Reason: peer.Reason(min(bye.Reason, 255)), Remote: true})
	return nil
}

// keepAliveArrived reads KEEP_ALIVE.
func (m *method) keepAliveArrived(r *remote, h wire.Header, body []byte) error {
	k, err := wire.ParseKeepAlive(h.Aux, body)
	if err == nil && k.WantReply {
		m.step(r, peer.Event{Kind: peer.EventKeepAlive, Link: r.link.id})
	}
	return err
}
