package peertest

import "github.com/viaduct-hpc/viaduct/peer"

// Peer is a node's record of a remote endpoint: the machine and the lists that
// its owner keeps.
type Peer struct {
	name string
	node *Node
	m    peer.Machine

	ends        map[peer.Link]*end
	requests    map[peer.Request]*link
	lastRequest peer.Request

	queuedSends, queuedRecvs []*Op
	posted                   []*Op // receives
	inFlight                 []*Op // sends that hold a reference

	failing peer.Reason // the reason for operations in flight

	actions []peer.Action
	busy    bool
}

func (p *Peer) String() string { return p.node.Name + ">" + p.name }

// Machine is the machine under test.
func (p *Peer) Machine() *peer.Machine { return &p.m }

// current reports whether the record belongs to the present life of its node.
func (p *Peer) current() bool {
	return p.node.Alive && p.node.find(p.name) == p
}

func (p *Peer) all() (ops []*Op) {
	for _, list := range [][]*Op{p.queuedSends, p.queuedRecvs, p.posted, p.inFlight} {
		ops = append(ops, list...)
	}
	return ops
}

func (n *Node) find(name string) *Peer {
	for _, p := range n.peers {
		if p.name == name {
			return p
		}
	}
	return nil
}

// Peer finds or makes the record of a remote endpoint.
func (n *Node) Peer(name string) *Peer {
	p := n.find(name)
	if p == nil {
		p = &Peer{name: name, node: n, ends: map[peer.Link]*end{}, requests: map[peer.Request]*link{}}
		p.m.Reset(n.cfg, n.cfg.Local.Session, n.world.Node(name).Hidden)
		n.peers = append(n.peers, p)
	}
	return p
}

// step gives the machine an event and carries out its actions.
func (w *World) step(p *Peer, ev peer.Event) {
	before, ignored, known := p.m.State(), p.m.Ignored(), len(p.actions)
	p.actions = p.m.Step(w.Now, ev, p.actions)
	if w.Spoil != nil {
		p.actions = append(p.actions[:known], w.Spoil(ev, append([]peer.Action(nil), p.actions[known:]...))...)
	}
	if w.Log != nil && (ev.Kind != peer.EventTick || len(p.actions) > known) {
		change := p.m.String()
		if before != p.m.State() {
			change = before.String() + " -> " + change
		}
		if ignored != p.m.Ignored() {
			change += ", ignored"
		}
		w.logf("%v %v: %s", p, ev, change)
	}
	if p.busy {
		return
	}
	p.busy = true
	for i := 0; i < len(p.actions); i++ {
		w.do(p, p.actions[i])
	}
	p.actions, p.busy = p.actions[:0], false
	w.checkPeer(p)
}

// do carries out one action.
func (w *World) do(p *Peer, a peer.Action) {
	w.logf("  %v", a)
	switch a.Kind {
	case peer.ActionLinkConnect:
		w.connect(p, a)
	case peer.ActionLinkAccept:
		w.accept(p, a)
	case peer.ActionLinkReject:
		if l := w.request(p, a); l != nil {
			w.refused(l, a.Reason)
		}
	case peer.ActionLinkClose:
		if e := w.end(p, a); e != nil {
			w.leave(e, peer.ReasonLinkLost)
		}
	case peer.ActionSendConnReq:
		w.packet(p, a, peer.Event{Kind: peer.EventConnReq, Hello: a.Hello}, false)
	case peer.ActionSendConnAck:
		w.packet(p, a, peer.Event{Kind: peer.EventConnAck, Hello: a.Hello}, false)
	case peer.ActionSendBye:
		w.packet(p, a, peer.Event{Kind: peer.EventBye, Reason: a.Reason}, false)
	case peer.ActionSendKeepAlive:
		w.packet(p, a, peer.Event{Kind: peer.EventKeepAlive}, false)
	case peer.ActionAnswerKeepAlive:
		w.packet(p, a, peer.Event{Kind: peer.EventKeepAlive}, true)
	case peer.ActionFlush:
		w.flush(p)
	case peer.ActionFail:
		w.failAll(p, a.Reason, a.Remote)
	case peer.ActionPostRecvs:
		p.posted, p.queuedRecvs = append(p.posted, p.queuedRecvs...), nil
	default:
		w.violated("%v: unknown action %v", p, a)
	}
}

