package methodtest_test

import (
	"context"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// The flawed method is a very small method in memory that can be given one flaw
// at a time; without any it passes the suite. This file is its network, the
// method is in flawed_method_test.go, the flaws are listed in flaws_test.go.

const flawedScheme = "flawed"

// flawedNet joins the endpoints of one subject. Its lock guards everything that
// two endpoints share; a method takes it within its engine lock.
type flawedNet struct {
	flaw   flaw
	oneWay bool // a connecting endpoint is known by an alias, not by its address

	mu    sync.Mutex
	nodes map[string]*flawedNode
	sent  int // messages so far, for flaws that hit some of them
	anon  int
	over  chan struct{} // closed when the test of the network is over

	exposed   map[bmi.RemoteKey]*flawedExposure
	exposures int // so far
}

// flawedNode is one endpoint in the network.
type flawedNode struct {
	name  string
	host  bmi.Host
	inbox []*flawedPacket
	ended []flawedEnd // sends of this node that are over
	gone  bool
}

// flawedPacket is a message on its way, or the notice that a peer left (op and data
// nil, leave set).
type flawedPacket struct {
	from  string
	kind  bmi.Kind
	class bmi.Class
	tag   bmi.Tag
	size  int
	data  []byte
	op    *bmi.Op // a large send, which lends its memory until the receiver takes it
	owner *flawedNode
	leave bool

	// A large send is either claimed by its receiver or recalled by its sender, by the first of
	// these calls.
	claimed, recalled bool
}

// flawedEnd is the end of a send, reported by its receiver.
type flawedEnd struct {
	op  *bmi.Op
	err error
}

// hitsLocked reports, for flaws that hit only some messages, whether this one is hit.
func (n *flawedNet) hitsLocked(f flaw) bool { return n.flaw == f && n.sent%3 == 0 }

func newFlawedNet(f flaw) *flawedNet {
	return &flawedNet{
		flaw: f, nodes: make(map[string]*flawedNode), over: make(chan struct{}), exposed: make(map[bmi.RemoteKey]*flawedExposure),
	}
}

// deliverLocked queues a packet for a node and wakes it.
func (n *flawedNet) deliverLocked(to *flawedNode, p *flawedPacket) {
	to.inbox = append(to.inbox, p)
	to.host.Wake()
}

// endLocked reports the result of a large message to its sender.
func (n *flawedNet) endLocked(p *flawedPacket, err error) {
	if p.op == nil {
		return
	}
	p.owner.ended = append(p.owner.ended, flawedEnd{p.op, err})
	p.op = nil
	p.owner.host.Wake()
}

// leave removes a node and notifies the peers in tell; nil means all.
func (n *flawedNet) leave(nd *flawedNode, tell map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if nd.gone {
		return
	}
	nd.gone = true
	if n.flaw != staleName {
		delete(n.nodes, nd.name)
	}
	nd.inbox = nil
	if n.flaw == leavesSilently {
		return
	}
	for name, peer := range n.nodes {
		if peer == nd {
			continue
		}
		for _, known := range []string{name, name + aliasMark} {
			if tell == nil || tell[known] {
				n.deliverLocked(peer, &flawedPacket{from: n.seenFrom(nd.name, known), leave: true})
			}
		}
	}
}

// aliasMark ends the alias of an endpoint that connected.
const aliasMark = "~"

// seenFrom is how a peer addressed as to knows the endpoint called me: in a
// one-way network by an alias, unless it was the peer that connected.
func (n *flawedNet) seenFrom(me, to string) string {
	if !n.oneWay || strings.HasSuffix(to, aliasMark) {
		return me
	}
	return me + aliasMark
}

// nodeLocked finds an endpoint by its name or its alias.
func (n *flawedNet) nodeLocked(name string) *flawedNode {
	return n.nodes[strings.TrimSuffix(name, aliasMark)]
}

// crash is leave for an endpoint that does not call it itself.
func (n *flawedNet) crash(address string) {
	n.mu.Lock()
	nd := n.nodes[strings.TrimPrefix(address, flawedScheme+"://")]
	n.mu.Unlock()
	n.leave(nd, nil)
}

// claim makes a message the receiver's, unless its sender took it back.
func (n *flawedNet) claim(p *flawedPacket) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.claimed = !p.recalled
	return p.claimed
}

// flawedDriver opens methods in the network that their options name.
type flawedDriver struct{}

func init() { bmi.Register(flawedDriver{}) }

func (flawedDriver) Name() string { return flawedScheme }

func (flawedDriver) Open(_ context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	n := cfg.Options.(*flawedNet)
	n.mu.Lock()
	defer n.mu.Unlock()
	m := &flawedMethod{net: n, node: &flawedNode{host: cfg.Host}, peers: make(map[string]*flawedPeer)}
	if len(cfg.Listen) == 0 {
		n.anon++
		m.node.name = "anonymous-" + string(rune('a'+n.anon))
	} else {
		name, err := flawedName(cfg.Listen[0])
		if err != nil {
			return nil, err
		}
		if n.nodes[name] != nil && n.flaw != namesCollide {
			return nil, bmi.ErrNameTaken
		}
		m.node.name, m.listen = name, cfg.Listen
	}
	n.nodes[m.node.name] = m.node
	switch n.flaw {
	case leaksGoroutines:
		go func() { <-n.over }()
	case oversleeps:
		return drowsy{m}, nil
	}
	return m, nil
}

func flawedName(address string) (string, error) {
	name, ok := strings.CutPrefix(address, flawedScheme+"://")
	if !ok || name == "" {
		return "", bmi.ErrBadAddress
	}
	return name, nil
}
