package tcp

import (
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/tcp/wire"
)

// early is an expected message that arrived before its receive was posted. Until the
// receive is posted it is on the kept side of the match table.
//
//	buf   whole  c     state
//	nil   no     set   only the header was read; the connection is blocked until the receive is posted
//	set   no     set   arriving in buf
//	set   yes    nil   complete
type early struct {
	r     *remote
	size  int // of the message, in bytes
	ref   matchbits.Ref
	buf   []byte   // the bytes that arrived; its capacity is at least size
	c     *conn    // the connection on which it arrives
	recv  *opState // the receive that waits for the rest, which still arrives in buf
	whole bool
	chain queue.Links[early]
	free  *early // method.freeEarlies
}

// Chain links the early messages of one peer.
func (e *early) Chain() *queue.Links[early] { return &e.chain }

// keep puts a message into the match table. Without a buffer, its connection is not
// read for now.
func (m *method) keep(r *remote, c *conn, tag uint32, size int) *early {
	e := m.freeEarlies
	if e != nil {
		m.freeEarlies, e.free = e.free, nil
	} else {
		e = &early{}
	}
	e.r, e.c, e.size = r, c, size
	e.ref = m.match.Keep(r.key|matchbits.Bits(tag), waiting{early: e})
	r.earlies.Add(e)
	r.count.EarlyReceived++
	return e
}

// mayKeep reports whether the limits per peer allow an early message of this size to
// be kept in a buffer.
func (m *method) mayKeep(r *remote, size int) bool {
	return size <= min(wire.EagerMax, m.opts.EarlyBytes) && r.earlies.Len() <= EarlyMessagesPerPeer &&
		r.earlyBytes+size <= m.opts.EarlyBytesPerPeer
}

// full reports whether the limit for all peers forbids it.
func (m *method) full(size int) bool { return m.earlyBytes+size > m.opts.EarlyBytes }

// buffer gives an early message a buffer.
func (m *method) buffer(e *early) {
	e.buf = m.buffers.Take(e.size)
	e.r.earlyBytes += cap(e.buf)
	m.earlyBytes += cap(e.buf)
}

// letGo forgets an early message that is no longer in the match table.
func (m *method) letGo(e *early) {
	r := e.r
	r.earlies.Remove(e)
	freed := e.buf != nil
	if freed {
		r.earlyBytes -= cap(e.buf)
		m.earlyBytes -= cap(e.buf)
		m.buffers.Give(e.buf)
	}
	*e = early{free: m.freeEarlies}
	m.freeEarlies = e
	if freed {
		m.roomFor(r)
	}
	m.maybeRelease(r)
}

// roomFor continues connections that wait for room: those that wait for the limit of
// all peers, in turn, and this peer's.
func (m *method) roomFor(r *remote) {
	for u := m.crowded.First(); u != nil && !m.full((*conn)(u).in.early.size); u = m.crowded.First() {
		c := (*conn)(u)
		m.uncrowd(c)
		m.tryKeep(c) // if its own limit forbids that now, its own messages will make room
	}
	if r.c != nil {
		m.tryKeep(r.c)
	}
}

// tryKeep continues a connection if its early message can now be kept.
func (m *method) tryKeep(c *conn) {
	switch {
	case c.state != connOpen || c.block != blockRecv || !m.mayKeep(c.r, c.in.early.size):
	case m.full(c.in.early.size):
		m.crowd(c)
	default:
		m.buffer(c.in.early)
		m.unblock(c)
	}
}

// crowded is a connection as an element of method.crowded: it waits for
// Options.EarlyBytes.
type crowded conn

// Chain links the elements of method.crowded.
func (u *crowded) Chain() *queue.Links[crowded] { return &u.crowdedLinks }

func (m *method) crowd(c *conn) {
	if !c.inCrowded {
		c.inCrowded = true
		m.crowded.Add((*crowded)(c))
	}
}

func (m *method) uncrowd(c *conn) {
	if c.inCrowded {
		c.inCrowded = false
		m.crowded.Remove((*crowded)(c))
	}
}

// dropEarlies discards early messages of a peer: all of them, or only those that
// cannot become complete any more. Complete messages were accepted and continue to
// wait.
func (m *method) dropEarlies(r *remote, unfinished bool) {
	var next *early
	for e := r.earlies.First(); e != nil; e = next {
		next = r.earlies.Next(e)
		if e.recv != nil || unfinished && e.whole {
			continue // the receive has them
		}
		m.match.RemoveKept(e.ref)
		m.letGo(e)
	}
}
