package peertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/peer"
)

// World holds nodes, the network between them, and the time.
type World struct {
	// Now is the virtual time.
	Now time.Duration
	// Config is copied into each new node; Local is filled in.
	Config peer.Config
	// Log, if set, receives a line for everything that happens.
	Log func(line string)
	// Spoil, if set, may change a machine's actions. It makes the broken variants
	// that prove that the checkers work.
	Spoil func(peer.Event, []peer.Action) []peer.Action
	// Violations are the rules that were broken so far.
	Violations []string

	nodes    []*Node
	links    []*link
	items    []*Item
	ops      []*Op
	lastItem int
}

// NewWorld returns an empty world.
func NewWorld(cfg peer.Config) *World { return &World{Config: cfg} }

func (w *World) logf(format string, args ...any) {
	if w.Log != nil {
		w.Log(fmt.Sprintf(format, args...))
	}
}

func (w *World) violated(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.Violations = append(w.Violations, fmt.Sprintf("%v: %s", w.Now, text))
	w.logf("VIOLATION: %s", text)
}

// Node is one endpoint: a process with a name, which may die and restart.
type Node struct {
	Name  string
	Alive bool
	// Hidden: the node has no address, so that others cannot connect to it.
	Hidden bool

	world *World
	cfg   *peer.Config
	peers []*Peer
	ids   *peer.IDs[*end]
}

// AddNode makes a living node.
func (w *World) AddNode(name string, session uint64) *Node {
	n := &Node{Name: name, world: w}
	w.nodes = append(w.nodes, n)
	n.start(session, w.Config.Local.Version)
	return n
}

// Node finds a node by its name, nil if there is none.
func (w *World) Node(name string) *Node {
	for _, n := range w.nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

func (n *Node) start(session uint64, version uint16) {
	cfg := n.world.Config
	cfg.Local.Session, cfg.Local.Version, cfg.Local.Name = session, version, n.Name
	n.cfg, n.Alive = &cfg, true
	n.peers, n.ids = nil, peer.NewIDs[*end](peer.IDMax, 64)
}

// Kill ends a node's process. Its peers learn of it through the network; its own
// operations are gone with it.
func (w *World) Kill(n *Node) {
	n.Alive = false
	for _, p := range n.peers {
		for _, op := range p.all() {
			op.lost = true
		}
		for _, r := range slices.Sorted(maps.Keys(p.requests)) {
			w.refused(p.requests[r], peer.ReasonPeerDied)
		}
		for _, l := range slices.Sorted(maps.Keys(p.ends)) {
			w.leave(p.ends[l], peer.ReasonPeerDied)
		}
	}
	n.peers = nil
}

// Restart gives a node a new life, with another session.
func (w *World) Restart(n *Node, session uint64) {
	if n.Alive {
		w.Kill(n)
	}
	n.start(session, n.cfg.Local.Version)
}

// SetVersion makes a node speak another version, from its next handshake on.
func (n *Node) SetVersion(v uint16) { n.cfg.Local.Version = v }

// Advance moves the time to at, and ticks every machine at its deadlines.
func (w *World) Advance(at time.Duration) {
	for {
		p, due := w.nextDue()
		if p == nil || due > at {
			w.Now = at
			return
		}
		w.Now = max(w.Now, due)
		w.step(p, peer.Event{Kind: peer.EventTick})
		if next, ok := p.m.NextDeadline(); ok && next <= w.Now {
			w.violated("%s wants to be ticked at %v, which is past", p, next)
			return
		}
	}
}

// Run lets the network work without interference until at: items arrive in order.
// It reports false if the network never comes to rest.
func (w *World) Run(at time.Duration) bool {
	for range 1_000_000 {
		p, due := w.nextDue()
		it := w.nextReady()
		switch {
		case it != nil && it.ReadyAt <= at && (p == nil || it.ReadyAt <= due):
			w.Now = max(w.Now, it.ReadyAt)
			w.Deliver(it)
		case p != nil && due <= at:
			w.Advance(max(due, w.Now))
		default:
			w.Now = max(w.Now, at)
			return true
		}
	}
	return false
}

// nextReady finds what arrives next.
func (w *World) nextReady() (next *Item) {
	for _, it := range w.items {
		if next == nil || it.ReadyAt < next.ReadyAt {
			next = it
		}
	}
	return next
}

// nextDue finds the machine with the earliest deadline.
func (w *World) nextDue() (next *Peer, at time.Duration) {
	for _, n := range w.nodes {
		for _, p := range n.peers {
			if due, ok := p.m.NextDeadline(); ok && (next == nil || due < at) {
				next, at = p, due
			}
		}
	}
	return next, at
}
