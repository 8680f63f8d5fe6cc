package udp

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/message"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// connState is where a connection stands.
//
//	dialing ──RESPONSE──────────► open ──Disconnect──► leaving ──acked, or too late──► dead
//	accepted ──the first PACKET──► │                                                     ▲
//	    └──────────────────────────┴── farewell, silence, broken rules ──────────────────┘
type connState uint8

const (
	connDialing  connState = iota // we asked; initiator is set
	connAccepted                  // we answered; response is set
	connOpen
	connLeaving // the port is gone; what it sent is still under way
	connDead
)

// A conn is one side of a connection.
type conn struct {
	dev     *Device
	port    *Port // nil once it has left
	queue   *message.Queue
	session secure.Session
	lanes   [wire.Lanes]reliable.Lane[message.Segment]
	remote  [wire.Lanes]netip.AddrPort
	home    [wire.Lanes]netip.AddrPort // where they were at first
	away    [wire.Lanes]netip.AddrPort // where they were last, beside that
	present [wire.Lanes]bool           // heard at remote since the last time-out without an answer
	local   netip.Addr                 // of this machine, where the other side's packets come to; if it is known
	state   connState
	id      uint32 // ours
	theirID uint32
	path    path
	name    string
	client  string // name of the other side's static key in the list of clients; "" if it has none
	acked   func(*message.Segment)
	timer   reliable.Timer[conn]
	link    *conn // in Device.ready
	inReady bool

	left bool // leaving: nothing is left to say

	heardAt time.Duration // the latest authentic packet
	unheard int           // questions since then whether it is there
	doubtAt time.Duration // the first of them
	askedAt time.Duration // the latest
	busyAt  time.Duration // the latest data, if busy
	busy    bool          // data came since memory was given back
	until   time.Duration // when an attempt, an answer or a farewell is given up

	initiator *secure.Initiator // of the side that asked
	since     time.Duration     // when it asked first
	answered  bool              // somebody is there
	probed    probing           // whether nobody is
	addrs     []netip.AddrPort  // where it may be, next one first; none: its name is being looked up
	response  []byte            // accepted: sent again until the other side speaks
	againAt   time.Duration
	again     time.Duration
	newest    [wire.Lanes]uint64 // number of the newest authentic packet
	reset     wire.Token         // proves that the other side lost the connection
}

// Link chains connections in the FIFO of ready ones.
func (c *conn) Link() **conn { return &c.link }

// A theirKey is what the other side calls a connection by, and where one of its lanes is.
type theirKey struct {
	at netip.AddrPort
	id uint32
}

// open makes the lanes once keys are there.
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

// mark notes that a connection has something to send.
func (c *conn) mark() {
	if !c.inReady && c.state != connDead {
		c.inReady = true
		c.dev.ready.Push(c)
	}
}

// leave ends the connection from this side: what was sent still arrives.
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

// linger goes on without a port, until the other side has heard the farewell.
func (c *conn) linger() {
	c.port = nil
	c.state = connLeaving
	c.until = c.dev.clock() + LeaveTimeout
	c.mark()
	c.set()
}

// fail ends the connection, about which nothing can be said any more, because of err.
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
	c.dev.wheel.Stop(&c.timer)
	delete(c.dev.conns, c.id)
	for lane := range c.lanes {
		c.forgetPlace(uint8(lane))
	}
}

// notePlace lets a RESET find the connection that comes from where a lane goes to. One
// that was accepted twice is found where the other side speaks: damage on the way makes
// two requests of one.
func (c *conn) notePlace(lane uint8) {
	theirs, key := c.dev.theirs, theirKey{c.remote[lane], c.theirID}
	if c.speaks() || theirs[key] == nil {
		theirs[key] = c
	}
}

// forgetPlace takes that back. Another connection may have been noted there since:
// other sides choose their ids, and where they are heard from.
func (c *conn) forgetPlace(lane uint8) {
	if key := (theirKey{c.remote[lane], c.theirID}); c.dev.theirs[key] == c {
		delete(c.dev.theirs, key)
	}
}

// judge ends the connection if its queue says so, and hands back what is done.
func (c *conn) judge() {
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
		// The other side may not have heard yet that we heard its farewell.
		c.left, c.until = true, c.dev.now+lastWords
		c.set()
	}
}
