package tcp

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/inbox"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
)

// inKind says what is arriving on a connection.
type inKind uint8

const (
	inNone inKind = iota
	inExpected
	inUnexpected // in several pieces
)

// inbound is the message that is arriving on a connection.
type inbound struct {
	kind inKind
	head wire.Header
	msg  *inbox.Message // inExpected
	buf  []byte         // inUnexpected
}

// buffered reports whether the message goes to a buffer of the method.
func (in *inbound) buffered() bool {
	return in.kind == inUnexpected || in.kind == inExpected && in.msg.Buffered()
}

// read calls Recv once on a connection. It reports whether anything arrived.
func (m *method) read(c *conn) bool {
	vec, direct := m.window(c)
	n, err := c.stream.Recv(vec)
	clear(vec)
	c.more = err == nil
	if n > 0 {
		c.lastData = m.round
		m.arrived(c, n, direct)
	}
	switch {
	case c.state != connOpen:
	case err == nil:
		if !c.hot && c.block == blockNone {
			m.markReady(c)
		}
	case errors.Is(err, stack.ErrAgain):
		if c.mark > c.reader.Left() {
			c.await(1)
		}
	case c.block != blockNone:
		m.hangup(c) // Recv returns it again once all earlier bytes were read
	default:
		m.broken(c, err)
		return true
	}
	return n > 0
}

// window returns where the next bytes go: the first direct bytes straight to their
// destination, the others to m.inbuf, to be parsed.
func (m *method) window(c *conn) (vec [][]byte, direct int) {
	vec = m.vec[:0]
	left := c.reader.Left()
	if left > 0 {
		want := min(left, moveBytes)
		switch c.in.kind {
		case inExpected:
			vec, direct = c.in.msg.Window(vec, want, stack.PiecesMax-1)
		case inUnexpected:
			b := c.in.buf
			vec, direct = append(vec, b[len(b):c.in.head.Size]), left
		}
	}
	switch {
	case direct == left && (c.large || left > readBytes):
		vec = append(vec, m.inbuf[:peekBytes])
	case direct == left || direct == 0:
		vec = append(vec, m.inbuf)
	}
	return vec, direct
}

// arrived processes n bytes that were read; the first direct of them are in place.
func (m *method) arrived(c *conn, n, direct int) {
	p := m.inbuf[:max(n-direct, 0)]
	if direct = min(n, direct); direct > 0 {
		m.placed(c, direct)
		c.reader.Body(direct)
		if c.reader.Left() == 0 {
			m.whole(c)
		}
	}
	if len(p) > 0 && c.state == connOpen && c.block == blockNone {
		p = m.parse(c, p)
	}
	if c.state == connOpen && len(p) > 0 {
		c.buf = append(m.buffers.Take(len(p)), p...)
		c.rest = c.buf
	}
	m.deadline(c)
}

// placed records that n bytes of the message were read into place.
func (m *method) placed(c *conn, n int) {
	in := &c.in
	switch in.kind {
	case inExpected:
		in.msg.Placed(n)
	case inUnexpected:
		in.buf = in.buf[:len(in.buf)+n]
	}
}

// resume continues a connection that was blocked.
func (m *method) resume(c *conn) {
	// A handler may end the connection and the buffer must outlast it.
	p, buf := c.rest, c.buf
	c.rest, c.buf = nil, nil
	p = m.parse(c, p)
	if c.state == connOpen && len(p) > 0 {
		c.rest, c.buf = p, buf
	} else if buf != nil {
		m.buffers.Give(buf)
	}
	m.deadline(c)
}

// parse processes bytes in the order of the stream. It returns the rest if the connection is
// blocked or ends.
func (m *method) parse(c *conn, p []byte) []byte {
	for c.state == connOpen && c.block == blockNone {
		if c.in.kind == inNone {
			if len(p) == 0 {
				return nil
			}
			h, n, ok, err := c.reader.Header(p)
			p = p[n:]
			switch {
			case err != nil:
				m.broken(c, fmt.Errorf("%w: %w", errProtocol, err))
			case ok:
				m.nextStage(c)
				p = m.start(c, h, p)
			}
			continue
		}
		n := min(c.reader.Left(), len(p))
		m.store(c, p[:n])
		c.reader.Body(n)
		p = p[n:]
		if c.reader.Left() > 0 {
			return nil
		}
		m.whole(c)
	}
	return p
}

// nextStage records that a header or a message is complete. The next one gets a deadline of
// its own.
func (m *method) nextStage(c *conn) {
	c.stage++
	if c.sendErr == nil {
		m.timers.Stop(&c.timer)
	}
}

// store copies bytes of the message to their destination.
func (m *method) store(c *conn, b []byte) {
	in := &c.in
	switch in.kind {
	case inExpected:
		in.msg.Write(b)
	case inUnexpected:
		in.buf = append(in.buf, b...)
	}
}

// start decides where a message goes, once its header is complete. p holds the bytes behind
// the header; start returns the rest of p.
func (m *method) start(c *conn, h wire.Header, p []byte) []byte {
	r, err := m.remoteOf(c)
	if err != nil {
		m.errors.TurnedAway++
		m.warn("connection turned away", "peer", c.stream.Remote().String(), "cause", err)
		m.end(c, err)
		return p
	}
	c.large = h.Size > readBytes
	if h.Mode == wire.ModeUnexpected {
		if h.Size > len(p) {
			c.in = inbound{kind: inUnexpected, head: h, buf: m.buffers.Take(h.Size)}
			return p
		}
		c.reader.Body(h.Size)
		m.offered(c, m.inbox.Offer(&r.inbox, 0, bmi.Tag(h.Tag), p[:h.Size]))
		return p[h.Size:]
	}
	c.in = inbound{kind: inExpected, head: h, msg: m.inbox.Begin(&r.inbox, h.Tag, h.Size, c)}
	if c.in.msg.Waits() {
		m.early(c, c.in.msg)
	}
	return p
}

// whole is called when the last byte of a message has arrived.
func (m *method) whole(c *conn) {
	in := c.in
	c.in = inbound{}
	m.nextStage(c)
	switch in.kind {
	case inExpected:
		m.inbox.End(in.msg)
	case inUnexpected:
		m.offered(c, m.inbox.OfferBuffer(&c.r.inbox, 0, bmi.Tag(in.head.Tag), in.buf))
	}
}

// offered deals with an unexpected message that the endpoint took, or had no room for: then
// nothing more is read from the connection.
func (m *method) offered(c *conn, taken bool) {
	if taken {
		c.r.told = true
	} else {
		c.block = blockTake
	}
}

// heldTaken continues the connection of a peer whose unexpected message was taken later.
func (m *method) heldTaken(p *inbox.Peer) {
	r, ok := m.remotes.Lookup(p.ID())
	if !ok {
		return // a handler dropped it
	}
	r.told = true
	if c := r.c; c != nil && c.block == blockTake {
		m.unblock(c)
	}
}

// unblock allows a connection to be read again.
func (m *method) unblock(c *conn) {
	m.endRoomWait(c)
	c.block, c.resumed = blockNone, true
	m.markReady(c)
	m.deadline(c)
}
