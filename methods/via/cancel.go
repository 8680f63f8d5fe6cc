package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/peer"
)

// Cancel ends an operation early. One that has not reached the wire ends at once.
// One that may have been transmitted in part ends the connection: nothing less
// ensures that the peer no longer uses the memory.
func (m *method) Cancel(op *bmi.Op) {
	r := op.Peer.(*remote)
	err := r.errorf(bmi.ErrCancelled, "cancelled by the caller")
	if s, ok := op.Private.(*opState); ok {
		m.cancel(s, err)
	} else {
		m.inbox.Cancel(&r.inbox, op, err)
	}
}

func (m *method) cancel(s *opState, err error) {
	r := s.r
	switch s.phase {
	case phaseSendQueued:
		if s.offset > 0 {
			m.disconnect(s, err)
			return
		}
		r.sends.Remove(&s.queued)
		m.finish(s, 0, err)
		m.step(r, peer.Event{Kind: peer.EventUnqueued})
	case phasePostponed:
		m.finish(s, 0, err)
	case phaseLocal:
		m.inbox.Withdraw(s.local)
		m.finish(s, 0, err)
	case phaseSending, phaseLarge:
		m.disconnect(s, err)
	case phaseEnding:
		// It is ending already.
	}
}

// disconnect cancels an operation together with the connection.
func (m *method) disconnect(s *opState, err error) {
	s.err = err
	m.step(s.r, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonCancelled})
}

// Drop forgets a peer (bmi.Dropper).
func (m *method) Drop(p bmi.Peer) {
	r := p.(*remote)
	if r.dropped {
		return
	}
	r.dropped, r.refusing = true, true
	if m.byHost[r.host()] == r {
		delete(m.byHost, r.host())
	}
	m.step(r, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonDropped})
	m.fail(r, peer.ReasonDropped, false) // what the machine does not know of
	m.inbox.DropHeld(&r.inbox)
	m.maybeForget(r)
}

// Check reports whether a peer is believed to be alive (bmi.Checker).
func (m *method) Check(p bmi.Peer) error {
	r := p.(*remote)
	switch {
	case r.dropped:
		return r.errorf(bmi.ErrDropped, "check")
	case r.self:
		return nil
	case r.fsm.State() == peer.Disconnect:
		return r.errorf(bmi.ErrPeerFailed, "the connection is being taken down")
	case r.fsm.SendPolicy() == peer.PolicyRefuse:
		return r.errorf(bmi.ErrUnreachable, "the peer has no address of its own and its connection ended")
	case r.fsm.State() == peer.Init:
		return r.failed
	}
	return nil
}
