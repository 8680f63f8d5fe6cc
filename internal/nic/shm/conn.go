package shm

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// connState is the state of a connection.
//
//	client:  dialing ─► asking ────────────────► open ─┬─► draining ─► dead
//	server:  greeting ─► requested ─► answered ─► open ─┘
//	                                     └──────────┴─► lingering ─► dead
//
// From every state before open a failure leads straight to dead. If the other side is another user's, so does the end by
// this side.
type connState uint8

const (
	connDialing   connState = iota // the listener's backlog is full, trying again
	connAsking                     // hello sent
	connGreeting                   // accepted a socket, no hello yet
	connRequested                  // the consumer has been asked
	connAnswered                   // accept sent, no confirm yet
	connOpen                       // messages flow
	connDraining                   // the other side has ended; deliver its earlier messages
	connLingering                  // this side has ended; the other may still be inside an RDMA call
	connDead
)

// connEdges are the legal transitions: a bit per successor.
var connEdges = [...]uint16{
	connDialing:   1<<connAsking | 1<<connDead,
	connAsking:    1<<connOpen | 1<<connDead,
	connGreeting:  1<<connRequested | 1<<connDead,
	connRequested: 1<<connAnswered | 1<<connDead,
	connAnswered:  1<<connOpen | 1<<connLingering | 1<<connDead,
	connOpen:      1<<connDraining | 1<<connLingering | 1<<connDead,
	connDraining:  1 << connDead,
	connLingering: 1 << connDead,
	connDead:      0,
}

// conn is one connection: a socket, a segment and two doorbells. It may
// outlive its port, in connLingering or while its buffers are on loan.
type conn struct {
	dev   *Device
	port  *Port
	state connState
	side  side
	cold  bool // waits for its doorbell instead of being polled

	// Sending. 0 ≤ limit − sent ≤ ringSlots.
	sent, limit  uint64
	sentInRow    uint32         // messages sent since one arrived
	arrivedInRow uint32         // messages that arrived since one was sent
	txSlots      unsafe.Pointer // our ring
	claimed      unsafe.Pointer // the slot of the last Claim
	claimedAs    uint64         // and the header of its message
	txBuffers    []byte
	theirLimit   *uint64        // how much the other side lets us send
	theirBell    *uint64        // whether the other side wants its doorbell rung
	rung         uint64         // the value of theirBell for which we last rang
	theirIDs     unsafe.Pointer // the buffer of each slot
	backed       uint64         // buffers known to have pages

	// Receiving. received ≤ posted ≤ received + ringSlots.
	received, posted uint64
	header           *uint64 // of the slot of message number received
	stamp            uint16  // and its stamp
	rxSlots          unsafe.Pointer
	rxBuffers        []byte
	ourLimit         *uint64
	ourBell          *uint64
	bellCount        uint64
	free             uint64           // buffers neither posted nor on loan
	bufferOf         [ringSlots]uint8 // the buffer of each slot, as published
	loans            uint64           // buffers on loan
	loanedTo         [ringSlots]*nic.Descriptor

	// RDMA.
	theirHazard, ourHazard *uint64
	theirTable             []byte
	arena                  theirArena
	theirRights            rights
	reach, reached         bool // we can access the peer's memory, and it can access ours
	provenAt               time.Duration

	// Setting up and ending.
	mem             []byte
	sock            int
	peer            peerCred // the process at the other end
	share           *share   // of its user, if this side accepted the connection
	bellIn, bellOut int
	index           int32
	hotIndex        int
	seen            uint64 // traffic at the last check, to find idle ports
	idleLooks       int
	trimSeen        uint64
	remote          string
	request         nic.RequestID
	hello           hello // client: what to send once connected
	helloFDs        []int
	timer           timer
	deadline        time.Duration
	dialPause       time.Duration // dialing: the latest
	gone            bool          // requested: the client has closed meanwhile
	drainTo         uint64        // draining: the number of messages to deliver
	endErr          error         // why it ended
}

// newConn makes a connection in its first state and assigns it an entry.
func (d *Device) newConn(side side, state connState) (*conn, error) {
	if len(d.conns)-len(d.freeConns) >= ConnsMax {
		return nil, fmt.Errorf("shm: all %d connections are in use, close some: %w", ConnsMax, nic.ErrAgain)
	}
	c := &conn{dev: d, side: side, state: state, sock: -1, bellIn: -1, bellOut: -1, hotIndex: -1, cold: true}
	if n := len(d.freeConns); n > 0 {
		c.index = d.freeConns[n-1]
		d.freeConns = d.freeConns[:n-1]
	} else {
		c.index = int32(len(d.conns))
		d.conns = append(d.conns, connEntry{})
	}
	d.conns[c.index].conn = c
	return c, nil
}

