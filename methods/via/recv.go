package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/inbox"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// PostRecv takes over a receive.
func (m *method) PostRecv(op *bmi.Op) {
	r := op.Peer.(*remote)
	if r.refusing || r.fsm.RecvPolicy() != peer.PolicyNow {
		m.recvLater(r, op)
		return
	}
	m.postRecv(r, op)
}

// postRecv gives a receive to the inbox.
func (m *method) postRecv(r *remote, op *bmi.Op) {
	early := r.inbox.Early()
	switch owner := m.inbox.Post(&r.inbox, op).(type) {
	case *wire.RTS:
		m.startLarge(r, op, owner)
	case *opState:
		m.deliverLocal(r, op, owner)
	}
	if r.inbox.Early() < early {
		m.roomFor(r)
	}
}

// roomFor is called when fewer messages of a peer wait than before. The peer gets the credits
// that were withheld from it, or is forgotten.
func (m *method) roomFor(r *remote) {
	if r.withheld > 0 && !r.overLimit() {
		m.returnWithheld(r)
	}
	if r.link == nil {
		m.maybeForget(r)
	}
}

// heldTaken is called after the endpoint took a held message of a peer.
func (m *method) heldTaken(p *inbox.Peer) {
	if r, ok := m.remotes.Lookup(p.ID()); ok { // no handler dropped it
		m.roomFor(r)
	}
}

// recvLater keeps a receive while the connection is being taken down, or
// refuses it.
func (m *method) recvLater(r *remote, op *bmi.Op) {
	switch {
	case r.dropped:
		op.Complete(0, r.errorf(bmi.ErrDropped, "receive"))
	case m.closing:
		op.Complete(0, r.errorf(bmi.ErrClosed, "receive"))
	case r.gone:
		op.Complete(0, r.errorf(bmi.ErrUnreachable, "the peer has no address of its own and its connection ended"))
	default:
		m.begin(r, op, phasePostponed)
	}
}

// postPostponed posts the receives that were postponed in DISCONNECT.
func (m *method) postPostponed(r *remote) {
	var next *opState
	for s := r.ops.First(); s != nil; s = next {
		next = r.ops.Next(s)
		if s.phase == phasePostponed {
			op := s.op
			m.giveState(s)
			m.postRecv(r, op)
		}
	}
}

// received handles one packet. The peer may still be able to write to body, so
// what is checked is read once, and what is kept is copied.
func (m *method) received(r *remote, h wire.Header, body []byte) {
	if h.Seq != r.recvSeq+1 || h.Bits.PeerID() != r.myID && !anonymous(h.Bits) || h.Bits.Reserved() != 0 {
		m.badHeader(r, h)
		return
	}
	r.recvSeq++
	if n := h.Bits.Credits(); n > 0 && !m.credited(r, int(n)) {
		return
	}
	var err error
	switch h.Bits.Type() {
	case matchbits.TypeExpected:
		err = m.eagerArrived(r, h, body, false)
	case matchbits.TypeUnexpected:
		err = m.eagerArrived(r, h, body, true)
	default:
		err = m.controlArrived(r, h, body)
	}
	if err != nil {
		m.protocolError(r, err)
	}
}

// anonymous reports whether a packet may come from a peer that does not know its
// id yet: a packet of the handshake, or a CANCEL during it.
func anonymous(b matchbits.Bits) bool {
	return b.PeerID() == 0 && (b.Type().Connects() || b.Type() == matchbits.TypeCancel)
}

// badHeader says which rule of the header was broken.
func (m *method) badHeader(r *remote, h wire.Header) {
	m.protocolError(r, fmt.Errorf("header %v: want sequence number %d and peer id %d", h, r.recvSeq+1, r.myID))
}

// credited adds credits that the peer returned, and notes that queued sends may continue.
func (m *method) credited(r *remote, n int) bool {
	if !r.credits.give(n) {
		m.protocolError(r, fmt.Errorf("returned %d credits more than it was given", r.credits.available-r.credits.granted))
		return false
	}
	if r.control.Head() != nil || r.sends.Len() > 0 || len(r.movers) > 0 {
		m.stall(r)
	}
	return true
}

// controlArrived handles all packets but eager messages.
func (m *method) controlArrived(r *remote, h wire.Header, body []byte) error {
	switch h.Bits.Type() {
	case matchbits.TypeConnReq:
		return m.connReqArrived(r, body)
	case matchbits.TypeConnAck:
		return m.connAckArrived(r, body)
	case matchbits.TypeCancel:
		return m.byeArrived(r, h, body)
	}
	if !r.open && !r.fsm.Ready() {
		return fmt.Errorf("%v before the connection is ready", h.Bits.Type())
	}
	switch h.Bits.Type() {
	case matchbits.TypeRTS:
		return m.rtsArrived(r, h, body)
	case matchbits.TypeCTS:
		return m.ctsArrived(r, body)
	case matchbits.TypeData:
		return m.dataArrived(r, body)
	case matchbits.TypeFin:
		return m.finArrived(r, body)
	case matchbits.TypeCredit:
		c, err := wire.ParseCredit(h.Aux, body)
		if err == nil && c.Credits > 0 {
			m.credited(r, c.Credits)
		}
		return err
	case matchbits.TypeKeepAlive:
		return m.keepAliveArrived(r, h, body)
	}
	return fmt.Errorf("packet type %v: %w", h.Bits.Type(), wire.ErrInvalid)
}
