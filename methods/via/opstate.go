package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// phase says where an operation that did not complete immediately is.
type phase uint8

const (
	// phaseSendQueued: in remote.sends, waiting for READY, a credit or room.
	phaseSendQueued phase = iota + 1
	// phaseSending: every packet was given to the NIC, which has not finished.
	phaseSending
	// phaseAnnounced: a large send whose RTS went out, or is about to.
	phaseAnnounced
	// phaseRecvQueued: in remote.recvs, waiting for INIT after DISCONNECT.
	phaseRecvQueued
	// phasePosted: in the match table.
	phasePosted
	// phaseAssembling: matched an eager message that is still arriving.
	phaseAssembling
	// phaseMoving: a large message, matched and on its way.
	phaseMoving
	// phaseLocal: a send of the endpoint to itself that waits for its receive.
	phaseLocal
	// phaseFailing: over, but for memory that the NIC or the peer still uses.
	// It completes with err once neither does.
	phaseFailing
)

// opState is the method's record of an operation from its post to its completion,
// if it did not complete immediately. Afterwards it goes to method.freeOps.
type opState struct {
	op    *bmi.Op
	r     *remote
	phase phase
	err   error // why the operation ends, in phaseFailing

	// prev and next link the operations of one remote, in post order.
	prev, next *opState
	// queued links remote.sends or remote.recvs.
	queued queue.Links[opState]

	ref matchbits.Ref // phasePosted

	// counted: the operation holds a reference of the peer machine. What only
	// waits in a queue holds none, or DISCONNECT would wait for it and it for
	// the next connection.
	counted bool

	// offset is how much of an eager send was given to the NIC, or how much
	// of a message has arrived; 0 ≤ offset ≤ its size.
	offset int
	// inflight counts descriptors that the NIC still has and that use the
	// memory of the operation.
	inflight int

	large *large // phaseAnnounced and phaseMoving
	local *early // phaseLocal
}

// opList is a doubly linked list of the operations of one remote.
type opList struct {
	first, last *opState
	len         int
}

func (l *opList) add(s *opState) {
	s.prev, s.next = l.last, nil
	if l.last != nil {
		l.last.next = s
	} else {
		l.first = s
	}
	l.last = s
	l.len++
}

func (l *opList) remove(s *opState) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		l.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		l.last = s.prev
	}
	s.prev, s.next = nil, nil
	l.len--
}

// opQueue is a queue of operations, which a cancelled one leaves from anywhere at
// once; an operation waits in one at most.
type opQueue = queue.List[opState, *opState]

// Chain implements queue.Chained.
func (s *opState) Chain() *queue.Links[opState] { return &s.queued }

// begin makes the record of an operation that stays with the method.
func (m *method) begin(r *remote, op *bmi.Op, ph phase) *opState {
	s := m.freeOps
	if s != nil {
		m.freeOps = s.next
		s.next = nil
	} else {
		s = &opState{}
	}
	s.op, s.r, s.phase = op, r, ph
	op.Private = s
	r.ops.add(s)
	if ph != phaseSendQueued && ph != phaseRecvQueued {
		s.inFlight()
	}
	return s
}

// inFlight notes that the operation has left its queue: its connection does not
// end before it does.
func (s *opState) inFlight() {
	if !s.counted {
		s.counted = true
		s.r.fsm.Acquire()
	}
}

// finish completes an operation and puts its record back. Nothing of the NIC
// or of the peer may use its memory any more.
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

// giveState puts the record of an operation back.
func (m *method) giveState(s *opState) {
	s.op.Private = nil
	s.r.ops.remove(s)
	*s = opState{next: m.freeOps}
	m.freeOps = s
}
