package ops

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/peer"
)

// PostSend takes over a send. A message that fits one packet and meets no queue
// is on its way when PostSend returns; where the NIC copies, it is done.
func (o *Ops) PostSend(op *bmi.Op) {
	r := op.Peer.(*Peer)
	switch {
	case len(op.Bufs) == 1 && op.Size <= o.nowBytes && !fromFile(op) &&
		o.SendNow(r, op.Kind, op.Class, op.Tag, op.Bufs[0], nil):
		op.Complete(op.Size, nil)
	case op.Size <= int(r.oneBytes) && r.sends.Len() == 0 && r.Link.MayMessage():
		o.sendOne(r, op)
	default:
		o.sendLater(r, op)
	}
}

// PostSendFile takes over a send of bytes of a file (bmi.FileSender). A small message is read into
// its packet. A large one is written by RDMA from the file. The receiver cannot read it by RDMA,
// because it is not in memory here.
func (o *Ops) PostSendFile(op *bmi.Op) { o.PostSend(op) }

// SendNow sends a small message at once, if nothing is in its way and the NIC takes it without
// a descriptor (bmi.NowSender).
func (o *Ops) SendNow(to bmi.Peer, kind bmi.Kind, class bmi.Class, tag bmi.Tag, head, body []byte) bool {
	r := to.(*Peer)
	size := len(head) + len(body)
	aux := wire.EagerFirst{Length: size, Class: uint8(class)}.Aux()
	if size > int(r.oneBytes) || r.sends.Len() > 0 || !r.Link.SendNow(eagerType(kind), uint32(tag), aux, head, body) {
		return false
	}
	r.sentEager(kind, size)
	return true
}

// NowBytes is the size of the largest message that SendNow can take (bmi.NowSender).
func (o *Ops) NowBytes() int { return o.nowBytes }

// sendOne sends a message as one packet, which may go now.
func (o *Ops) sendOne(r *Peer, op *bmi.Op) {
	p := o.links.Take()
	lent, err := o.load(p, op, 0, op.Size)
	if err != nil {
		o.links.Give(p)
		fileFailed(o.queueSend(r, op), err)
		return
	}
	aux := wire.EagerFirst{Length: op.Size, Class: uint8(op.Class)}.Aux()
	done, ok := r.Link.Transmit(p, eagerType(op.Kind), uint32(op.Tag), aux)
	if !ok {
		o.queueSend(r, op)
		return
	}
	r.sentEager(op.Kind, op.Size)
	if lent && !done {
		s := o.begin(r, op, phaseSending)
		s.inflight = 1
		p.Lend(s, op.Size)
		return
	}
	op.Complete(op.Size, nil)
}

// sendLater queues a send or refuses it, depending on the state of the connection.
func (o *Ops) sendLater(r *Peer, op *bmi.Op) {
	if err := o.SendRefusal(&r.Peer); err != nil {
		op.Complete(0, err)
		return
	}
	switch {
	case r.Self():
		o.sendSelf(r, op)
	case r.Ready():
		if credits := r.Link.Credits(); !credits.MayMessage() {
			r.Traffic.CreditStalls++
		}
		o.queueSend(r, op)
		o.pump(r)
	default:
		o.queueSend(r, op)
		o.Step(&r.Peer, peer.Event{Kind: peer.EventQueued})
	}
}

func (o *Ops) queueSend(r *Peer, op *bmi.Op) *opState {
	s := o.begin(r, op, phaseSendQueued)
	r.sends.Add(s, &s.queued)
	return s
}

// pump sends what waits for this peer, as far as credits and the NIC allow.
func (o *Ops) pump(r *Peer) {
	for r.sends.Len() > 0 && r.Link.MayMessage() {
		if !o.pushSend(r, r.sends.First()) {
			return
		}
	}
	if r.sends.Len() > 0 {
		r.Link.Await()
	}
}

// pushSend sends the next packet of the first queued send. It reports false if
// nothing more can be sent now.
func (o *Ops) pushSend(r *Peer, s *opState) bool {
	if s.op.Size > int(r.eagerBytes) {
		r.sends.Remove(&s.queued)
		if s.op.Kind == bmi.KindSendUnexpected {
			o.finish(s, 0, r.Errorf(bmi.ErrTooLarge, "the peer takes unexpected messages of %d bytes", r.eagerBytes))
		} else {
			o.announce(s)
		}
		return true
	}
	n := min(s.op.Size-s.offset, r.Link.PacketBytes())
	p := o.links.Take()
	lent, err := o.load(p, s.op, s.offset, n)
	if err != nil {
		o.links.Give(p)
		fileFailed(s, err)
		return false
	}
	done, ok := r.Link.Transmit(p, eagerType(s.op.Kind), uint32(s.op.Tag), eagerAux(s))
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
	r.sentEager(s.op.Kind, s.op.Size)
	if s.inflight > 0 {
		s.phase = phaseSending
		return true
	}
	o.finish(s, s.op.Size, nil)
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
