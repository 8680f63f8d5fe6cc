package ops

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// Arrived handles one packet (link.Consumer). If body is shared the peer can still write to it, so
// values are read once and then checked, and bytes are copied before they are kept. While too many
// messages wait, the credits of messages that are not taken at once are withheld. Credits of other
// packets never are, because those packets end transfers.
func (o *Ops) Arrived(l *link.Link, h wire.Header, body []byte, shared bool) (withhold bool, err error) {
	r, kind := l.Owner().(*Peer), h.Bits.Type()
	if !l.Open() && !r.Ready() && !kind.Connects() && kind != matchbits.TypeCancel {
		return false, fmt.Errorf("%v before the connection is ready", kind)
	}
	switch kind {
	case matchbits.TypeExpected, matchbits.TypeUnexpected:
		first, taken := wire.ParseEagerFirst(h.Aux), false
		switch {
		case wire.IsNext(h.Aux) || r.arriving != nil || len(body) != first.Length || first.Length > o.eagerBytes:
			err = o.partArrived(r, h, body, kind == matchbits.TypeUnexpected)
		case kind == matchbits.TypeExpected:
			taken = o.inbox.Deliver(&r.inbox, h.Bits.Tag(), body)
		case shared:
			taken = o.inbox.OfferShared(&r.inbox, bmi.Class(first.Class), bmi.Tag(h.Bits.Tag()), body)
		default:
			taken = o.inbox.Offer(&r.inbox, bmi.Class(first.Class), bmi.Tag(h.Bits.Tag()), body)
		}
		return !taken && r.overLimit(), err
	case matchbits.TypeRTS:
		err = o.rtsArrived(r, h, body)
		return r.overLimit(), err
	case matchbits.TypeCTS:
		return false, o.ctsArrived(r, body)
	case matchbits.TypeData:
		return false, o.dataArrived(r, body)
	case matchbits.TypeFin:
		return false, o.finArrived(r, body)
	}
	return false, o.Peers.Arrived(&r.Peer, h, body)
}

// Resume goes on with a peer that may take more (link.Consumer).
func (o *Ops) Resume(l *link.Link) {
	r := l.Owner().(*Peer)
	o.pump(r)
	switch {
	case len(r.movers) == 0:
	case l.MayData():
		o.resume(r)
	default:
		l.Await()
	}
}

// Finished handles a packet that used an operation's memory (link.Consumer).
func (o *Ops) Finished(op any, bytes int, err error) {
	s := op.(*opState)
	s.inflight--
	switch {
	case s.phase == phaseEnding:
		o.settle(s)
	case err != nil:
		packetFailed(s, err)
	case s.phase == phaseLarge:
		o.carryOut(s, s.large.transfer.Moved(bytes))
	case s.phase == phaseSending && s.inflight == 0:
		o.finish(s, s.op.Size, nil)
	}
}