// end finds the half of a link that an action names. The machine may name only a
// link that it has.
func (w *World) end(p *Peer, a peer.Action) *end {
	e := p.ends[a.Link]
	if e == nil || !e.open {
		w.violated("%v: %v, but there is no such link", p, a)
		return nil
	}
	return e
}

func (w *World) request(p *Peer, a peer.Action) *link {
	l := p.requests[a.Request]
	if l == nil {
		w.violated("%v: %v, but no such request waits", p, a)
	}
	delete(p.requests, a.Request)
	return l
}

func (w *World) open(p *Peer, number peer.Link, l *link) *end {
	for _, e := range p.ends {
		if e.open {
			w.violated("%v opens link %d while it has link %d", p, number, e.number)
		}
	}
	e := &end{peer: p, link: l, number: number, open: true}
	e.id, e.generation, _ = p.node.ids.Take(e)
	p.ends[number] = e
	return e
}

func (w *World) connect(p *Peer, a peer.Action) {
	to := w.Node(p.name)
	l := &link{number: len(w.links) + 1}
	w.links = append(w.links, l)
	l.ends[0] = w.open(p, a.Link, l)
	w.send(Item{kind: itemRequest, from: p.node, to: to, end: l.ends[0],
		packet: peer.Event{Kind: peer.EventLinkRequest, Hello: a.Hello}})
}

func (w *World) accept(p *Peer, a peer.Action) {
	l := w.request(p, a)
	e := w.open(p, a.Link, l)
	if l == nil || !l.ends[0].open || l.ends[1] != nil {
		// The request was withdrawn, or this is a copy of an old one.
		e.link = &link{ends: [2]*end{e}}
		w.notify(itemFailed, p.node, e, peer.ReasonLinkLost, false)
		return
	}
	l.ends[1] = e
	w.notify(itemUp, p.node, l.ends[0], peer.ReasonNone, false)
	w.notify(itemUp, p.node, e, peer.ReasonNone, false)
}

// refused ends a link request with a refusal, unless it was a copy of one that
// was accepted.
func (w *World) refused(l *link, why peer.Reason) {
	if l.ends[1] == nil && l.ends[0].open {
		w.notify(itemFailed, w.Node(l.ends[0].peer.name), l.ends[0], why, true)
	}
}

// leave closes an end on behalf of its node; the other end is told.
func (w *World) leave(e *end, why peer.Reason) {
	if !e.open {
		return
	}
	w.gone(e)
	if o := e.other(); o != nil && o.open {
		w.notify(itemDown, e.peer.node, o, why, false)
	}
}

// gone frees an end. The NIC returns what is in flight over it.
func (w *World) gone(e *end) {
	e.open = false
	if !e.peer.node.ids.Give(e.id, e.generation) {
		w.violated("%v: id %d given back twice", e.peer, e.id)
	}
	for _, op := range e.peer.inFlight {
		if op.over == e && !op.flushing && !op.lost {
			op.flushing = true
			w.send(Item{kind: itemFlush, from: e.peer.node, to: e.peer.node, op: op})
		}
	}
}

// packet sends a connection packet over the link that the action names.
func (w *World) packet(p *Peer, a peer.Action, ev peer.Event, answer bool) {
	e := w.end(p, a)
	if e == nil {
		return
	}
	if !e.up {
		w.violated("%v: %v over a link that is not up", p, a)
	}
	ev.Hello.PeerID = e.id
	w.send(Item{kind: itemPacket, from: p.node, to: w.Node(p.name), end: e, packet: ev, answer: answer})
}
