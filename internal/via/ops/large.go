package ops

import (
	"fmt"
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/internal/via/bulk"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// announce sends the RTS of a large send, with its memory open for reading if
// the NIC of the peer may read it.
func (o *Ops) announce(s *opState) {
	r := s.r
	l := o.enlarge(s)
	l.transfer.Announce(s.op.Size)
	o.rts = wire.RTS{Op: l.id, Size: uint64(s.op.Size), Pieces: o.rts.Pieces[:0]}
	if r.Link.Reads() && !fromFile(s.op) && s.open(link.Readable, o.rts.Len()) {
		o.rts.Pieces = l.memory.Pieces(o.rts.Pieces, 0)
	}
	p := o.links.Take()
	p.Body = o.rts.Append(p.Body)
	r.Link.SendControl(p, matchbits.TypeRTS, uint32(s.op.Tag), 0)
}

// rtsArrived matches the announcement of a large message.
func (o *Ops) rtsArrived(r *Peer, h wire.Header, body []byte) error {
	if err := o.rts.Parse(body); err != nil {
		return fmt.Errorf("RTS: %w", err)
	}
	if o.rts.Size > ExpectedBytesMax {
		return fmt.Errorf("RTS for %d bytes, the limit is %d: %w", o.rts.Size, ExpectedBytesMax, wire.ErrInvalid)
	}
	if op := o.inbox.Claim(&r.inbox, h.Bits.Tag()); op != nil {
		o.startLarge(r, op, &o.rts)
		return nil
	}
	// The message stays with the peer. Only the copy of the announcement is charged, which
	// takes about as much memory as the packet.
	rts := &wire.RTS{Op: o.rts.Op, Size: o.rts.Size, Pieces: slices.Clone(o.rts.Pieces)}
	o.inbox.Announce(&r.inbox, h.Bits.Tag(), int(rts.Size), rts, rts.Len())
	return nil
}

// startLarge begins to receive a large message whose receive is known.
func (o *Ops) startLarge(r *Peer, op *bmi.Op, rts *wire.RTS) {
	size := int(rts.Size)
	if size > op.Size {
		o.sendFin(r, rts.Op, wire.FinTruncated)
		o.inbox.Truncate(&r.inbox, op, size)
		return
	}
	s := o.begin(r, op, phaseLarge)
	l := o.enlarge(s)
	l.theirs = rts.Op
	mine := 0
	if len(rts.Pieces) > 0 && r.Link.Reads() {
		if l.choice = o.choose(s, size); l.choice.way == bulk.ByRDMA {
			mine = o.divide(s, size)
			l.remote = append(l.remote[:0], rts.Pieces...)
		}
	}
	o.carryOut(s, l.transfer.Accept(size, mine))
}

// divide decides how much of a message the receiver reads itself. If both processes
// copy at once, a message takes half the time. For a small one that is not worth
// the second handshake.
func (o *Ops) divide(s *opState, size int) int {
	half := size / 2 &^ 63 // no cache line is written by both
	if size < o.splitBytes || half == 0 || !s.r.Link.Writes() || !s.open(link.Writable, (&wire.CTS{}).Len()) {
		return size
	}
	return half
}

// carryOut does what the transfer of an operation asks for. The operation may be complete
// afterwards.
func (o *Ops) carryOut(s *opState, act bulk.Actions) {
	if act&bulk.SendCTS != 0 {
		o.sendCTS(s)
	}
	if act&bulk.Move != 0 {
		act = o.move(s)
	}
	if act&bulk.SendFin != 0 {
		o.sendFin(s.r, s.large.theirs, wire.FinMoved)
	}
	if act&bulk.End != 0 {
		s.r.moved(s.op.Kind, s.large.transfer.Size())
		o.learn(s)
		s.phase = phaseEnding
		o.settle(s)
	}
}

// moveAll goes on with the large messages of the earlier Polls.
func (o *Ops) moveAll() (did bool) {
	o.moving.Each(func(s *opState) {
		s.large.waiting = false
		if s.phase == phaseEnding {
			o.settle(s)
			return
		}
		before := o.budget
		o.carryOut(s, bulk.Move)
		did = did || o.budget != before
	})
	return did
}

// resume lets the moves go on that waited for a credit of a peer, or for its
// control packets to go first.
func (o *Ops) resume(r *Peer) {
	o.moving.Add(r.movers...)
	clear(r.movers)
	r.movers = r.movers[:0]
}

// sendCTS asks the sender for the part of a message that this side does not read.
func (o *Ops) sendCTS(s *opState) {
	l := s.large
	from, size := l.transfer.Mine(), l.transfer.Size()
	o.cts = wire.CTS{
		SendOp: l.theirs, RecvOp: l.id,
		From: uint64(from), Size: uint64(size),
		Pieces: o.cts.Pieces[:0],
	}
	if from == 0 && l.choice.way == bulk.ByRDMA && s.r.Link.Writes() {
		s.open(link.Writable, (&wire.CTS{}).Len())
	}
	o.cts.Pieces = trim(l.memory.Pieces(o.cts.Pieces, from), size-from)
	if len(o.cts.Pieces) > 0 {
		l.transfer.Opened()
	}
	p := o.links.Take()
	p.Body = o.cts.Append(p.Body)
	s.r.Link.SendControl(p, matchbits.TypeCTS, 0, 0)
}

// trim shortens a list of pieces to total bytes, because a receive may be longer
// than its message.
func trim(pieces []wire.Piece, total int) []wire.Piece {
	for i := range pieces {
		if pieces[i].Len >= uint64(total) {
			pieces[i].Len = uint64(total)
			return pieces[:i+1]
		}
		total -= int(pieces[i].Len)
	}
	return pieces
}

// find is the large operation with a peer that a packet means.
func (o *Ops) find(r *Peer, packet string, number uint64) (*opState, error) {
	s, ok := o.larges.find(number)
	if !ok || s.r != r {
		return nil, fmt.Errorf("%s for operation %#x: %w", packet, number, wire.ErrInvalid)
	}
	return s, nil
}

// ctsArrived begins to send the part of a large message that the receiver asks for.
func (o *Ops) ctsArrived(r *Peer, body []byte) error {
	if err := o.cts.Parse(body); err != nil {
		return fmt.Errorf("CTS: %w", err)
	}
	s, err := o.find(r, "CTS", o.cts.SendOp)
	if err != nil {
		return err
	}
	rdma := len(o.cts.Pieces) > 0
	if rdma && !r.Link.Writes() {
		return fmt.Errorf("CTS asks for RDMA that was not offered: %w", wire.ErrInvalid)
	}
	act, err := s.large.transfer.Ask(int(o.cts.Size), int(o.cts.From), rdma)
	if err != nil {
		return err
	}
	if act&bulk.Move != 0 {
		s.large.theirs = o.cts.RecvOp
		s.large.remote = append(s.large.remote[:0], o.cts.Pieces...)
	}
	o.carryOut(s, act)
	return nil
}

// dataArrived takes a DATA packet.
func (o *Ops) dataArrived(r *Peer, body []byte) error {
	d, payload, err := wire.ParseData(body)
	if err != nil {
		return fmt.Errorf("DATA: %w", err)
	}
	s, err := o.find(r, "DATA", d.RecvOp)
	if err != nil {
		return err
	}
	take, err := s.large.transfer.Arrive(int(d.Offset), len(payload))
	if take {
		at := pieces.At(s.op.Bufs, int(d.Offset))
		at.Scatter(s.op.Bufs, payload)
	}
	return err
}

// sendFin tells the peer that this side has finished its part of the peer's operation.
func (o *Ops) sendFin(r *Peer, op uint64, status wire.FinStatus) {
	p := o.links.Take()
	p.Body = wire.Fin{Op: op, Status: status}.Append(p.Body)
	r.Link.SendControl(p, matchbits.TypeFin, 0, 0)
}

// finArrived notes that the peer moved its part.
func (o *Ops) finArrived(r *Peer, body []byte) error {
	f, err := wire.ParseFin(body)
	if err != nil {
		return fmt.Errorf("FIN: %w", err)
	}
	s, err := o.find(r, "FIN", f.Op)
	if err != nil {
		return err
	}
	act, err := s.large.transfer.Finish(f.Status == wire.FinMoved)
	if err != nil {
		return err
	}
	o.carryOut(s, act)
	return nil
}
