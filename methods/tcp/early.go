package tcp

import (
	"github.com/viaduct-hpc/viaduct/internal/inbox"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
)

// early gives an early message a buffer, or blocks its connection.
func (m *method) early(c *conn, msg *inbox.Message) {
	switch {
	case !m.mayKeep(c.r, msg.Size()):
		c.block = blockRecv
	case m.full(msg.Size()):
		c.block = blockRecv
		m.waitForRoom(c)
	default:
		m.inbox.Buffer(msg)
	}
}

// mayKeep reports whether the limits per peer allow an early message of this size to
// be kept in a buffer.
func (m *method) mayKeep(r *remote, size int) bool {
	return size <= min(wire.EagerMax, m.opts.EarlyBytes) && r.inbox.Early() <= EarlyMessagesPerPeer &&
		r.inbox.EarlyBytes()+size <= m.opts.EarlyBytesPerPeer
}

// full reports whether the limit for all peers forbids it.
func (m *method) full(size int) bool { return m.inbox.EarlyBytes()+size > m.opts.EarlyBytes }

// roomFor continues connections that wait for room: those that wait for the limit of
// all peers, in turn, and this peer's.
func (m *method) roomFor(r *remote) {
	for c := m.roomWaiters.First(); c != nil && !m.full(c.in.msg.Size()); c = m.roomWaiters.First() {
		m.endRoomWait(c)
		m.tryKeep(c) // if its own limit forbids that now, its own messages will make room
	}
	if r.c != nil {
		m.tryKeep(r.c)
	}
}

// tryKeep continues a connection if its early message can now be kept.
func (m *method) tryKeep(c *conn) {
	switch {
	case c.state != connOpen || c.block != blockRecv || !m.mayKeep(c.r, c.in.msg.Size()):
	case m.full(c.in.msg.Size()):
		m.waitForRoom(c)
	default:
		m.inbox.Buffer(c.in.msg)
		m.unblock(c)
	}
}

// dropEarly discards everything that came early from a peer.
func (m *method) dropEarly(r *remote) {
	m.inbox.DropEarly(&r.inbox)
	m.roomFor(r)
	m.maybeRelease(r)
}

func (m *method) waitForRoom(c *conn) {
	if !c.inRoomWait {
		c.inRoomWait = true
		m.roomWaiters.Add(c, &c.roomWaitLinks)
	}
}

func (m *method) endRoomWait(c *conn) {
	if c.inRoomWait {
		c.inRoomWait = false
		m.roomWaiters.Remove(&c.roomWaitLinks)
	}
}
