package tcp

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/buffers"
	"github.com/viaduct-hpc/viaduct/internal/inbox"
	"github.com/viaduct-hpc/viaduct/internal/names"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/peer"
)

// method is the TCP method of one endpoint. Like everything in this package it is called by
// one goroutine at a time (see bmi.Method).
type method struct {
	// The fields that every message uses come first.
	round  uint64 // counts Polls
	look   bool   // ask the stack in the next Poll
	armed  bool   // a goroutine sleeps, or is about to
	hot    [hotMax]*conn
	hots   int
	stack  stack.Stack
	files  stack.FileSender // the same; nil: it cannot send from files
	inbox  *inbox.Inbox
	host   bmi.Host
	inbuf  []byte   // bytes read and not parsed yet
	out    []byte   // bytes gathered to be sent
	vec    [][]byte // pieces of one Recv or Send
	head   [wire.HeaderLen]byte
	events [128]stack.Event

	// Connections with something to do in the next Poll.
	dirty, dirtyNext []*conn                 // with sends that wait for no event
	ready            queue.FIFO[conn, *conn] // to be read, or resumed
	roomWaiters      queue.List[conn]        // their message waits for Options.EarlyBytes

	accepting, acceptingNext []*listener
	timers                   timers.Wheel[timer, *timer]

	name    string // scheme of the addresses
	log     *slog.Logger
	clock   func() time.Duration
	opts    Options
	closing bool

	remotes   *peer.IDs[*remote]
	newestID  int
	byName    map[string]*remote
	slots     []slot
	freeSlots []uint32
	listeners []*listener
	conns     int // open connections
	shares    shares
	freeSends *outgoing
	buffers   buffers.Pool
	names     names.Lookups[*dial]

	warnings warnings
	errors   bmi.ErrorCounts
	past     traffic // of forgotten peers
}

// Poll makes progress (bmi.Method).
func (m *method) Poll() bool {
	m.round++
	did := len(m.dirty) > 0 && m.flushAll()
	asked := m.hots == 0 || m.hots > hotFew || m.look || m.round%eventPolls == 0
	if asked {
		m.look = false
		did = m.takeEvents() || did
	}
	did = m.hots > 0 && m.readHot(asked) || did
	if !m.ready.Empty() {
		did = m.readReady() || did
	}
	did = m.expire() || did
	if m.inbox.Holds() {
		did = m.inbox.OfferHeld(m.heldTaken) || did
	}
	if len(m.accepting) > 0 {
		m.acceptAll()
		did = true
	}
	if m.names.Some() {
		did = m.takeNames() || did
	}
	if len(m.dirty) > 0 { // posted by handlers
		did = m.flushAll() || did
	}
	return did
}

// readHot reads the hot connections. If asked is true the stack was just asked for events,
// and connections for which it reported none are skipped.
func (m *method) readHot(asked bool) (did bool) {
	for i := 0; i < m.hots; {
		c := m.hot[i]
		quiet := asked && !c.more && !c.resumed
		switch {
		case c.block != blockNone:
			m.makeCold(c)
			continue
		case !quiet && m.service(c):
			did = true
			c.idle = 0
		default:
			if c.idle++; c.idle >= hotPolls && c.hot {
				m.makeCold(c)
				continue
			}
		}
		if c.hot { // otherwise another one has taken its place
			i++
		}
	}
	return did
}

// makeHot makes a connection with new data hot, if there is room or another hot one was idle
// for longer.
func (m *method) makeHot(c *conn) {
	if c.hot || c.state != connOpen {
		return
	}
	c.idle = 0
	if m.hots < hotMax {
		m.hot[m.hots] = c
		m.hots++
		c.hot = true
		return
	}
	coldest := 0
	for i := range m.hot {
		if m.hot[i].idle > m.hot[coldest].idle {
			coldest = i
		}
	}
	if old := m.hot[coldest]; old.idle > 0 {
		m.makeCold(old)
		m.makeHot(c)
	}
}

// makeCold makes a connection no longer hot. It is read once more, because events were not
// requested while it was hot.
func (m *method) makeCold(c *conn) {
	if !c.hot {
		return
	}
	c.hot = false
	for i := range m.hots {
		if m.hot[i] == c {
			m.hots--
			m.hot[i], m.hot[m.hots] = m.hot[m.hots], nil
			break
		}
	}
	m.markReady(c)
}

// takeEvents asks the stack for events.
func (m *method) takeEvents() (did bool) {
	n := m.stack.Poll(m.events[:])
	for _, ev := range m.events[:n] {
		s := m.bySlot(ev.Token)
		switch {
		case s == nil: // it has ended meanwhile
		case s.l != nil:
			m.markAccepting(s.l)
		case s.c != nil:
			m.event(s.c, ev.Ready)
		}
	}
	if n == len(m.events) {
		m.look = true
	}
	return n > 0
}

// event records what a stream is ready for.
func (m *method) event(c *conn, ready stack.Ready) {
	if c.state == connOpening {
		m.opening(c)
		if c.state != connOpen {
			return
		}
	}
	if ready&stack.Writable != 0 && c.sendErr == nil {
		c.writable = true
		if c.r != nil {
			m.markDirty(c)
		}
	}
	if ready&stack.Hangup != 0 {
		m.hangup(c)
	}
	if ready&stack.Readable != 0 {
		if c.more = true; !c.hot {
			m.markReady(c)
		}
	}
}

// markReady records that a connection may have something to read.
func (m *method) markReady(c *conn) {
	if !c.inReady && c.state == connOpen {
		c.inReady = true
		m.ready.Push(c)
	}
}

// readReady reads connections, each once.
func (m *method) readReady() (did bool) {
	last := m.ready.Tail()
	for range readsPerPoll {
		c := m.ready.Pop()
		if c == nil {
			break
		}
		c.inReady = false
		did = m.service(c) || did
		if c == last {
			break
		}
	}
	return did
}

// service continues a connection that was blocked, and reads it.
func (m *method) service(c *conn) (did bool) {
	if c.state != connOpen || c.block != blockNone {
		return false
	}
	if c.resumed {
		c.resumed = false
		m.resume(c)
		did = true
		if c.state != connOpen || c.block != blockNone {
			return did
		}
	}
	if m.read(c) {
		m.makeHot(c)
		return true
	}
	return did
}

// Info describes the method (bmi.Method).
func (m *method) Info() bmi.Info {
	info := bmi.Info{
		Name:              m.name,
		Description:       "PVFS2's wire format over TCP",
		Provider:          m.stack.Name(),
		MaxExpectedSize:   wire.ExpectedMax,
		MaxUnexpectedSize: wire.UnexpectedMax,
		EagerSize:         wire.EagerMax,
		MaxPieces:         PiecesMax,
		FileSends:         m.files != nil,
		Details: [][2]string{
			{"connections", "up to " + strconv.Itoa(m.opts.Connections) + " accepted"},
			{"kept per peer", strconv.Itoa(m.opts.EarlyBytesPerPeer) + " B without a receive"},
			{"protocol", "OrangeFS bmi_tcp, magic " + strconv.Itoa(wire.Magic)},
		},
	}
	for _, ln := range m.listeners {
		a := ln.Addr()
		info.Addresses = append(info.Addresses, m.name+"://"+a.String())
	}
	return info
}
