package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
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
	if early == 0 {
		m.inbox.Wait(&r.inbox, op)
		return
	}
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
	if r.link.Withholds() && !r.overLimit() {
		r.link.Release()
	}
	if !r.link.InUse() {
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
		next = s.all.Next()
		if s.phase == phasePostponed {
			op := s.op
			m.giveState(s)
			m.postRecv(r, op)
		}
	}
}
