package peertest

import "github.com/viaduct-hpc/viaduct/peer"

// checkPeer compares the machine's counts with its owner's lists. It holds
// whenever no action is left to carry out.
func (w *World) checkPeer(p *Peer) {
	if got, want := p.m.Queued(), len(p.queuedSends); got != want {
		w.violated("%v counts %d queued sends, there are %d", p, got, want)
	}
	if got, want := p.m.Refs(), len(p.inFlight); got != want {
		w.violated("%v counts %d references, there are %d", p, got, want)
	}
	if p.m.State() != peer.Disconnect && len(p.queuedRecvs) > 0 {
		w.violated("%v keeps %d receives queued in %v", p, len(p.queuedRecvs), p.m.State())
	}
	if l := p.m.Link(); l != 0 && (p.ends[l] == nil || !p.ends[l].open) {
		w.violated("%v uses link %d, which is gone", p, l)
	}
}

// CheckSettled checks the final state, after the faults have stopped and enough
// time has passed: both sides READY over one link, or both INIT; no operation
// left except posted receives; nothing in flight.
func (w *World) CheckSettled() {
	for _, n := range w.nodes {
		for _, p := range n.peers {
			w.checkPeer(p)
			w.checkPair(p)
			if len(p.requests) > 0 {
				w.violated("%v left %d link requests unanswered", p, len(p.requests))
			}
		}
	}
	for _, op := range w.ops {
		waits := op.Recv && op.Done == 0
		if !op.lost && op.Done != 1 && !waits {
			w.violated("%v of %v completed %d times", op, op.peer, op.Done)
		}
	}
}

func (w *World) checkPair(p *Peer) {
	var state peer.State // INIT if the other side does not know us
	var back *Peer
	if n := w.Node(p.name); n.Alive {
		if back = n.find(p.node.Name); back != nil {
			state = back.m.State()
		}
	}
	switch {
	case p.m.Refs() != 0 || p.m.Queued() != 0:
		w.violated("%v left behind: %v", p, &p.m)
	case p.m.State() != state:
		w.violated("%v is %v, the other side is %v", p, &p.m, state)
	case state == peer.Ready && p.ends[p.m.Link()].other() != back.ends[back.m.Link()]:
		w.violated("%v and the other side are READY over different links", p)
	case state == peer.Ready && p.m.RemoteID() != back.ends[back.m.Link()].id:
		w.violated("%v sends to id %d, the other side listens to %d", p, p.m.RemoteID(), back.ends[back.m.Link()].id)
	case state != peer.Ready && state != peer.Init:
		w.violated("%v has not settled: %v", p, &p.m)
	}
}
