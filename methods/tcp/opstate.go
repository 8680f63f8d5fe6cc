package tcp

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// phase is the state of an operation that did not complete immediately.
type phase uint8

const (
	// phaseSending: in remote.sends, waiting for a connection, for room in the
	// stream, or for earlier sends.
	phaseSending phase = iota + 1
	// phasePosted: a receive in the match table.
	phasePosted
	// phaseJoined: a receive whose message is arriving in a buffer of the method.
	phaseJoined
	// phaseArriving: a receive whose message is arriving in its own memory.
	phaseArriving
)

// opState is the method's record of an operation from its post to its completion,
// if it did not complete immediately. Afterwards it goes to method.freeOps.
type opState struct {
	op    *bmi.Op
	r     *remote
	phase phase

	chain   queue.Links[opState] // the operations of one peer, in post order
	sending queue.Links[sending] // remote.sends
	free    *opState             // method.freeOps

	ref   matchbits.Ref // phasePosted
	early *early        // phaseJoined
	c     *conn         // phaseArriving

	sent int    // phaseSending: bytes of header and message that the stream took
	at   cursor // phaseSending: the position in the message

	ended bool // phaseSending: from a file whose end was reached
}

// Chain links the operations of a peer.
func (s *opState) Chain() *queue.Links[opState] { return &s.chain }

// begin makes the record of an operation that did not complete within its post.
func (m *method) begin(r *remote, op *bmi.Op, ph phase) *opState {
	s := m.freeOps
	if s != nil {
		m.freeOps, s.free = s.free, nil
	} else {
		s = &opState{}
	}
	s.op, s.r, s.phase = op, r, ph
	op.Private = s
	r.ops.Add(s)
	return s
}

// finish completes an operation, which must not be in a queue or table any more,
// and frees its record.
func (m *method) finish(s *opState, size int, err error) {
	op := s.op
	op.Private = nil
	s.r.ops.Remove(s)
	*s = opState{free: m.freeOps}
	m.freeOps = s
	if err != nil {
		m.countError(err)
	}
	op.Complete(size, err)
}

// A cursor is a position in the pieces of a message.
type cursor struct {
	piece int // 0 ≤ piece ≤ number of pieces
	off   int // in that piece, in bytes
}

// advance moves the cursor by n bytes.
func (c *cursor) advance(bufs [][]byte, n int) {
	for n > 0 {
		left := len(bufs[c.piece]) - c.off
		if n < left {
			c.off += n
			return
		}
		n -= left
		c.piece, c.off = c.piece+1, 0
	}
}

// scatter copies data to the cursor's position and advances it. There must be
// room.
func (c *cursor) scatter(bufs [][]byte, data []byte) {
	for len(data) > 0 {
		n := copy(bufs[c.piece][c.off:], data)
		data = data[n:]
		if c.off += n; c.off == len(bufs[c.piece]) {
			c.piece, c.off = c.piece+1, 0
		}
	}
}

// appendPieces appends the next n bytes to vec, or fewer if they span more than
// room pieces. It returns how many bytes it appended.
func (c cursor) appendPieces(vec [][]byte, bufs [][]byte, n, room int) ([][]byte, int) {
	total := 0
	for ; room > 0 && n > 0 && c.piece < len(bufs); c.piece, c.off = c.piece+1, 0 {
		b := bufs[c.piece][c.off:]
		if len(b) == 0 {
			continue
		}
		b = b[:min(len(b), n)]
		vec = append(vec, b)
		n -= len(b)
		total += len(b)
		room--
	}
	return vec, total
}
