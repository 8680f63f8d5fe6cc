package tcp

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
)

// zeros replace the bytes that a file does not have.
var zeros [readBytes]byte

// PostSendFile takes over a send whose bytes are in a file (bmi.FileSender). They go from
// the file into the stream, in order with other sends, and in the same call as the header.
func (m *method) PostSendFile(op *bmi.Op) {
	r := op.Peer.(*remote)
	if err := m.unsendable(r); err != nil {
		op.Complete(0, err)
		return
	}
	now := m.atOnce(r.c)
	m.sendLater(r, op)
	if now {
		r.c.round = m.round
		m.flush(r.c)
	}
}

// sendFile gives the stream the bytes before a send, and the next bytes of its file. Once it
// reaches the end of the file it remembers that: the rest of the message is zeros, even if the file
// grows again.
func (m *method) sendFile(c *conn, vec [][]byte, s *outgoing) (int, error) {
	front := 0
	for _, b := range vec {
		front += len(b)
	}
	at := max(s.sent-wire.HeaderLen, 0)
	n, err := m.files.SendFile(c.stream, vec, s.op.File.Part(at, min(s.op.Size-at, moveBytes)))
	s.ended = err == nil && n == front
	return n, err
}

// appendZeros appends pieces of zeros, n bytes or fewer, to vec.
func (m *method) appendZeros(vec [][]byte, n int) [][]byte {
	for ; n > 0 && len(vec) < stack.PiecesMax; n -= min(n, len(zeros)) {
		vec = append(vec, zeros[:min(n, len(zeros))])
	}
	return vec
}

// unread ends a connection on which the file of a partly sent message cannot be read: the
// other side must not take other bytes for the rest of the message.
func (m *method) unread(c *conn, cause error) {
	m.errors.PeerFailed++
	m.warn("connection closed: a file to send from cannot be read", "peer", c.r.name, "cause", cause)
	m.end(c, c.r.errorf(bmi.ErrPeerFailed, "connection closed: cannot send from a file: %w", cause))
}
