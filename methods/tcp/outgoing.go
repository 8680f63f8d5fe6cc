package tcp

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// outgoing is a send that did not complete within its post. It is the Private of its
// operation, and waits in remote.sends for a connection, for room in the stream, or for
// earlier sends.
type outgoing struct {
	op    *bmi.Op
	r     *remote
	sent  int           // bytes of header and message that the stream took
	at    pieces.Cursor // the position in the message
	ended bool          // the end of the file was reached
	links queue.Links[outgoing]
	free  *outgoing // method.freeSends
}

// queueSend queues a send behind those that wait.
func (m *method) queueSend(r *remote, op *bmi.Op) *outgoing {
	s := m.freeSends
	if s != nil {
		m.freeSends, s.free = s.free, nil
	} else {
		s = &outgoing{}
	}
	s.op, s.r = op, r
	op.Private = s
	r.sends.Add(s, &s.links)
	return s
}

// finishSend takes a send from its queue and completes it.
func (m *method) finishSend(s *outgoing, size int, err error) {
	op := s.op
	op.Private = nil
	s.r.sends.Remove(&s.links)
	*s = outgoing{free: m.freeSends}
	m.freeSends = s
	op.Complete(size, err)
}

// failSends completes all sends to a peer.
func (m *method) failSends(r *remote, err error) {
	for s := r.sends.First(); s != nil; s = r.sends.First() {
		m.finishSend(s, 0, err)
	}
}
