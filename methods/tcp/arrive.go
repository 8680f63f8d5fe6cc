package tcp

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/tcp/stack"
	"github.com/viaduct-hpc/viaduct/methods/tcp/wire"
)

// inKind says where the message that is arriving on a connection goes.
type inKind uint8

const (
	inNone     inKind = iota
	inDeliver         // to a receive
	inEarly           // to a buffer of the method, or not read yet
	inAssemble        // unexpected, in several pieces
	inDiscard         // nowhere
)

// inbound is the message that is arriving on a connection.
type inbound struct {
	kind  inKind
	head  wire.Header
	recv  *opState // inDeliver
	at    cursor   // inDeliver
	early *early   // inEarly
	buf   []byte   // inAssemble
}

// read calls Recv once on a connection. It reports whether anything arrived.
func (m *method) read(c *conn) bool {
	vec, direct := m.window(c)
	n, err := c.stream.Recv(vec)
	clear(vec)
	c.more = err == nil
	if n > 0 {
		c.heard = m.round
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
		case inDeliver:
			vec, direct = c.in.at.appendPieces(vec, c.in.recv.op.Bufs, want, stack.PiecesMax-1)
		case inEarly:
			b := c.in.early.buf
			vec, direct = append(vec, b[len(b):c.in.head.Size]), left
		case inAssemble:
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
	case inDeliver:
		in.at.advance(in.recv.op.Bufs, n)
	case inEarly:
		in.early.buf = in.early.buf[:len(in.early.buf)+n]
	case inAssemble:
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
		m.unset(&c.timer)
	}
}

// store copies bytes of the message to their destination.
func (m *method) store(c *conn, b []byte) {
	in := &c.in
	switch in.kind {
	case inDeliver:
		in.at.scatter(in.recv.op.Bufs, b)
	case inEarly:
		in.early.buf = append(in.early.buf, b...)
	case inAssemble:
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
			c.in = inbound{kind: inAssemble, head: h, buf: m.buffers.Take(h.Size)}
			return p
		}
		c.reader.Body(h.Size)
		m.unexpected(c, h, p[:h.Size])
		return p[h.Size:]
	}
	w, ok := m.match.Arrive(r.key | matchbits.Bits(h.Tag))
	if !ok {
		m.early(c, r, h)
		return p
	}
	s := w.recv
	if h.Size > s.op.Size {
		c.in = inbound{kind: inDiscard, head: h}
		m.finish(s, h.Size, r.truncation(h.Size, s.op.Size))
		return p
	}
	s.phase, s.c = phaseArriving, c
	c.in = inbound{kind: inDeliver, head: h, recv: s}
	return p
}

// early keeps a message whose receive is not posted yet, or blocks the connection.
func (m *method) early(c *conn, r *remote, h wire.Header) {
	e := m.keep(r, c, h.Tag, h.Size)
	c.in = inbound{kind: inEarly, head: h, early: e}
	switch {
	case !m.mayKeep(r, h.Size):
		c.block = blockRecv
	case m.full(h.Size):
		c.block = blockRecv
		m.crowd(c)
	default:
		m.buffer(e)
	}
}

// whole is called when the last byte of a message has arrived.
func (m *method) whole(c *conn) {
	in := c.in
	c.in = inbound{}
	m.nextStage(c)
	switch in.kind {
	case inDeliver:
		c.r.count.received(in.head)
		m.finish(in.recv, in.head.Size, nil)
	case inEarly:
		m.earlyWhole(c, in.early)
		c.r.count.received(in.head)
	case inAssemble:
		m.unexpected(c, in.head, in.buf)
		m.buffers.Give(in.buf)
	}
}

func (m *method) earlyWhole(c *conn, e *early) {
	e.whole, e.c = true, nil
	if s := e.recv; s != nil {
		var at cursor
		at.scatter(s.op.Bufs, e.buf)
		size := e.size
		m.letGo(e)
		m.finish(s, size, nil)
	}
}

// unexpected hands an unexpected message to the endpoint. If the endpoint has no room, it
// keeps a copy and blocks the connection.
func (m *method) unexpected(c *conn, h wire.Header, data []byte) {
	if m.host.Arrived(c.r.addr, 0, bmi.Tag(h.Tag), data) {
		c.r.told = true
		c.r.count.received(h)
		return
	}
	if c.state != connOpen {
		return
	}
	c.r.count.HeldUnexpected++
	c.in = inbound{kind: inAssemble, head: h, buf: append(m.buffers.Take(len(data)), data...)}
	c.block = blockTake
	m.untaken.Add((*untaken)(c))
}

// untaken is a connection with blockTake, as an element of method.untaken.
type untaken conn

// Chain links the elements of method.untaken.
func (u *untaken) Chain() *queue.Links[untaken] { return &u.untakenLinks }

// offerUntaken offers the untaken messages again, until the endpoint has no room.
func (m *method) offerUntaken() (did bool) {
	for u := m.untaken.First(); u != nil; u = m.untaken.First() {
		c := (*conn)(u)
		in := c.in
		c.in = inbound{} // the buffer must outlast the connection
		took := m.host.Arrived(c.r.addr, 0, bmi.Tag(in.head.Tag), in.buf)
		if c.state == connOpen && !took {
			c.in = in
			return did
		}
		m.buffers.Give(in.buf)
		c.r.told = true
		if c.state == connOpen {
			c.r.count.received(in.head)
			m.unblock(c)
		}
		did = true
	}
	return did
}

// unblock allows a connection to be read again.
func (m *method) unblock(c *conn) {
	m.unqueue(c)
	c.block, c.resumed = blockNone, true
	m.markReady(c)
	m.deadline(c)
}

// unqueue removes a connection from the queues of blocked connections.
func (m *method) unqueue(c *conn) {
	m.uncrowd(c)
	if c.block == blockTake {
		m.untaken.Remove((*untaken)(c))
	}
}
