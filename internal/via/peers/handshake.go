package peers

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/peer"
)

// Arrived handles a packet that has to do with the connection alone.
func (ps *Peers) Arrived(p *Peer, h wire.Header, body []byte) error {
	switch kind := h.Bits.Type(); kind {
	case matchbits.TypeConnReq:
		return ps.connReqArrived(p, body)
	case matchbits.TypeConnAck:
		return ps.connAckArrived(p, body)
	case matchbits.TypeCancel:
		return ps.byeArrived(p, h, body)
	case matchbits.TypeKeepAlive:
		return ps.keepAliveArrived(p, h, body)
	case matchbits.TypeCredit:
		credit, err := wire.ParseCredit(h.Aux, body)
		if err != nil {
			return err
		}
		return p.Link.Credited(credit.Credits)
	default:
		return fmt.Errorf("packet type %v: %w", kind, wire.ErrInvalid)
	}
}

// version16 limits a version from outside to the 16 bits that the machine compares.
func version16(v uint32) uint16 { return uint16(min(v, 1<<16-1)) }

// connReqArrived reads CONN_REQ.
func (ps *Peers) connReqArrived(p *Peer, body []byte) error {
	req, err := wire.ParseConnReq(body)
	if err != nil {
		return fmt.Errorf("CONN_REQ: %w", err)
	}
	ps.told(p, peer.EventConnReq, &req.Terms, peer.Hello{
		Version: version16(req.Version),
		Session: req.Session,
		Attempt: req.Attempt,
		Name:    req.Name,
	})
	return nil
}

// connAckArrived reads CONN_ACK.
func (ps *Peers) connAckArrived(p *Peer, body []byte) error {
	ack, err := wire.ParseConnAck(body)
	if err != nil {
		return fmt.Errorf("CONN_ACK: %w", err)
	}
	ps.told(p, peer.EventConnAck, &ack.Terms, peer.Hello{
		Version: version16(ack.Version),
		Session: ack.Session,
		Attempt: ack.Attempt,
		Latest:  ack.Latest,
		Reason:  peer.Reason(min(ack.Reason, 255)),
	})
	return nil
}

// told handles what the peer tells about itself.
func (ps *Peers) told(p *Peer, kind peer.EventKind, t *wire.Terms, h peer.Hello) {
	p.Link.Learn(t)
	h.PeerID, h.Credits, h.EagerBytes = peer.ID(t.PeerID), uint16(t.Credits), t.Eager
	ps.Step(p, peer.Event{Kind: kind, Link: p.Link.ID(), Hello: h})
}

// byeArrived reads CANCEL, by which the peer ends the connection.
func (ps *Peers) byeArrived(p *Peer, h wire.Header, body []byte) error {
	bye, err := wire.ParseBye(h.Aux, body)
	if err != nil {
		return fmt.Errorf("CANCEL: %w", err)
	}
	ps.Step(p, peer.Event{Kind: peer.EventBye, Link: p.Link.ID(), Reason: peer.Reason(min(bye.Reason, 255)), Remote: true})
	return nil
}

// keepAliveArrived reads KEEP_ALIVE.
func (ps *Peers) keepAliveArrived(p *Peer, h wire.Header, body []byte) error {
	k, err := wire.ParseKeepAlive(h.Aux, body)
	if err == nil && k.WantReply {
		ps.Step(p, peer.Event{Kind: peer.EventKeepAlive, Link: p.Link.ID()})
	}
	return err
}

// Tick gives an event to each machine whose deadline has passed. It reports whether
// there was one.
func (ps *Peers) Tick() (did bool) {
	now, due := ps.timers.Due(ps.Clock)
	if !due {
		return false
	}
	ps.timers.Advance(now, func(p *Peer) {
		if p.Link.Heard() {
			p.machine.Heard(now)
		}
		if at, ok := p.machine.NextDeadline(); ok && at <= now {
			ps.Step(p, peer.Event{Kind: peer.EventTick})
			did = true
		} else {
			ps.watch(p)
		}
	})
	return did
}

// NextDeadline is when Tick, or a Poll of the links, has something to do (bmi.Deadliner).
func (ps *Peers) NextDeadline() (at time.Duration, ok bool) {
	at, ok = ps.timers.Next()
	if d, has := ps.links.NextDeadline(); has && (!ok || d < at) {
		return d, true
	}
	return at, ok
}
