package tcp

import (
	"errors"
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
)

// connState is the state of a connection.
type connState uint8

const (
	connOpening connState = iota // being made, or not authenticated yet (TLS)
	connOpen
	connClosed
)

// block says why a connection is not read.
type block uint8

const (
	blockNone block = iota
	// blockRecv: its next message needs a receive, or room to be kept.
	blockRecv
	// blockTake: the endpoint has no room for its unexpected message.
	blockTake
)

// conn is a connection. It is not used again after its end, so that remaining references can see that it ended.
type conn struct {
	stream stack.Stream
	r      *remote // nil: accepted, and no message has arrived yet
	state  connState
	block  block

	writable   bool   // the latest Send took everything
	inDirty    bool   // in method.dirty
	inReady    bool   // in method.ready
	inRoomWait bool   // in method.roomWaiters
	more       bool   // the latest Recv may have left bytes to read
	hot        bool   // in method.hot
	large      bool   // the latest message was over readBytes
	hungUp     bool   // the other side sends no more than what has already arrived
	idle       uint16 // polls without data while hot
	mark       int    // the low-water mark of the stream; 0: initial
	stage      uint32 // counts completed headers and messages
	lastData   uint64 // the latest Poll in which data arrived

	round   uint64 // the Poll after which a send went out at once
	sendErr error  // the stream takes no more bytes; what arrived is still read

	reader  wire.Reader
	in      inbound
	rest    []byte // read but not parsed, because of block
	resumed bool   // block was lifted, and rest is not parsed yet
	buf     []byte // the buffer that holds rest

	next          *conn  // in method.ready
	share         *share // if the other side connected; nil: this side did
	shareLinks    queue.Links[conn]
	roomWaitLinks queue.Links[conn]
	timer
	slot uint32
}

// Link links the connections that are ready.
func (c *conn) Link() **conn { return &c.next }

// A slot holds the object that a token names. Its generation is part of the token.
type slot struct {
	c          *conn
	l          *listener
	generation uint32
}

// token reserves a slot.
func (m *method) token() (uint32, stack.Token) {
	var i uint32
	if n := len(m.freeSlots); n > 0 {
		i = m.freeSlots[n-1]
		m.freeSlots = m.freeSlots[:n-1]
	} else {
		i = uint32(len(m.slots))
		m.slots = append(m.slots, slot{})
	}
	return i, stack.Token(m.slots[i].generation)<<32 | stack.Token(i)
}

// freeSlot makes the token of a slot invalid.
func (m *method) freeSlot(i uint32) {
	m.slots[i] = slot{generation: m.slots[i].generation + 1}
	m.freeSlots = append(m.freeSlots, i)
}

// bySlot finds the slot of a token; nil if its object has ended.
func (m *method) bySlot(t stack.Token) *slot {
	if i := uint32(t); int(i) < len(m.slots) && m.slots[i].generation == uint32(t>>32) {
		return &m.slots[i]
	}
	return nil
}

// newConn makes the record of a stream.
func (m *method) newConn(s stack.Stream, slot uint32) *conn {
	c := &conn{stream: s, slot: slot}
	c.owner = c
	m.slots[slot].c = c
	return c
}

// open is called when the stream is ready for data.
func (m *method) open(c *conn) {
	c.state = connOpen
	m.conns++
	c.writable = true
	m.timers.Stop(&c.timer)
	if r := c.r; r != nil {
		m.endDial(r)
		r.failed, r.since = nil, m.clock()
		r.count.Connects++
		bmi.Report(m.host, bmi.Connected, r.name)
		m.markDirty(c)
	}
	m.markReady(c) // data that arrived earlier makes no event
}

// end closes a connection. All operations with its peer fail with err.
func (m *method) end(c *conn, err error) {
	if c.state == connClosed {
		return
	}
	if c.state == connOpen && c.r != nil {
		c.r.since = m.clock()
		c.r.count.Disconnects++
		bmi.Report(m.host, bmi.Disconnected, c.r.name)
	}
	m.forgetConn(c)
	r := c.r
	if r == nil {
		return
	}
	r.c, r.failed = nil, err
	if c.in.kind == inExpected {
		m.inbox.Cut(c.in.msg, err)
		c.in = inbound{}
	}
	m.inbox.DropHeld(&r.inbox)
	m.failAll(r, err)
	m.roomFor(r)
	if r.passive {
		m.retire(r)
	}
}

