package ops

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// begin makes the record of an operation that did not complete within its post.
func (o *Ops) begin(r *Peer, op *bmi.Op, ph phase) *opState {
	s := o.freeOps
	if s != nil {
		o.freeOps, s.free = s.free, nil
	} else {
		s = &opState{}
	}
	s.op, s.r, s.phase = op, r, ph
	op.Private = s
	r.all.Add(s, &s.all)
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
		s.r.Acquire()
	}
}

// enlarge gives an operation its large part.
func (o *Ops) enlarge(s *opState) *large {
	var l *large
	if last := len(o.freeLarges) - 1; last >= 0 {
		l, o.freeLarges = o.freeLarges[last], o.freeLarges[:last]
	} else {
		l = new(large)
	}
	l.id = o.larges.add(s)
	s.large, s.phase = l, phaseLarge
	s.inFlight()
	return l
}

// finish completes an operation and frees its record. Neither the NIC nor the peer
// may still use its memory.
func (o *Ops) finish(s *opState, size int, err error) {
	op, r, counted := s.op, s.r, s.counted
	if l := s.large; l != nil {
		o.larges.remove(l.id)
		*l = large{remote: l.remote[:0], memory: l.memory}
		o.freeLarges = append(o.freeLarges, l)
	}
	o.give(s)
	// Errors of a connection are counted once, when it ends, and those of receives by the inbox.
	if err != nil && errors.Is(err, bmi.ErrCancelled) {
		o.Errors.Cancelled++
	}
	op.Complete(size, err)
	if counted {
		o.Release(&r.Peer)
	}
}

// give frees the record of an operation.
func (o *Ops) give(s *opState) {
	s.op.Private = nil
	s.r.all.Remove(&s.all)
	*s = opState{free: o.freeOps}
	o.freeOps = s
}

// sentEager counts an eager message.
func (r *Peer) sentEager(kind bmi.Kind, size int) {
	t := &r.Traffic
	t.MessagesSent++
	t.BytesSent += uint64(size)
	t.EagerSent++
	if kind == bmi.KindSendUnexpected {
		t.UnexpectedSent++
	}
}

// moved counts a large message.
func (r *Peer) moved(kind bmi.Kind, size int) {
	t := &r.Traffic
	if kind == bmi.KindRecv {
		t.MessagesReceived++
		t.BytesReceived += uint64(size)
		t.RendezvousReceived++
	} else {
		t.MessagesSent++
		t.BytesSent += uint64(size)
		t.RendezvousSent++
	}
}