// become is the only writer of a connection's state.
func (c *conn) become(s connState) {
	if connEdges[c.state]&(1<<s) == 0 {
		panic(fmt.Sprintf("shm: connection goes from state %d to %d", c.state, s))
	}
	if c.state == connGreeting {
		c.dev.greetings--
		c.share.greetings--
	}
	if c.state == connRequested {
		c.share.requests--
	}
	if s == connRequested {
		c.share.requests++
	}
	if c.state == connOpen {
		c.dev.dropHot(c)
	}
	c.state = s
}

// attach computes the addresses in the mapped segment and publishes our half of it.
func (c *conn) attach(mem []byte) {
	us, them := c.side, c.side.other()
	c.mem = mem
	c.txSlots = unsafe.Pointer(&mem[us.slots()])
	c.txBuffers = mem[us.buffers():][:buffersBytes:buffersBytes]
	c.theirLimit = wordAt(mem, them.block()+limitOff)
	c.theirBell = wordAt(mem, them.block()+attentionOff)
	c.theirIDs = unsafe.Pointer(&mem[them.block()+buffersOff])
	c.theirHazard = wordAt(mem, them.block()+hazardOff)

	c.rxSlots = unsafe.Pointer(&mem[them.slots()])
	c.rxBuffers = mem[them.buffers():][:buffersBytes:buffersBytes]
	c.ourLimit = wordAt(mem, us.block()+limitOff)
	c.ourBell = wordAt(mem, us.block()+attentionOff)
	c.ourHazard = wordAt(mem, us.block()+hazardOff)
	c.header = (*uint64)(c.rxSlots)
	c.stamp = stamp(0)
	c.free = ^uint64(0)
	for i := range c.bufferOf {
		c.bufferOf[i] = uint8(i)
	}
	for i := 0; i < ringSlots; i += 8 {
		c.publishBuffers(uint64(i))
	}
}

// publishBuffers writes the eight buffer numbers around a slot.
func (c *conn) publishBuffers(slot uint64) {
	i := slot &^ 7
	word := uint64(0)
	for k := range uint64(8) {
		word |= uint64(c.bufferOf[i+k]) << (8 * k)
	}
	atomic.StoreUint64(wordAt(c.mem, c.side.block()+buffersOff+uintptr(i)), word)
}

// grant lets the other side send one more message. The caller must have made sure that a buffer is free.
func (c *conn) grant() {
	slot := c.posted % ringSlots
	b := c.bufferOf[slot]
	if c.free&(1<<b) == 0 {
		// Its buffer is on loan: the slot gets another one.
		b = uint8(bits.TrailingZeros64(c.free))
		c.bufferOf[slot] = b
		c.publishBuffers(slot)
	}
	c.free &^= 1 << b
	c.posted++
	storeRelease(c.ourLimit, c.posted)
}

// hazard is the handle that the other side says it is using now.
func (c *conn) hazard() nic.Handle {
	if c.peer.foreign {
		return 0 // another user's process cannot access our memory, so its word must not delay others
	}
	switch c.state {
	case connAnswered, connOpen, connLingering:
		return nic.Handle(atomic.LoadUint64(c.theirHazard))
	}
	return 0
}