// forgetConn closes a stream and takes its record out of all tables.
func (m *method) forgetConn(c *conn) {
	if c.state == connOpen {
		m.conns--
	}
	c.state = connClosed
	c.stream.Close()
	m.freeSlot(c.slot)
	m.timers.Stop(&c.timer)
	m.makeCold(c)
	m.endRoomWait(c)
	if c.share != nil {
		m.shares.remove(c)
	}
	if c.in.buf != nil {
		m.buffers.Give(c.in.buf)
	}
	if c.buf != nil {
		m.buffers.Give(c.buf)
		c.buf, c.rest = nil, nil
	}
}

// broken is end for a stream that failed or must not continue.
func (m *method) broken(c *conn, cause error) {
	kind := bmi.ErrPeerFailed
	failed := c.r != nil && c.sendErr == nil // otherwise it has been counted
	switch {
	case errors.Is(cause, errProtocol):
		kind, failed = bmi.ErrProtocol, false
		m.errors.Protocol++
		m.warn("connection closed: the peer broke the protocol", "peer", c.stream.Remote().String(), "cause", cause)
	case errors.Is(cause, stack.ErrIdentity):
		kind, failed = bmi.ErrRefused, false
		m.errors.ConnectFailed++
		m.warn("connection closed: the peer does not have the required identity", "peer", c.stream.Remote().String(), "cause", cause)
	case !errors.Is(cause, io.EOF):
	case c.reader.Left() > 0 || c.reader.Partial():
		cause = errors.New("it closed the connection in the middle of a message")
	default:
		cause = errors.New("it closed the connection")
		failed = failed && c.r.waits()
	}
	if failed {
		m.errors.PeerFailed++
	}
	m.endAs(c, kind, cause)
}

func (m *method) endAs(c *conn, kind, cause error) {
	if c.r == nil {
		m.end(c, cause)
		return
	}
	m.end(c, c.r.errorf(kind, "%w", cause))
}

// errProtocol marks violations of the format or its rules.
var (
	errProtocol       = errors.New("protocol error")
	errHeaderTimeout  = fmt.Errorf("%w: a header stayed incomplete for too long", errProtocol)
	errMessageTimeout = fmt.Errorf("%w: a message stayed incomplete for too long", errProtocol)
)

// expired is called when a connection's deadline has passed.
func (c *conn) expired(m *method) {
	switch {
	case c.state == connOpening:
		m.errors.ConnectFailed++
		m.warn("connection closed: the peer did not prove its identity in time", "peer", c.stream.Remote().String())
		m.endAs(c, bmi.ErrPeerFailed, errors.New("it did not prove its identity in time"))
	case c.block != blockNone:
		m.broken(c, errors.New("it closed the connection, and nobody took its next message"))
	case c.sendErr != nil:
		m.end(c, c.sendErr)
	default:
		m.incomplete(c)
	}
}

// incomplete ends a connection on which a header or a message was not complete in time, unless the rest has arrived and was not
// read yet.
func (m *method) incomplete(c *conn) {
	stage, why := c.stage, errHeaderTimeout
	if c.in.kind != inNone {
		why = errMessageTimeout
	}
	m.service(c)
	if c.state == connOpen && c.stage == stage {
		m.errors.Incomplete++
		m.broken(c, why)
	}
}

// deadline sets or clears the connection's timer after it was read.
func (m *method) deadline(c *conn) {
	set := c.place.IsSet()
	switch {
	case c.state != connOpen:
	case c.block != blockNone && c.hungUp, c.sendErr != nil:
		// An incomplete message had a longer deadline. Replace it.
		if at := m.clock() + m.opts.HangupTimeout; !set || at < c.place.At() {
			m.timers.Set(&c.timer, at)
		}
	case c.block == blockNone && c.reader.Partial():
		if !set {
			m.timers.Set(&c.timer, m.clock()+m.opts.HeaderTimeout)
		}
	case c.block == blockNone && c.in.buffered():
		if !set {
			m.timers.Set(&c.timer, m.clock()+m.opts.MessageTimeout)
		}
	case set:
		m.timers.Stop(&c.timer)
	}
}

// hangup records that the other side sends no more than what has already arrived.
func (m *method) hangup(c *conn) {
	c.hungUp = true
	m.deadline(c)
}
