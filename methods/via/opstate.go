package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/methods/inbox"
)

// phase says where an operation that did not complete immediately is.
type phase uint8

const (
	// phaseSendQueued: in remote.sends, waiting for READY, a credit or room.
	phaseSendQueued phase = iota + 1
	// phaseSending: every packet was given to the NIC, which has not finished.
	phaseSending
	// phasePostponed: a receive that was posted in DISCONNECT, and waits for INIT.
	phasePostponed
	// phaseLarge: a large message; its transfer knows more.
	phaseLarge
	// phaseLocal: a send of the endpoint to itself, announced to its inbox.
	phaseLocal
	// phaseEnding: it completes, with err if that is not nil, as soon as neither
	// the NIC nor the peer uses its memory.
	phaseEnding
)

// opState is the method's record of an operation from its post to its completion,
// if it did not complete immediately and is not in the inbox. Afterwards it goes to
// method.freeOps.
type opState struct {
	op    *bmi.Op
	r     *remote
	phase phase
	err   error // why the operation failed, in phaseEnding

	all    queue.Links[opState] // remote.ops
	queued queue.Links[opState] // remote.sends
	free   *opState             // method.freeOps

	// counted: the operation holds a reference of the peer machine. One that
	// only waits in a queue does not, or DISCONNECT would wait for it while it
	// waits for the next connection.
	counted bool

	// offset is how much of an eager send was given to the NIC, or how much
	// of a message has arrived; 0 ≤ offset ≤ its size.
	offset int
	// inflight counts descriptors that the NIC still has and that use the
	// memory of the operation.
	inflight int

	large *large         // phaseLarge, and phaseEnding after it
	local *inbox.Message // phaseLocal
}

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
	r.ops.Add(s, &s.all)
	if ph != phaseSendQueued && ph != phasePostponed {
		s.inFlight()
	}
	return s
}

// inFlight notes that the operation has left its queue. From now on its connection
// does not end before it.
func (s *opState) inFlight() {
	if !s.counted {
		s.counted = true
		s.r.fsm.Acquire()
	}
}

// finish completes an operation and frees its record. Neither the NIC nor the peer
// may still use its memory.
func (m *method) finish(s *opState, size int, err error) {
	op, r := s.op, s.r
	if s.large != nil {
		m.endLarge(s)
	}
	counted := s.counted
	m.giveState(s)
	if err != nil {
		m.countError(err)
	}
	op.Complete(size, err)
	if counted && r.fsm.Release() {
		m.drained(r)
	}
}

// giveState frees the record of an operation.
func (m *method) giveState(s *opState) {
	s.op.Private = nil
	s.r.ops.Remove(&s.all)
	*s = opState{free: m.freeOps}
	m.freeOps = s
}
