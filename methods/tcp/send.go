package tcp

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
)

// headerOf is the header of a send.
func headerOf(op *bmi.Op) wire.Header {
	if op.Kind == bmi.KindSendUnexpected {
		return wire.Unexpected(uint32(op.Tag), op.Size)
	}
	return wire.Expected(uint32(op.Tag), op.Size)
}

// PostSend takes over a send. The first send on a connection since the last Poll goes out
// at once. Later ones wait for the next Poll, which sends them together, because a system
// call costs far more than a message. While a goroutine sleeps the next Poll may be far
// away, so all sends go out at once.
func (m *method) PostSend(op *bmi.Op) {
	r := op.Peer.(*remote)
	if err := m.unsendable(r); err != nil {
		op.Complete(0, err)
		return
	}
	if c := r.c; m.atOnce(c) {
		c.round = m.round
		m.sendNow(c, r, op)
		return
	}
	m.sendLater(r, op)
}

// unsendable says why nothing can be sent to a peer; nil if it can.
func (m *method) unsendable(r *remote) error {
	if err := m.unusable(r); err != nil {
		return err
	}
	if r.c != nil && r.c.hungUp && r.c.block != blockNone && !r.passive {
		// The connection was kept for messages not yet received. The caller makes a new
		// one.
		m.broken(r.c, errors.New("it closed the connection, and nobody took its next message"))
	}
	if r.c != nil {
		return r.c.sendErr
	}
	return nil
}

// atOnce reports whether a send goes out within its post.
func (m *method) atOnce(c *conn) bool {
	return c != nil && c.writable && c.r.sends.Len() == 0 && (c.round != m.round || m.armed)
}

// sendLater queues a send behind those that wait.
func (m *method) sendLater(r *remote, op *bmi.Op) {
	m.queueSend(r, op)
	switch {
	case r.c != nil:
		m.markDirty(r.c)
	case r.dial == nil:
		m.startDial(r)
	}
}

// sendNow gives a send to the stream.
func (m *method) sendNow(c *conn, r *remote, op *bmi.Op) {
	vec := m.vec[:0]
	out := headerOf(op).Append(m.out[:0])
	if op.Size <= gatherBytes {
		for _, b := range op.Bufs {
			out = append(out, b...)
		}
		vec = append(vec, out)
	} else {
		vec = append(vec, out)
		vec, _ = pieces.Cursor{}.Append(vec, op.Bufs, moveBytes, stack.PiecesMax-1)
	}
	n, err := c.stream.Send(vec)
	clear(vec)
	if n == wire.HeaderLen+op.Size {
		r.count.sent(op)
		op.Complete(op.Size, nil)
	} else {
		m.queueSend(r, op)
		m.taken(r, n)
	}
	m.sent(c, err)
}

// taken records that the stream took n more bytes of the queue.
func (m *method) taken(r *remote, n int) {
	for n > 0 {
		s := r.sends.First()
		left := wire.HeaderLen + s.op.Size - s.sent
		if n < left {
			if s.op.File.File == nil {
				s.at.Advance(s.op.Bufs, n-min(n, max(wire.HeaderLen-s.sent, 0)))
			}
			s.sent += n
			return
		}
		n -= left
		r.count.sent(s.op)
		m.finishSend(s, s.op.Size, nil)
	}
}

// sent handles the result of a Send.
func (m *method) sent(c *conn, err error) {
	switch {
	case err == nil:
		m.markDirty(c)
	case errors.Is(err, stack.ErrAgain):
		c.writable = false
	default:
		m.sendFailed(c, err)
	}
}

// sendFailed ends the sends of a connection. Earlier messages from the peer may still have
// to be read: the connection ends after that.
func (m *method) sendFailed(c *conn, cause error) {
	r := c.r
	c.sendErr = r.errorf(bmi.ErrPeerFailed, "%w", cause)
	c.writable = false
	m.errors.PeerFailed++
	m.failSends(r, c.sendErr)
	m.markReady(c)
	m.hangup(c)
}

// flush sends queued messages as far as the stream takes them.
func (m *method) flush(c *conn) bool {
	r := c.r
	if c.state != connOpen || !c.writable || r.sends.Len() == 0 {
		return false
	}
	vec, file := m.gather(r)
	var n int
	var err error
	if file == nil {
		n, err = c.stream.Send(vec)
	} else {
		n, err = m.sendFile(c, vec, file)
	}
	clear(vec)
	m.taken(r, n)
	if errors.Is(err, stack.ErrFile) {
		m.unread(c, err)
		return true
	}
	m.sent(c, err)
	return n > 0
}

// gather assembles the pieces for one Send: headers and short messages in m.out, long ones
// in place. file is the send whose bytes follow from its file; nil: none.
func (m *method) gather(r *remote) (vec [][]byte, file *outgoing) {
	vec, out := m.vec[:0], m.out[:0]
	from := 0 // earlier bytes of out are already in vec
	room := moveBytes
	for s := r.sends.First(); s != nil && room > 0; s = s.links.Next() {
		if len(vec) > stack.PiecesMax-3 || cap(out)-len(out) < wire.HeaderLen+gatherBytes {
			break
		}
		if s.sent < wire.HeaderLen {
			out = append(out, headerOf(s.op).Append(m.head[:0])[s.sent:]...)
		}
		left := s.op.Size - max(s.sent-wire.HeaderLen, 0)
		if s.op.File.File != nil && !s.ended {
			file = s
			break
		}
		if s.ended {
			return m.appendZeros(append(vec, out[from:]), left), nil
		}
		if left <= gatherBytes {
			out = s.at.Gather(out, s.op.Bufs, left)
			room -= left
			continue
		}
		if len(out) > from {
			vec = append(vec, out[from:])
			from = len(out)
		}
		var n int
		vec, n = s.at.Append(vec, s.op.Bufs, min(left, room), stack.PiecesMax-1-len(vec))
		if n < left {
			return vec, nil
		}
		room -= n
	}
	if len(out) > from {
		vec = append(vec, out[from:])
	}
	return vec, file
}

// markDirty records that a connection has something to send.
func (m *method) markDirty(c *conn) {
	if !c.inDirty && c.writable && c.r.sends.Len() > 0 {
		c.inDirty = true
		m.dirty = append(m.dirty, c)
	}
}

// flushAll sends the messages posted since the last Poll.
func (m *method) flushAll() (did bool) {
	all := m.dirty
	m.dirty = m.dirtyNext[:0]
	for _, c := range all {
		c.inDirty = false
		did = m.flush(c) || did
	}
	clear(all)
	m.dirtyNext = all[:0]
	return did
}
