package udp

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/message"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// connState is the state of a connection.
//
//	dialing ──RESPONSE──────────► open ──Disconnect──► leaving ──acked, or too late──► dead
//	accepted ──the first PACKET──► │                                                     ▲
//	    └──────────────────────────┴── farewell, silence, broken rules ──────────────────┘
type connState uint8

const (
	connDialing  connState = iota // this side asked; initiator is set
	connAccepted                  // this side answered; response is set
	connOpen
	connLeaving // the port is gone; its packets are still under way
	connDead
)

// A conn is one side of a connection.
type conn struct {
	dev     *Device
	port    *Port // nil once the port has left
	queue   *message.Queue
	session secure.Session
	lanes   [wire.Lanes]reliable.Lane[message.Segment]
	remote  [wire.Lanes]netip.AddrPort
	home    [wire.Lanes]netip.AddrPort // the initial addresses of the other side
	away    [wire.Lanes]netip.AddrPort // the latest other addresses of the other side
	present [wire.Lanes]bool           // received from remote since the last unanswered time-out
	local   netip.Addr                 // the address of this machine to which the other side sends, if known
	state   connState
	id      uint32 // ours
	theirID uint32
	path    path
	name    string
	client  string // name of the other side's static key in the list of clients; "" if it has none
	acked   func(*message.Segment)
	timer   timers.Timer[conn]
	link    *conn // in Device.ready
	inReady bool

	left bool // leaving: nothing is left to send

	heardAt time.Duration // the latest authentic packet
	unheard int           // probes sent since then
	doubtAt time.Duration // the first of them
	askedAt time.Duration // the latest
	busyAt  time.Duration // the latest data, if busy
	busy    bool          // data arrived since memory was given back
	until   time.Duration // deadline of an attempt, an answer or a farewell

	initiator *secure.Initiator // of the asking side
	since     time.Duration     // when it first asked
	answered  bool              // an answer of any kind has arrived
	probed    probing           // whether the address is absent
	addrs     []netip.AddrPort  // candidate addresses, the next one first; none: the name is being looked up
	response  []byte            // accepted: repeated until the other side sends
	againAt   time.Duration
	again     time.Duration
	newest    [wire.Lanes]uint64 // number of the newest authentic packet
	reset     wire.Token         // proves that the other side lost the connection
}

// Link chains connections in the FIFO of ready ones.
func (c *conn) Link() **conn { return &c.link }

// A theirKey is the other side's id of a connection, and the address of one of its lanes.
type theirKey struct {
	at netip.AddrPort
	id uint32
}

// open makes the lanes once the keys exist.
func (c *conn) open(p secure.Peer) {
	d := c.dev
	c.session, c.theirID, c.reset = p.Session, p.ID, p.Token
	c.client = p.Name
	c.heardAt = d.now
	c.acked = func(s *message.Segment) { c.queue.Acked(s) }
	c.home, c.path.mtu = c.remote, d.pathMTU(c)
	for lane := range c.lanes {
		c.notePlace(uint8(lane))
		o := reliable.Options{
			AckDelay: d.opts.AckDelay, GiveUp: d.opts.GiveUp,
			TimeoutMin: d.opts.TimeoutMin, TimeoutMax: d.opts.TimeoutMax,
			SegmentBytes: c.path.mtu,
		}
		if lane == wire.LaneData {
			o.Congestion = d.opts.Congestion()
		}
		c.lanes[lane].Init(o)
	}
}

// mark records that a connection has something to send.
func (c *conn) mark() {
	if !c.inReady && c.state != connDead {
		c.inReady = true
		c.dev.ready.Push(c)
	}
}

// leave ends the connection from this side. Sent messages still arrive.
func (c *conn) leave() {
	p := c.port
	if c.state != connOpen {
		c.die()
		p.end(nil)
		return
	}
	c.queue.Leave()
	c.linger()
	p.end(nil)
}

// linger continues without a port, until the other side has received the farewell.
func (c *conn) linger() {
	c.port = nil
	c.state = connLeaving
	c.until = c.dev.clock() + LeaveTimeout
	c.mark()
	c.set()
}

// fail ends the connection at once because of err; nothing more can be sent.
func (c *conn) fail(err error) {
	p := c.port
	dialing := c.state == connDialing
	c.die()
	switch {
	case p == nil:
	case dialing:
		p.conn = nil
		p.report(nic.EventConnectFailed, &nic.ConnEvent{Remote: c.name, Err: err})
	default:
		p.end(err)
	}
}

// die forgets the connection.
func (c *conn) die() {
	if c.state == connDead {
		return
	}
	c.state, c.port = connDead, nil
	c.endProbes()
	c.dev.past.add(c)
	c.dev.wheel.Stop(c)
	delete(c.dev.conns, c.id)
	if c.dev.latest == c {
		c.dev.latest = nil
	}
	for lane := range c.lanes {
		c.forgetPlace(uint8(lane))
	}
}

// notePlace lets a RESET find its connection by the address of a lane. If a request was
// accepted twice, the connection on which the other side sends is the one to find: damage
// in transit can turn one request into two.
func (c *conn) notePlace(lane uint8) {
	theirs, key := c.dev.theirs, theirKey{c.remote[lane], c.theirID}
	if c.speaks() || theirs[key] == nil {
		theirs[key] = c
	}
}

// forgetPlace removes the entry of this connection from dev.theirs. Another connection may have taken the entry since, because
// peers choose their ids and their source addresses.
func (c *conn) forgetPlace(lane uint8) {
	if key := (theirKey{c.remote[lane], c.theirID}); c.dev.theirs[key] == c {
		delete(c.dev.theirs, key)
	}
}

// update ends the connection if its queue failed, and returns finished descriptors.
func (c *conn) update() {
	if c.state == connDead {
		return
	}
	if p := c.port; p != nil {
		p.collect()
		if err := c.queue.Err(); err != nil {
			c.linger()
			p.end(fmt.Errorf("udp: %s: %w", c.name, err))
		}
	}
	if c.state == connLeaving && !c.left && c.queue.Left() {
		// The other side may not know yet that its farewell has arrived.
		c.left, c.until = true, c.dev.now+lastWords
		c.set()
	}
}
