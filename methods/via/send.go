package via

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// PostSend takes over a send. A message that fits one packet and meets no queue
// is on its way when PostSend returns; where the NIC copies, it is done.
func (m *method) PostSend(op *bmi.Op) {
	r := op.Peer.(*remote)
	if !r.maySendNow(op.Size) {
		m.sendLater(r, op)
		return
	}
	if len(op.Bufs) == 1 && op.Size <= m.directBytes && !fromFile(op) &&
		m.SendNow(r, op.Kind, op.Class, op.Tag, op.Bufs[0], nil) {
		op.Complete(op.Size, nil)
		return
	}
	m.sendNow(r, op)
}

// SendNow sends a small message at once, if nothing is in its way and the NIC takes it without
// a descriptor (bmi.QuickSender).
func (m *method) SendNow(to bmi.Peer, kind bmi.Kind, class bmi.Class, tag bmi.Tag, head, body []byte) bool {
	r := to.(*remote)
	size := len(head) + len(body)
	if !r.maySendNow(size) {
		return false
	}
	room := r.vi.Claim(wire.HeaderLen + size)
	if room == nil {
		return false
	}
	r.sendSeq++
	wire.Header{
		Bits: matchbits.Make(eagerType(kind), r.credits.TakeSome(), r.theirID, uint32(tag)),
		Seq:  r.sendSeq,
		Aux:  wire.EagerFirst{Length: size, Class: uint8(class)}.Aux(),
	}.Put((*[wire.HeaderLen]byte)(room))
	room = room[wire.HeaderLen:]
	copy(room[copy(room, head):], body)
	r.vi.PublishSend()
	r.credits.Spend()
	r.count.sentEager(kind, size)
	return true
}

// QuickBytes is the size of the largest message that SendNow can take (bmi.QuickSender).
func (m *method) QuickBytes() int { return m.directBytes }

// maySendNow reports whether a message of this size fits into one packet that can be sent at once.
func (r *remote) maySendNow(size int) bool {
	return r.open && size <= r.oneBytes && r.sends.Len() == 0 && r.control.Head() == nil && r.credits.MayMessage()
}

// sendNow sends a message as one packet.
func (m *method) sendNow(r *remote, op *bmi.Op) {
	p := m.takePacket()
	lent, err := m.load(p, op, 0, op.Size)
	if err != nil {
		m.givePacket(p)
		m.fileFailed(m.queueSend(r, op), err)
		return
	}
	aux := wire.EagerFirst{Length: op.Size, Class: uint8(op.Class)}.Aux()
	done, err := m.transmit(r, p, eagerType(op.Kind), uint32(op.Tag), aux)
	switch {
	case err != nil:
		m.givePacket(p)
		m.queueSend(r, op)
		m.retryLater(r, err)
		return
	case done:
		m.givePacket(p)
	case lent:
		s := m.begin(r, op, phaseSending)
		s.inflight = 1
		p.state = s
	}
	r.count.sentEager(op.Kind, op.Size)
	if done || !lent {
		op.Complete(op.Size, nil)
	}
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
		if !r.credits.MayMessage() {
			r.count.CreditStalls++
		}
		m.queueSend(r, op)
		m.pump(r)
	}
}

func (m *method) queueSend(r *remote, op *bmi.Op) *opState {
	s := m.begin(r, op, phaseSendQueued)
	r.sends.Add((*queued)(s))
	return s
}

// pump sends what waits for this peer, control packets first, as far as
// credits and the NIC allow.
func (m *method) pump(r *remote) {
	for r.mayControl(r.control.Head()) {
		p := r.control.Pop()
		if err := m.transmitControl(r, p); err != nil {
			m.retryControl(r, p, err)
			return
		}
	}
	// An RTS may wait among the control packets: no message may overtake it.
	for r.open && r.control.Head() == nil && r.sends.Len() > 0 && r.credits.MayMessage() {
		if !m.pushSend(r, (*opState)(r.sends.First())) {
			return
		}
	}
}

