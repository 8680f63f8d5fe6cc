package via

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

var errOverdrawn = errors.New("sent a packet without a credit for it")

// packetArrived handles one packet. withhold reports whether its credit is withheld for now, and ok whether the link still exists. The
// peer may still write to data, so the header is read here, once.
func (m *method) packetArrived(l *link, data []byte) (withhold, ok bool) {
	r := l.r
	r.heard = true
	if r.credits.Overdrawn(l.waiting) {
		m.protocolError(r, errOverdrawn)
		return false, false
	}
	h, body, err := wire.ParseHeader(data)
	if err != nil {
		m.protocolError(r, err)
		return false, false
	}
	withhold = r.overLimit() && isMessage(h)
	m.received(r, h, body)
	return withhold, r.link == l // the packet may have ended it, or a handler
}

// packetTaken owes the peer the credit of a packet whose receive is posted again.
func (m *method) packetTaken(l *link, withhold bool) {
	r := l.r
	if withhold {
		r.credits.Withhold()
	} else {
		r.credits.Owe()
	}
	m.goOn(r)
}

// goOn sends as much as is possible by now of what waits for a peer.
func (m *method) goOn(r *remote) {
	if r.control.Head() != nil || r.sends.Len() > 0 {
		m.pump(r)
	}
	if r.open && r.credits.MustReturn() {
		m.returnCredits(r)
	}
}

// isMessage reports whether the credit of a packet may be withheld. The credits of
// control packets never are, because these packets end transfers under way.
func isMessage(h wire.Header) bool {
	switch h.Bits.Type() {
	case matchbits.TypeExpected, matchbits.TypeUnexpected, matchbits.TypeRTS:
		return true
	}
	return false
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
	if !r.credits.Give(n) {
		m.protocolError(r, fmt.Errorf("returned %d credits more than it was given", r.credits.Available()-r.credits.Granted()))
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
