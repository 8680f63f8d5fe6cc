package via

import (
	"fmt"
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/bulk"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// announce sends the RTS of a large send, with its memory open for reading if
// the NIC of the peer may read it.
func (m *method) announce(s *opState) {
	r := s.r
	l := m.beginLarge(s)
	l.transfer.Announce(s.op.Size)
	s.phase = phaseLarge
	s.inFlight()
	m.rts = wire.RTS{Op: l.id, Size: uint64(s.op.Size), Pieces: m.rts.Pieces[:0]}
	if r.link.Reads() && !fromFile(s.op) && m.open(s, link.Readable, m.rts.Len()) {
		m.rts.Pieces = l.memory.Pieces(m.rts.Pieces, 0)
	}
	p := m.links.Take()
	p.Body = m.rts.Append(p.Body)
	r.link.SendControl(p, matchbits.TypeRTS, uint32(s.op.Tag), 0)
}

// rtsArrived matches the announcement of a large message.
func (m *method) rtsArrived(r *remote, h wire.Header, body []byte) error {
	if err := m.rts.Parse(body); err != nil {
		return fmt.Errorf("RTS: %w", err)
	}
	if m.rts.Size > ExpectedBytesMax {
		return fmt.Errorf("RTS for %d bytes, the limit is %d: %w", m.rts.Size, ExpectedBytesMax, wire.ErrInvalid)
	}
	if op := m.inbox.Claim(&r.inbox, h.Bits.Tag()); op != nil {
		m.startLarge(r, op, &m.rts)
		return nil
	}
	// The message stays with the peer. Only the copy of the announcement is charged, which
	// takes about as much memory as the packet.
	rts := &wire.RTS{Op: m.rts.Op, Size: m.rts.Size, Pieces: slices.Clone(m.rts.Pieces)}
	m.inbox.Announce(&r.inbox, h.Bits.Tag(), int(rts.Size), rts, rts.Len())
	return nil
}

// startLarge begins to receive a large message whose receive is known.
func (m *method) startLarge(r *remote, op *bmi.Op, rts *wire.RTS) {
	size := int(rts.Size)
	if size > op.Size {
		m.sendFin(r, rts.Op, wire.FinTruncated)
		op.Complete(size, m.inbox.Truncated(&r.inbox, size, op.Size))
		return
	}
	s := m.begin(r, op, phaseLarge)
	l := m.beginLarge(s)
	l.theirs = rts.Op
	mine := 0
	if len(rts.Pieces) > 0 && r.link.Reads() {
		mine = m.divide(s, size)
		l.remote = append(l.remote[:0], rts.Pieces...)
	}
	m.carryOut(s, l.transfer.Accept(size, mine))
}

// divide decides how much of a message the receiver reads itself. If both processes
// copy at once, a message takes half the time. For a small one that is not worth
// the second handshake.
func (m *method) divide(s *opState, size int) int {
	half := size / 2 &^ 63 // no cache line is written by both
	if size < m.splitBytes || half == 0 || !s.r.link.Writes() || !m.open(s, link.Writable, (&wire.CTS{}).Len()) {
		return size
	}
	return half
}

// carryOut does what the transfer of an operation asks for.
func (m *method) carryOut(s *opState, act bulk.Actions) {
	if act&bulk.SendCTS != 0 {
		m.sendCTS(s)
	}
	if act&bulk.Move != 0 {
		m.move(s)
		return // what follows is carried out when the part is moved
	}
	if act&bulk.SendFin != 0 {
		m.sendFin(s.r, s.large.theirs, wire.FinMoved)
	}
	if act&bulk.End != 0 {
		size := s.large.transfer.Size()
		if s.op.Kind == bmi.KindRecv {
			s.r.count.receivedLarge(size)
		} else {
			s.r.count.sentLarge(size)
		}
		s.phase = phaseEnding
		m.settle(s)
	}
}

// sendCTS asks the sender for the part of a message that this side does not read.
func (m *method) sendCTS(s *opState) {
	l := s.large
	from, size := l.transfer.Mine(), l.transfer.Size()
	m.cts = wire.CTS{
		SendOp: l.theirs, RecvOp: l.id,
		From: uint64(from), Size: uint64(size),
		Pieces: m.cts.Pieces[:0],
	}
	if from == 0 && s.r.link.Writes() {
		m.open(s, link.Writable, (&wire.CTS{}).Len())
	}
	m.cts.Pieces = trim(l.memory.Pieces(m.cts.Pieces, from), size-from)
	if len(m.cts.Pieces) > 0 {
		l.transfer.Opened()
	}
	p := m.links.Take()
	p.Body = m.cts.Append(p.Body)
	s.r.link.SendControl(p, matchbits.TypeCTS, 0, 0)
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

// ctsArrived begins to send the part of a large message that the receiver asks for.
func (m *method) ctsArrived(r *remote, body []byte) error {
	if err := m.cts.Parse(body); err != nil {
		return fmt.Errorf("CTS: %w", err)
	}
	s := m.movers.find(r, m.cts.SendOp)
	if s == nil {
		return fmt.Errorf("CTS for operation %#x: %w", m.cts.SendOp, wire.ErrInvalid)
	}
	rdma := len(m.cts.Pieces) > 0
	if rdma && !r.link.Writes() {
		return fmt.Errorf("CTS asks for RDMA that was not offered: %w", wire.ErrInvalid)
	}
	act, err := s.large.transfer.Ask(int(m.cts.Size), int(m.cts.From), rdma)
	if err != nil {
		return err
	}
	if act&bulk.Move != 0 {
		s.large.theirs = m.cts.RecvOp
		s.large.remote = append(s.large.remote[:0], m.cts.Pieces...)
	}
	m.carryOut(s, act)
	return nil
}

// dataArrived takes a DATA packet.
func (m *method) dataArrived(r *remote, body []byte) error {
	d, payload, err := wire.ParseData(body)
	if err != nil {
		return fmt.Errorf("DATA: %w", err)
	}
	s := m.movers.find(r, d.RecvOp)
	if s == nil {
		return fmt.Errorf("DATA for operation %#x: %w", d.RecvOp, wire.ErrInvalid)
	}
	take, err := s.large.transfer.Arrive(int(d.Offset), len(payload))
	if take {
		at := pieces.At(s.op.Bufs, int(d.Offset))
		at.Scatter(s.op.Bufs, payload)
	}
	return err
}

// sendFin tells the peer that this side has finished its part of the peer's operation.
func (m *method) sendFin(r *remote, op uint64, status wire.FinStatus) {
	p := m.links.Take()
	p.Body = wire.Fin{Op: op, Status: status}.Append(p.Body)
	r.link.SendControl(p, matchbits.TypeFin, 0, 0)
}

// finArrived notes that the peer moved its part.
func (m *method) finArrived(r *remote, body []byte) error {
	f, err := wire.ParseFin(body)
	if err != nil {
		return fmt.Errorf("FIN: %w", err)
	}
	s := m.movers.find(r, f.Op)
	if s == nil {
		return fmt.Errorf("FIN for operation %#x: %w", f.Op, wire.ErrInvalid)
	}
	act, err := s.large.transfer.Finish(f.Status == wire.FinMoved)
	if err != nil {
		return err
	}
	m.carryOut(s, act)
	return nil
}