// pushSend sends the next packet of the first queued send. It reports false if
// nothing more can be sent now.
func (m *method) pushSend(r *remote, s *opState) bool {
	if s.op.Size > r.eagerBytes {
		r.sends.Remove((*queued)(s))
		if s.op.Kind == bmi.KindSendUnexpected {
			m.finish(s, 0, r.errorf(bmi.ErrTooLarge, "the peer takes unexpected messages of %d bytes", r.eagerBytes))
		} else {
			m.announce(s)
		}
		return true
	}
	n := min(s.op.Size-s.offset, r.packetBytes)
	p := m.takePacket()
	lent, err := m.load(p, s.op, s.offset, n)
	if err != nil {
		m.givePacket(p)
		m.fileFailed(s, err)
		return false
	}
	done, err := m.transmit(r, p, eagerType(s.op.Kind), uint32(s.op.Tag), eagerAux(s))
	if err != nil {
		m.givePacket(p)
		m.retryLater(r, err)
		return false
	}
	s.offset += n
	switch {
	case done:
		m.givePacket(p)
	case lent:
		s.inFlight()
		s.inflight++
		p.state = s
	}
	if s.offset < s.op.Size {
		return true
	}
	r.sends.Remove((*queued)(s))
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

// transmit gives a packet to the NIC. It writes the header, with returned credits
// and the next sequence number, and spends a credit. If it fails, nothing has
// changed.
func (m *method) transmit(r *remote, p *packet, kind matchbits.Type, tag, aux uint32) (done bool, err error) {
	returned := r.credits.TakeSome()
	wire.Header{
		Bits: matchbits.Make(kind, returned, r.theirID, tag),
		Seq:  r.sendSeq + 1,
		Aux:  aux,
	}.Put((*[wire.HeaderLen]byte)(p.room))
	d := &p.desc
	d.Op, d.Flags, d.Segments, d.Status = nic.OpSend, 0, p.segs, nic.StatusPending
	done, err = r.vi.PostSend(d)
	if err == nil && done {
		err = failedNow(d.Status)
	}
	if err != nil {
		r.credits.PutBack(int(returned))
		return false, err
	}
	r.sendSeq++
	r.credits.Spend()
	if !done {
		m.underWay++
	}
	return done, nil
}

// failedNow is the error of a send that ended within its post.
func failedNow(status nic.Status) error {
	switch status {
	case nic.StatusSuccess:
		return nil
	case nic.StatusFlushed, nic.StatusTransportError, nic.StatusNoDescriptor:
		return nic.ErrNotConnected // an event of the link will follow
	}
	return fmt.Errorf("send ended with status %d", status)
}

// sendControl sends or queues a control packet. Its body follows the header in
// p.room.
func (m *method) sendControl(r *remote, p *packet, kind matchbits.Type, tag, aux uint32) {
	p.kind, p.tag, p.aux = kind, tag, aux
	p.segs = append(p.segs[:0], nic.Segment{Data: p.room, Handle: p.handle})
	if r.control.Head() != nil || !r.mayControl(p) {
		r.control.Push(p)
		return
	}
	if err := m.transmitControl(r, p); err != nil {
		m.retryControl(r, p, err)
	}
}

// mayControl reports whether a control packet may be sent now: after the
// handshake, or as part of it.
func (r *remote) mayControl(p *packet) bool {
	switch {
	case p == nil:
		return false
	case p.kind.Connects():
		return r.link != nil && !r.broken && r.credits.MayCredit()
	}
	return r.open && r.credits.MayControl()
}

// mayMove reports whether a DATA packet may be sent now.
func (r *remote) mayMove() bool {
	return r.open && r.control.Head() == nil && r.credits.MayControl()
}

// transmitControl sends a control packet now. It returns to the pool when the NIC
// has finished with it.
func (m *method) transmitControl(r *remote, p *packet) error {
	done, err := m.transmit(r, p, p.kind, p.tag, p.aux)
	if done {
		m.givePacket(p)
	}
	return err
}

// retryControl puts a control packet that the NIC had no room for back at the head
// of the queue. If the link failed, it discards the packet.
func (m *method) retryControl(r *remote, p *packet, err error) {
	if errors.Is(err, nic.ErrAgain) {
		r.control.PutBack(p)
	} else {
		m.givePacket(p)
	}
	m.retryLater(r, err)
}

// retryLater handles an error of the NIC. If it had no room, a later Poll tries
// again. If the link ended, an event will follow, after all that the peer sent
// before. Any other error means that the link is broken.
func (m *method) retryLater(r *remote, err error) {
	switch {
	case errors.Is(err, nic.ErrAgain):
		m.stall(r)
	case errors.Is(err, nic.ErrNotConnected), errors.Is(err, vipl.ErrInvalidState):
		r.open = false
	default:
		m.linkBroke(r, err)
	}
}

// returnCredits sends the owed credits to a peer in a CREDIT packet.
func (m *method) returnCredits(r *remote) {
	if !r.open || !r.credits.MayCredit() {
		return
	}
	p := m.takePacket()
	p.segs = append(p.segs[:0], nic.Segment{Data: p.room, Handle: p.handle})
	n := r.credits.TakeAll()
	done, err := m.transmit(r, p, matchbits.TypeCredit, 0, wire.Credit{Credits: n}.Aux())
	if err != nil {
		r.credits.PutBack(n)
		m.givePacket(p)
		m.retryLater(r, err)
		return
	}
	r.count.CreditsSent++
	if done {
		m.givePacket(p)
	}
}

// returnWithheld gives the peer the credits that were withheld.
func (m *method) returnWithheld(r *remote) {
	r.credits.Release()
	if r.open && r.credits.MustReturn() {
		m.returnCredits(r)
	}
}

// sent handles a send that the NIC finished after its post.
func (m *method) sent(p *packet) {
	s, n := p.state, p.moves
	status := p.desc.Status
	m.underWay--
	m.givePacket(p)
	if s == nil {
		return
	}
	s.inflight--
	switch {
	case s.phase == phaseEnding:
		m.settle(s)
	case status != nic.StatusSuccess:
		m.linkBroke(s.r, brokenBy("send", status))
	case s.phase == phaseLarge:
		m.carryOut(s, s.large.transfer.Moved(n))
	case s.phase == phaseSending && s.inflight == 0:
		m.finish(s, s.op.Size, nil)
	}
}
