package peertest

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/peer"
)

// Op is an operation that a user of a node has posted.
type Op struct {
	Number int
	Recv   bool
	// Done counts completions: 1 is right.
	Done int
	// Err is the reason of the failure, ReasonNone if it did not fail.
	Err peer.Reason

	peer     *Peer
	over     *end // link, while in flight
	flushing bool
	lost     bool // its process ended
}

func (op *Op) String() string {
	if op.Recv {
		return fmt.Sprintf("recv %d", op.Number)
	}
	return fmt.Sprintf("send %d", op.Number)
}

// Ops are all operations ever posted.
func (w *World) Ops() []*Op { return w.ops }

func (w *World) newOp(p *Peer, recv bool) *Op {
	op := &Op{Number: len(w.ops) + 1, Recv: recv, peer: p}
	w.ops = append(w.ops, op)
	return op
}

// PostSend posts a send from a node to another one.
func (w *World) PostSend(n *Node, to string) *Op {
	p := n.Peer(to)
	op := w.newOp(p, false)
	policy := p.m.SendPolicy()
	w.logf("%v: %v posted: %v", p, op, policy)
	switch policy {
	case peer.PolicyNow:
		w.start(op)
	case peer.PolicyQueue:
		p.queuedSends = append(p.queuedSends, op)
		w.step(p, peer.Event{Kind: peer.EventQueued})
	case peer.PolicyRefuse:
		w.complete(op, peer.ReasonNoAddress, false)
	}
	return op
}

// PostRecv posts a receive of a message from another node.
func (w *World) PostRecv(n *Node, from string) *Op {
	p := n.Peer(from)
	op := w.newOp(p, true)
	policy := p.m.RecvPolicy()
	w.logf("%v: %v posted: %v", p, op, policy)
	if policy == peer.PolicyQueue {
		p.queuedRecvs = append(p.queuedRecvs, op)
	} else {
		p.posted = append(p.posted, op)
	}
	return op
}

// Cancel asks for an operation to end: at once if nothing has been transmitted,
// else through DISCONNECT.
func (w *World) Cancel(op *Op) {
	p := op.peer
	switch {
	case op.Done > 0 || op.lost:
		return
	case remove(&p.queuedSends, op):
		w.complete(op, peer.ReasonCancelled, false)
		w.step(p, peer.Event{Kind: peer.EventUnqueued})
	case remove(&p.queuedRecvs, op), remove(&p.posted, op):
		w.complete(op, peer.ReasonCancelled, false)
	case !op.flushing:
		w.step(p, peer.Event{Kind: peer.EventDisconnect, Reason: peer.ReasonCancelled})
	}
}

// Disconnect ends a connection on behalf of the node.
func (w *World) Disconnect(p *Peer, why peer.Reason) {
	w.step(p, peer.Event{Kind: peer.EventDisconnect, Reason: why})
}

func (w *World) start(op *Op) {
	p := op.peer
	p.m.Acquire()
	p.inFlight = append(p.inFlight, op)
	op.over = p.ends[p.m.Link()]
	if op.over == nil || !op.over.up {
		w.violated("%v: %v starts without a link", p, op)
		return
	}
	w.send(Item{kind: itemMessage, from: p.node, to: w.Node(p.name), end: op.over, op: op, id: p.m.RemoteID()})
}

// sent ends a send whose message has left, unless the NIC hands it back anyway.
func (w *World) sent(op *Op) {
	if op.flushing || op.lost {
		return
	}
	remove(&op.peer.inFlight, op)
	w.complete(op, peer.ReasonNone, false)
	w.release(op.peer)
}

// handedBack ends a send that was in flight when its link ended.
func (w *World) handedBack(op *Op) {
	if op.lost {
		return
	}
	remove(&op.peer.inFlight, op)
	w.complete(op, op.peer.failing, false)
	w.release(op.peer)
}

func (w *World) release(p *Peer) {
	if p.m.Release() {
		w.step(p, peer.Event{Kind: peer.EventDrained})
	}
}

func (w *World) flush(p *Peer) {
	ops := p.queuedSends
	p.queuedSends = nil
	for _, op := range ops {
		w.start(op)
	}
}

func (w *World) failAll(p *Peer, why peer.Reason, remote bool) {
	p.failing = why
	ops := append(append(p.queuedSends, p.queuedRecvs...), p.posted...)
	p.queuedSends, p.queuedRecvs, p.posted = nil, nil, nil
	for _, op := range ops {
		w.complete(op, why, remote)
	}
}

func (w *World) complete(op *Op, why peer.Reason, remote bool) {
	op.Done++
	op.Err = why
	switch {
	case why == peer.ReasonNone:
		w.logf("    %v done", op)
	case remote:
		w.logf("    %v failed: %v, says the peer", op, why)
	default:
		w.logf("    %v failed: %v", op, why)
	}
	if op.Done > 1 {
		w.violated("%v completed %d times", op, op.Done)
	}
}

func remove(list *[]*Op, op *Op) bool {
	for i, o := range *list {
		if o == op {
			*list = append((*list)[:i:i], (*list)[i+1:]...)
			return true
		}
	}
	return false
}
