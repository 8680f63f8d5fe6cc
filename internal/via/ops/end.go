package ops

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/peers"
	"github.com/viaduct-hpc/viaduct/peer"
)

// Ended ends every operation with a peer (peers.User).
func (o *Ops) Ended(p *peers.Peer, reason peer.Reason, err error) {
	r := of(p)
	o.abandonParts(r, err)
	o.inbox.Fail(&r.inbox, err)
	for r.sends.Pop() != nil {
	}
	o.resume(r) // they find that they failed
	var next *opState
	for s := r.all.First(); s != nil; s = next {
		next = s.all.Next()
		o.fail(s, err)
	}
	o.inbox.DropAnnounced(&r.inbox)
	if reason == peer.ReasonPeerRestarted || reason == peer.ReasonDropped || r.OtherUser() {
		o.inbox.DropEarly(&r.inbox)
	}
	if r.Dropped() || r.OtherUser() {
		// A peer of another user cannot be answered once it is gone, and its messages must not
		// accumulate.
		o.inbox.DropHeld(&r.inbox)
	}
}

// fail ends one operation, at once or when its memory is free.
func (o *Ops) fail(s *opState, err error) {
	if s.err != nil {
		err = s.err // it was cancelled, or its file failed, which is also why the other operations fail
	}
	switch s.phase {
	case phaseSending, phaseLarge:
		s.phase, s.err = phaseEnding, err
		if s.large != nil {
			s.large.transfer.Fail()
		}
		o.settle(s)
	case phaseEnding:
		// It is ending already.
	case phaseLocal:
		o.inbox.Withdraw(s.local)
		o.finish(s, 0, err)
	default:
		if s.inflight > 0 {
			s.phase, s.err = phaseEnding, err
			return
		}
		o.finish(s, 0, err)
	}
}

// Sending reports whether sends are under way over an open connection.
func (o *Ops) Sending() bool {
	if o.links.UnderWay() > 0 {
		return true
	}
	for p := range o.All() {
		for s := of(p).all.First(); s != nil; s = s.all.Next() {
			if s.op.Kind != bmi.KindRecv && p.Link.Open() {
				return true
			}
		}
	}
	return false
}

// Settling reports whether connections are on their way out, or memory is not withdrawn yet.
func (o *Ops) Settling() bool { return o.links.Live() > 0 || o.settling.Len()+o.withdrawing.Len() > 0 }

// Abandon ends all operations that are left after the NIC was closed.
func (o *Ops) Abandon() {
	for p := range o.All() {
		r := of(p)
		for s := r.all.First(); s != nil; s = r.all.First() {
			s.inflight = 0
			if s.err == nil {
				s.err = r.Errorf(bmi.ErrClosed, "the endpoint was closed")
			}
			o.finish(s, 0, s.err)
		}
	}
}
