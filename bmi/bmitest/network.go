package bmitest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A Network is a set of endpoints that reach each other by name. One lock guards
// everything that the endpoints share. It is taken inside an engine lock, and no
// code outside this package runs under it.
type Network struct {
	mu    sync.Mutex
	nodes map[string]*node
	anon  int
	free  *packet // for reuse
}

// NewNetwork makes an empty network.
func NewNetwork() *Network { return &Network{nodes: make(map[string]*node)} }

// A node is one endpoint in the network.
type node struct {
	net   *Network
	name  string // how others know it; "" until it talks, if it only connects
	conns map[*node]*conn
	fresh []*conn // made by other nodes and not yet seen by Poll
	ends  []ending
	gone  bool

	// events is set when there is something for Poll to do.
	events atomic.Bool
	armed  atomic.Bool
	wake   chan struct{} // holds at most one wake-up
}

// An ending is a send that its receiver took.
type ending struct {
	op   *bmi.Op
	size int
	err  error
}

// A conn joins two nodes until one of them ends it. After that, links[i] still
// holds the messages that were under way.
type conn struct {
	nodes  [2]*node
	links  [2]*link // links[i] leads to nodes[i]; both the same if the node talks to itself
	closed bool
}

// A link is what is under way in one direction: expected messages in order,
// and unexpected ones in order.
type link struct {
	expected, unexpected queue
}

// A packet is one message under way: a copy, or a send that still lends its
// memory.
type packet struct {
	next *packet
	kind bmi.Kind
	cls  bmi.Class
	tag  bmi.Tag
	from *node
	data []byte // the copy, if op is nil or sends from a file
	op   *bmi.Op
	size int
	// cancelled: the sender took op back.
	cancelled bool
}

// queue is a list of packets.
type queue struct {
	first, last *packet
	n           int
}

func (q *queue) push(p *packet) {
	p.next = nil
	if q.last == nil {
		q.first = p
	} else {
		q.last.next = p
	}
	q.last = p
	q.n++
}

func (q *queue) pushFront(p *packet) {
	p.next = q.first
	q.first = p
	if q.last == nil {
		q.last = p
	}
	q.n++
}

func (q *queue) pop() *packet {
	p := q.first
	q.first = p.next
	if q.first == nil {
		q.last = nil
	}
	p.next = nil
	q.n--
	return p
}

func nameOf(address string) (string, error) {
	name, ok := strings.CutPrefix(address, Name+"://")
	if !ok || name == "" || strings.ContainsAny(name, " /*?[") {
		return "", fmt.Errorf("%w %q: it must look like %s://name", bmi.ErrBadAddress, address, Name)
	}
	return name, nil
}

func (n *Network) newNode() *node {
	return &node{net: n, conns: make(map[*node]*conn), wake: make(chan struct{}, 1)}
}

func (n *Network) listen(nd *node, name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes[name] != nil {
		return fmt.Errorf("%w: %s", bmi.ErrNameTaken, name)
	}
	n.nodes[name] = nd
	nd.name = name
	return nil
}

// nameLocked is the name by which other nodes know a node. A node that does not
// listen gets a name when it first sends.
func (nd *node) nameLocked() string {
	for nd.name == "" {
		nd.net.anon++
		if name := fmt.Sprintf("client-%d", nd.net.anon); nd.net.nodes[name] == nil {
			nd.net.nodes[name] = nd
			nd.name = name
		}
	}
	return nd.name
}

// connectLocked finds or makes the connection between two nodes.
func (nd *node) connectLocked(to *node) *conn {
	if c := nd.conns[to]; c != nil {
		return c
	}
	c := &conn{nodes: [2]*node{nd, to}, links: [2]*link{new(link), new(link)}}
	if nd == to {
		c.links[1] = c.links[0]
	}
	nd.nameLocked()
	nd.conns[to], to.conns[nd] = c, c
	to.fresh = append(to.fresh, c)
	return c
}

// closeLocked ends a connection. Each side settles its operations in Poll.
func (c *conn) closeLocked() {
	if c.closed {
		return
	}
	c.closed = true
	delete(c.nodes[0].conns, c.nodes[1])
	delete(c.nodes[1].conns, c.nodes[0])
	c.nodes[0].notify()
	c.nodes[1].notify()
}

// notify makes the node poll.
func (nd *node) notify() {
	nd.events.Store(true)
	if nd.armed.Load() {
		nd.rouse()
	}
}

func (nd *node) rouse() {
	select {
	case nd.wake <- struct{}{}:
	default:
	}
}

// remove takes a node out of the network: its names are free and its
// connections end.
func (n *Network) remove(nd *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	nd.gone = true
	if n.nodes[nd.name] == nd {
		delete(n.nodes, nd.name)
	}
	for _, c := range nd.conns {
		c.closeLocked()
	}
}

// Crash makes the endpoint that listens under a name unreachable, as if its
// process had died. The name becomes free, its connections end, and nothing that
// it posts arrives any more. Crash reports whether there was such an endpoint.
func (n *Network) Crash(name string) bool {
	n.mu.Lock()
	nd := n.nodes[name]
	n.mu.Unlock()
	if nd == nil {
		return false
	}
	n.remove(nd)
	return true
}

// Cut ends the connection between two endpoints, if there is one. The next
// post makes another.
func (n *Network) Cut(a, b string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	from, to := n.nodes[a], n.nodes[b]
	if from == nil || to == nil || from.conns[to] == nil {
		return false
	}
	from.conns[to].closeLocked()
	return true
}

func (n *Network) allocLocked() *packet {
	p := n.free
	if p == nil {
		return new(packet)
	}
	n.free, p.next = p.next, nil
	return p
}

func (n *Network) freeLocked(p *packet) {
	p.op, p.data, p.cancelled = nil, p.data[:0], false
	p.next, n.free = n.free, p
}

// fill copies a message into the packet, unless the message comes from a file.
func (p *packet) fill(op *bmi.Op) {
	if op.File.File != nil {
		return
	}
	p.data = p.data[:0]
	for _, b := range op.Bufs {
		p.data = append(p.data, b...)
	}
}
