package ops

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/inbox"
	"github.com/viaduct-hpc/viaduct/internal/via/peers"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
)

// PostRecv takes over a receive. While the connection is being taken down it is kept.
func (o *Ops) PostRecv(op *bmi.Op) {
	switch r := op.Peer.(*Peer); {
	case !r.MayRecv():
		o.recvLater(r, op)
	case r.inbox.Early() == 0:
		o.inbox.Wait(&r.inbox, op)
	default:
		o.recv(r, op)
	}
}

// recvLater keeps a receive, or refuses it.
func (o *Ops) recvLater(r *Peer, op *bmi.Op) {
	if err := o.Refusal(&r.Peer, "receive"); err != nil {
		op.Complete(0, err)
	} else {
		o.begin(r, op, phasePostponed)
	}
}

// Recovered posts the receives that were postponed in DISCONNECT (peers.User).
func (o *Ops) Recovered(p *peers.Peer) {
	r := of(p)
	var next *opState
	for s := r.all.First(); s != nil; s = next {
		next = s.all.Next()
		if s.phase == phasePostponed {
			op := s.op
			o.give(s)
			o.recv(r, op)
		}
	}
}

// recv gives a receive to the inbox.
func (o *Ops) recv(r *Peer, op *bmi.Op) {
	early := r.inbox.Early()
	switch owner := o.inbox.Post(&r.inbox, op).(type) {
	case *wire.RTS:
		o.startLarge(r, op, owner)
	case *opState:
		o.deliverLocal(r, op, owner)
	}
	if r.inbox.Early() < early {
		o.roomFor(r)
	}
}

// overLimit reports whether so many messages of the peer wait that its credits are
// withheld.
func (r *Peer) overLimit() bool {
	if r.inbox.Early() == 0 {
		return r.inbox.Holds()
	}
	bytes, messages := EarlyBytesMaxPerPeer, EarlyMessagesMaxPerPeer
	if r.OtherUser() {
		bytes, messages = EarlyBytesMaxOtherUser, EarlyMessagesMaxOtherUser
	}
	return r.inbox.EarlyBytes() > bytes || r.inbox.Early() > messages || r.inbox.Holds()
}

// roomFor is called when fewer messages of a peer wait than before. The peer gets the credits
// that were withheld from it, or is forgotten.
func (o *Ops) roomFor(r *Peer) {
	if r.Link.Withholds() && !r.overLimit() {
		r.Link.Release()
	}
	if !r.Link.InUse() {
		o.MaybeForget(&r.Peer)
	}
}

// heldTaken is called after the endpoint took a held message of a peer.
func (o *Ops) heldTaken(p *inbox.Peer) {
	if known := o.ByID(p.ID()); known != nil { // no handler dropped it
		o.roomFor(of(known))
	}
}