// peerGone checks the socket. It closes when the process at the other end has ended, which is after its last system call.
// A bye is waiting there if the other side has released the segment.
func (c *conn) peerGone() bool {
	var b [prefixBytes]byte
	n, _, err := unix.Recvfrom(c.sock, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err != nil {
		return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	}
	kind, err := parsePrefix(b[:n])
	return n == 0 || err == nil && kind == kindBye
}

// open starts the traffic.
func (c *conn) open() {
	d := c.dev
	c.become(connOpen)
	d.stopTimer(c)
	d.stats.Connected++
	if c.peer.other && c.side == server {
		d.stats.OtherUsers++
	}
	c.provenAt = d.clock()
	d.makeHot(c)
	d.push(nic.Event{Kind: nic.EventConnected, Cookie: c.port.cookie, Conn: &nic.ConnEvent{Remote: c.remote}})
}

// sayBye tells the other side that nothing more follows.
func (c *conn) sayBye(code uint16) {
	b := bye{sent: c.sent, code: code}.append(make([]byte, 0, byeBytes))
	_ = sendRecord(c.sock, b)
	_ = unix.Shutdown(c.sock, unix.SHUT_WR)
}

// end ends the connection from this side, in any state: posted descriptors come back flushed, and the port is idle again.
// err is nil if the consumer asked for it.
func (c *conn) end(err error, code uint16) {
	d, p := c.dev, c.port
	switch c.state {
	case connOpen, connAnswered:
		c.sayBye(code)
		if c.peer.foreign {
			p.detach(c)
			c.release() // the other side has no RDMA call under way that would have to end first
			break
		}
		c.become(connLingering)
		d.stopTimer(c)
		c.closeBells()
		p.detach(c)
	default:
		if c.state == connDraining {
			// Answer its bye: otherwise the lingering side takes the close of our socket for our death.
			c.sayBye(code)
			i := slices.Index(d.ending, c)
			d.ending = slices.Delete(d.ending, i, i+1)
		}
		p.detach(c)
		c.release()
	}
	p.flush()
	d.push(nic.Event{Kind: nic.EventDisconnected, Cookie: p.cookie, Conn: &nic.ConnEvent{Remote: c.remote, Err: err}})
}

// breakRules ends a connection whose other side wrote something that no correct one writes.
func (c *conn) breakRules(what string) {
	err := fmt.Errorf("shm: %s wrote %s: %w", c.remote, what, nic.ErrProtocol)
	c.dev.stats.ProtocolErrors++
	c.dev.log.Warn("connection dropped", "remote", c.remote, "err", err)
	c.end(err, codeProtocol)
}

// drain begins the end by the other side: its earlier messages, up to message number to, are still delivered.
func (c *conn) drain(to uint64, err error) {
	c.become(connDraining)
	c.drainTo = min(to, c.posted)
	c.endErr = err
	c.closeBells()
	c.dev.unwatch(c.sock)
	c.dev.ending = append(c.dev.ending, c)
	c.dev.urgent = true
}

// drained ends the connection, once the ring has been emptied.
func (c *conn) drained() {
	err := c.endErr
	if err == nil && c.received < c.drainTo {
		err = fmt.Errorf("shm: %s left out %d messages: %w", c.remote, c.drainTo-c.received, nic.ErrProtocol)
		c.dev.stats.ProtocolErrors++
	}
	if err == nil {
		err = errRemoteEnded
	}
	c.end(err, codeNone)
}

// errRemoteEnded is the reason if the other side closed a connection in an orderly way.
var errRemoteEnded = errors.New("shm: the other side ended the connection")

// release frees everything except memory on loan.
func (c *conn) release() {
	d := c.dev
	if c.state != connDead {
		c.become(connDead)
		c.closeBells()
		closeFD(c.sock)
		c.sock = -1
		c.closeHelloFDs()
		d.stopTimer(c)
		delete(d.requests, c.request)
		e := &d.conns[c.index]
		d.stats.Sent += c.sent
		d.stats.Received += c.received
		e.conn = nil
		e.generation++
		d.freeConns = append(d.freeConns, c.index)
		if c.share != nil {
			d.crowd.leave(&c.peer)
		}
		unmap(c.theirTable)
		c.theirTable = nil
		c.arena.unmap()
	}
	if c.loans == 0 {
		unmap(c.mem)
		c.mem = nil
	}
}

// dropLoans takes back all loans: the port closes.
func (c *conn) dropLoans() {
	c.loans = 0
	if c.state == connDead {
		c.release()
	}
}

// closeBells removes our doorbell from epoll explicitly: the other side holds the same eventfd, so closing ours would not
// remove it.
func (c *conn) closeBells() {
	c.dev.unwatch(c.bellIn)
	closeFD(c.bellIn)
	closeFD(c.bellOut)
	c.bellIn, c.bellOut = -1, -1
}

func (c *conn) closeHelloFDs() {
	for _, fd := range c.helloFDs {
		closeFD(fd)
	}
	c.helloFDs, c.hello = nil, hello{}
}

// push queues an event for the next Poll.
func (d *Device) push(e nic.Event) {
	d.queue = append(d.queue, e)
	d.urgent = true
}
