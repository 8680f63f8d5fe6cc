package ops

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/peer"
)

// Cancel ends an operation early. One that has not reached the wire ends at once.
// One that may have been transmitted in part ends the connection: nothing less
// ensures that the peer no longer uses the memory.
func (o *Ops) Cancel(op *bmi.Op) {
	r := op.Peer.(*Peer)
	err := r.Errorf(bmi.ErrCancelled, "cancelled by the caller")
	s, ok := op.Private.(*opState)
	switch {
	case !ok:
		o.inbox.Cancel(&r.inbox, op, err)
	case s.phase == phaseEnding:
		// It is ending already.
	case s.phase == phaseSending || s.phase == phaseLarge || s.offset > 0:
		s.err = err
		o.Step(&r.Peer, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonCancelled})
	case s.phase == phaseSendQueued:
		r.sends.Remove(&s.queued)
		o.fail(s, err)
		o.Step(&r.Peer, peer.Event{Kind: peer.EventUnqueued})
	default:
		o.fail(s, err)
	}
}
