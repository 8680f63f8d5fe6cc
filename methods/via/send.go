package via

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// PostSend takes over a send. A message that fits one packet and meets no queue
// is on its way when PostSend returns; where the NIC copies, it is done.
func (m *method) PostSend(op *bmi.Op) {
	r := op.Peer.(*remote)
	switch {
	case len(op.Bufs) == 1 && op.Size <= m.directBytes && !fromFile(op) &&
		m.SendNow(r, op.Kind, op.Class, op.Tag, op.Bufs[0], nil):
		op.Complete(op.Size, nil)
	case op.Size <= int(r.oneBytes) && r.sends.Len() == 0 && r.link.MayMessage():
		m.sendNow(r, op)
	default:
		m.sendLater(r, op)
	}
}

// SendNow sends a small message at once, if nothing is in its way and the NIC takes it without
// a descriptor (bmi.QuickSender).
func (m *method) SendNow(to bmi.Peer, kind bmi.Kind, class bmi.Class, tag bmi.Tag, head, body []byte) bool {
	r := to.(*remote)
	size := len(head) + len(body)
	aux := wire.EagerFirst{Length: size, Class: uint8(class)}.Aux()
	if size > int(r.oneBytes) || r.sends.Len() > 0 || !r.link.SendNow(eagerType(kind), uint32(tag), aux, head, body) {
		return false
	}
	r.count.sentEager(kind, size)
	return true
}

// QuickBytes is the size of the largest message that SendNow can take (bmi.QuickSender).
func (m *method) QuickBytes() int { return m.directBytes }

// sendNow sends a message as one packet, which may go now.
func (m *method) sendNow(r *remote, op *bmi.Op) {
	p := m.links.Take()
	lent, err := m.load(p, op, 0, op.Size)
	if err != nil {
		m.links.Give(p)
		m.fileFailed(m.queueSend(r, op), err)
		return
	}
	aux := wire.EagerFirst{Length: op.Size, Class: uint8(op.Class)}.Aux()
	done, ok := r.link.Transmit(p, eagerType(op.Kind), uint32(op.Tag), aux)
	if !ok {
		m.queueSend(r, op)
		return
	}
	r.count.sentEager(op.Kind, op.Size)
	if lent && !done {
		s := m.begin(r, op, phaseSending)
		s.inflight = 1
		p.Lend(s, op.Size)
		return
	}
	op.Complete(op.Size, nil)
}

// sendLater queues a send or refuses it, depending on the state of the connection.
func (m *method) sendLater(r *remote, op *bmi.Op) {
	if r.self {
		m.sendSelf(r, op)
		return
	}
	switch {
	case r.dropped:
		op.Complete(0, r.errorf(bmi.ErrDropped, "send"))
		return
	case m.closing:
		op.Complete(0, r.errorf(bmi.ErrClosed, "send"))
		return
	}
	switch r.fsm.SendPolicy() {
	case peer.PolicyRefuse:
		op.Complete(0, r.errorf(bmi.ErrUnreachable, "the peer has no address of its own and its connection ended"))
	case peer.PolicyQueue:
		m.queueSend(r, op)
		m.step(r, peer.Event{Kind: peer.EventQueued})
	case peer.PolicyNow:
		if credits := r.link.Credits(); !credits.MayMessage() {
			r.count.CreditStalls++
		}
		m.queueSend(r, op)
		m.pump(r)
	}
}

func (m *method) queueSend(r *remote, op *bmi.Op) *opState {
	s := m.begin(r, op, phaseSendQueued)
	r.sends.Add(s, &s.queued)
	return s
}

// pump sends what waits for this peer, as far as credits and the NIC allow.
func (m *method) pump(r *remote) {
	for r.sends.Len() > 0 && r.link.MayMessage() {
		if !m.pushSend(r, r.sends.First()) {
			return
		}
	}
	if r.sends.Len() > 0 {
		r.link.Await()
	}
}

// pushSend sends the next packet of the first queued send. It reports false if
// nothing more can be sent now.
func (m *method) pushSend(r *remote, s *opState) bool {
	if s.op.Size > int(r.eagerBytes) {
		r.sends.Remove(&s.queued)
		if s.op.Kind == bmi.KindSendUnexpected {
			m.finish(s, 0, r.errorf(bmi.ErrTooLarge, "the peer takes unexpected messages of %d bytes", r.eagerBytes))
		} else {
			m.announce(s)
		}
		return true
	}
	n := min(s.op.Size-s.offset, r.link.PacketBytes())
	p := m.links.Take()
	lent, err := m.load(p, s.op, s.offset, n)
	if err != nil {
		m.links.Give(p)
		m.fileFailed(s, err)
		return false
	}
	done, ok := r.link.Transmit(p, eagerType(s.op.Kind), uint32(s.op.Tag), eagerAux(s))
	if !ok {
		return false
	}
	s.offset += n
	if lent && !done {
		s.inFlight()
		s.inflight++
		p.Lend(s, n)
	}
	if s.offset < s.op.Size {
		return true
	}
	r.sends.Remove(&s.queued)
	r.count.sentEager(s.op.Kind, s.op.Size)
	if s.inflight > 0 {
		s.phase = phaseSending
		return true
	}
	m.finish(s, s.op.Size, nil)
	return true
}

// eagerType is the packet type of an eager send.
func eagerType(kind bmi.Kind) matchbits.Type {
	if kind == bmi.KindSendUnexpected {
		return matchbits.TypeUnexpected
	}
	return matchbits.TypeExpected
}

// eagerAux is the aux word of the next packet of an eager send.
func eagerAux(s *opState) uint32 {
	if s.offset > 0 {
		return wire.EagerNext{Offset: s.offset}.Aux()
	}
	return wire.EagerFirst{Length: s.op.Size, Class: uint8(s.op.Class)}.Aux()
}

// Resume goes on with a peer that may take more (link.Consumer).
func (c *consumer) Resume(l *link.Link) {
	m, r := (*method)(c), l.Owner().(*remote)
	m.pump(r)
	switch {
	case len(r.movers) == 0:
	case l.MayData():
		m.resume(r)
	default:
		l.Await()
	}
}

// Finished handles a packet that used an operation's memory (link.Consumer).
func (c *consumer) Finished(op any, bytes int, err error) {
	m, s := (*method)(c), op.(*opState)
	s.inflight--
	switch {
	case s.phase == phaseEnding:
		m.settle(s)
	case err != nil:
		m.packetFailed(s, err)
	case s.phase == phaseLarge:
		m.carryOut(s, s.large.transfer.Moved(bytes))
	case s.phase == phaseSending && s.inflight == 0:
		m.finish(s, s.op.Size, nil)
	}
}

// packetFailed ends the connection because a packet of an operation failed.
func (m *method) packetFailed(s *opState, err error) {
	var file *link.FileError
	if errors.As(err, &file) {
		m.fileFailed(s, file.Err)
	} else {
		s.r.link.Break(err)
	}
}
