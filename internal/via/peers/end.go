package peers

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/peer"
)

// Drop forgets a peer (bmi.Dropper).
func (ps *Peers) Drop(record bmi.Peer) {
	p := of(record)
	if p.dropped {
		return
	}
	p.dropped, p.refusing = true, true
	ps.unlist(p)
	ps.Step(p, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonDropped})
	ps.fail(p, peer.ReasonDropped, false) // operations that the machine does not know
	ps.MaybeForget(p)
}

// Check reports whether a peer is believed to be alive (bmi.Checker).
func (ps *Peers) Check(record bmi.Peer) error {
	p := of(record)
	switch {
	case p.dropped:
		return p.Errorf(bmi.ErrDropped, "check")
	case p.self:
		return nil
	case p.machine.State() == peer.Disconnect:
		return p.Errorf(bmi.ErrPeerFailed, "the connection is being taken down")
	case p.machine.SendPolicy() == peer.PolicyRefuse:
		return p.errorNoAddress()
	case p.machine.State() == peer.Init:
		return p.failed
	}
	return nil
}

// Refusal is why no operation can begin with a peer; nil: it can.
func (ps *Peers) Refusal(p *Peer, what string) error {
	switch {
	case p.dropped:
		return p.Errorf(bmi.ErrDropped, "%s", what)
	case ps.closing:
		return p.Errorf(bmi.ErrClosed, "%s", what)
	case p.gone:
		return p.errorNoAddress()
	}
	return nil
}

// SendRefusal is Refusal for a send, which needs a peer that can be reached.
func (ps *Peers) SendRefusal(p *Peer) error {
	err := ps.Refusal(p, "send")
	if err == nil && !p.self && p.machine.SendPolicy() == peer.PolicyRefuse {
		err = p.errorNoAddress()
	}
	return err
}

// BeginClose refuses new operations and connections from now on.
func (ps *Peers) BeginClose() { ps.closing = true }

// EndAll ends all connections.
func (ps *Peers) EndAll() {
	for p := range ps.All() {
		p.refusing = true
		ps.Step(p, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonClosing})
		ps.fail(p, peer.ReasonClosing, false)
	}
}

// All walks the records of all peers, including dropped ones that still drain.
func (ps *Peers) All() func(func(*Peer) bool) {
	return func(yield func(*Peer) bool) {
		for id := peer.ID(1); id <= ps.newest; id++ {
			if p, ok := ps.ids.Lookup(id); ok && !yield(p) {
				return
			}
		}
	}
}
