package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// Arrived handles one packet (link.Consumer). If body is shared the peer can still write to
// it, so what is checked is read once, and what is kept is copied. The credits of
// messages are withheld while too many of them wait, those of other packets never,
// because they end transfers under way.
func (c *consumer) Arrived(l *link.Link, h wire.Header, body []byte, shared bool) (withhold bool, err error) {
	m, r, kind := (*method)(c), l.Owner().(*remote), h.Bits.Type()
	if !l.Open() && !r.fsm.Ready() && !kind.Connects() && kind != matchbits.TypeCancel {
		return false, fmt.Errorf("%v before the connection is ready", kind)
	}
	switch kind {
	case matchbits.TypeExpected, matchbits.TypeUnexpected:
		withhold = r.overLimit()
		first := wire.ParseEagerFirst(h.Aux)
		switch {
		case wire.IsNext(h.Aux) || r.assembly != nil || len(body) != first.Length || first.Length > m.eagerBytes:
			err = m.partArrived(r, h, body, kind == matchbits.TypeUnexpected)
		case kind == matchbits.TypeExpected:
			m.inbox.Deliver(&r.inbox, h.Bits.Tag(), body)
		case shared:
			m.inbox.OfferShared(&r.inbox, bmi.Class(first.Class), bmi.Tag(h.Bits.Tag()), body)
		default:
			m.inbox.Offer(&r.inbox, bmi.Class(first.Class), bmi.Tag(h.Bits.Tag()), body)
		}
		return withhold, err
	case matchbits.TypeRTS:
		return r.overLimit(), m.rtsArrived(r, h, body)
	case matchbits.TypeCTS:
		return false, m.ctsArrived(r, body)
	case matchbits.TypeData:
		return false, m.dataArrived(r, body)
	case matchbits.TypeFin:
		return false, m.finArrived(r, body)
	case matchbits.TypeCredit:
		credit, err := wire.ParseCredit(h.Aux, body)
		if err != nil {
			return false, err
		}
		return false, l.Credited(credit.Credits)
	case matchbits.TypeKeepAlive:
		return false, m.keepAliveArrived(r, h, body)
	case matchbits.TypeConnReq:
		return false, m.connReqArrived(r, body)
	case matchbits.TypeConnAck:
		return false, m.connAckArrived(r, body)
	case matchbits.TypeCancel:
		return false, m.byeArrived(r, h, body)
	}
	return false, fmt.Errorf("packet type %v: %w", kind, wire.ErrInvalid)
}
