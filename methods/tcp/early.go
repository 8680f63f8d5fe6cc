package tcp

import (
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/tcp/wire"
)

// early is an expected message that came before its receive was posted. Until it
// meets one it is on the kept side of the match table.
//
//	buf   whole  c     it is
//	nil   no     set   a header; its connection is not read until the receive is there
//	set   no     set   arriving in buf
//	set   yes    nil   there
type early struct {
	r     *remote
	size  int // of the message, in bytes
	ref   matchbits.Ref
	buf   []byte   // what arrived; its capacity is at least size
	c     *conn    // from which it comes
	recv  *opState // that waits for the rest, which still arrives in buf
	whole bool
	chain queue.Links[early]
	free  *early // method.freeEarlies
}

// Chain links what came early from one peer.
func (e *early) Chain() *queue.Links[early] { return &e.chain }

// keep puts a message into the match table. Without a buffer, nothing more is read
// from its connection for now.
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

// mayKeep tells whether the limits of its sender allow that an early message of
// this size is kept in memory of ours.
func (m *method) mayKeep(r *remote, size int) bool {
	return size <= min(wire.EagerMax, m.opts.EarlyBytes) && r.earlies.Len() <= EarlyMessagesPerPeer &&
		r.earlyBytes+size <= m.opts.EarlyBytesPerPeer
}

// full tells whether the limit for all peers forbids that.
func (m *method) full(size int) bool { return m.earlyBytes+size > m.opts.EarlyBytes }

// buffer gives an early message memory of ours.
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

// roomFor lets connections go on that wait for room: those that wait because of the
// limit for all, in turn, and this peer's.
func (m *method) roomFor(r *remote) {
	for u := m.crowded.First(); u != nil && !m.full((*conn)(u).in.early.size); u = m.crowded.First() {
		c := (*conn)(u)
		m.uncrowd(c)
		m.tryKeep(c) // if its own limit forbids that by now, its own messages make room
	}
	if r.c != nil {
		m.tryKeep(r.c)
	}
}

// tryKeep lets a connection go on whose early message can be kept by now.
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

// crowded is a connection in the queue of those that wait for Options.EarlyBytes.
type crowded conn

// Chain links them.
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

// dropEarlies throws away what came early from a peer: everything, or what cannot
// become whole any more. What arrived whole was accepted and waits on.
func (m *method) dropEarlies(r *remote, unfinished bool) {
	var next *early
	for e := r.earlies.First(); e != nil; e = next {
		next = r.earlies.Next(e)
		if e.recv != nil || unfinished && e.whole {
			continue // of the former, the receive takes care
		}
		m.match.RemoveKept(e.ref)
		m.letGo(e)
	}
}
