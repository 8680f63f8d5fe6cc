package via

import (
	"fmt"
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// announce sends the RTS of a large send, with its memory open for reading if
// the NIC of the peer may read it.
func (m *method) announce(s *opState) {
	r := s.r
	l := m.beginLarge(s, s.op.Size)
	s.phase = phaseAnnounced
	s.inFlight()
	m.rts = wire.RTS{Op: l.id, Size: uint64(l.size), Pieces: m.rts.Pieces[:0]}
	if r.link.reads && !fromFile(s.op) && m.open(s, nic.AccessRemoteRead, m.rts.Len()) {
		m.rts.Pieces = l.pieces(m.rts.Pieces, 0)
	}
	p := m.takePacket()
	p.room = m.rts.Append(p.room)
	m.sendControl(r, p, matchbits.TypeRTS, uint32(s.op.Tag), 0)
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
	s := m.begin(r, op, phaseMoving)
	l := m.beginLarge(s, size)
	l.theirs, l.result = rts.Op, size
	from := 0
	if len(rts.Pieces) > 0 && r.link.reads {
		l.mode = modeRead
		from = m.divide(s, size)
		l.end = from
		l.remote = append(l.remote[:0], rts.Pieces...)
	}
	l.finSent = l.mode == modeNone
	l.peerDone = from == size // the receiver moves all of it
	if !l.peerDone {
		m.sendCTS(s, from)
	}
	m.move(s)
}

// divide decides where the sender's part of a message begins. If both processes
// copy at once, a message takes half the time. For a small one that is not worth
// the second handshake.
func (m *method) divide(s *opState, size int) int {
	half := size / 2 &^ 63 // no cache line is written by both
	if size < m.splitBytes || half == 0 || !s.r.link.writes || !m.open(s, nic.AccessRemoteWrite, (&wire.CTS{}).Len()) {
		return size
	}
	return half
}

// sendCTS asks the sender to move [from, size).
func (m *method) sendCTS(s *opState, from int) {
	l := s.large
	m.cts = wire.CTS{
		SendOp: l.theirs, RecvOp: l.id,
		From: uint64(from), Size: uint64(l.size),
		Pieces: m.cts.Pieces[:0],
	}
	if l.mode == modeNone && s.r.link.writes {
		m.open(s, nic.AccessRemoteWrite, (&wire.CTS{}).Len())
	}
	m.cts.Pieces = trim(l.pieces(m.cts.Pieces, from), l.size-from)
	p := m.takePacket()
	p.room = m.cts.Append(p.room)
	m.sendControl(s.r, p, matchbits.TypeCTS, 0, 0)
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
	if s.phase == phaseFailing {
		return nil
	}
	l := s.large
	if s.phase != phaseAnnounced || int(m.cts.Size) != l.size || int(m.cts.From) >= l.size {
		return fmt.Errorf("CTS %v: %w", &m.cts, wire.ErrInvalid)
	}
	s.phase = phaseMoving
	l.theirs, l.result = m.cts.RecvOp, l.size
	l.begin, l.next, l.end = int(m.cts.From), int(m.cts.From), l.size
	l.peerDone = l.peerDone || l.begin == 0
	l.mode = modeData
	if len(m.cts.Pieces) > 0 {
		if !r.link.writes {
			return fmt.Errorf("CTS asks for RDMA that was not offered: %w", wire.ErrInvalid)
		}
		l.mode = modeWrite
		l.remote = append(l.remote[:0], m.cts.Pieces...)
		l.remoteBase = l.begin
	}
	m.move(s)
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
	if s.phase == phaseFailing {
		return nil
	}
	l := s.large
	if s.phase != phaseMoving || l.mode != modeNone || int(d.Offset) != l.arrived || len(payload) > l.size-l.arrived {
		return fmt.Errorf("%v with %d bytes: %w", d, len(payload), wire.ErrInvalid)
	}
	at := pieces.At(s.op.Bufs, l.arrived)
	at.Scatter(s.op.Bufs, payload)
	l.arrived += len(payload)
	return nil
}

// sendFin tells the peer that this side has finished its part of the peer's operation.
func (m *method) sendFin(r *remote, op uint64, status wire.FinStatus) {
	p := m.takePacket()
	p.room = wire.Fin{Op: op, Status: status}.Append(p.room)
	m.sendControl(r, p, matchbits.TypeFin, 0, 0)
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
	l := s.large
	switch {
	case s.phase == phaseFailing:
		return nil
	case s.phase == phaseAnnounced:
		// The receiver took the whole message, or could not.
		r.count.sentLarge(l.size)
		l.result = l.size
		m.endMove(s, nil)
		return nil
	case l.peerDone || f.Status != wire.FinMoved:
		return fmt.Errorf("%v out of turn: %w", f, wire.ErrInvalid)
	case l.mode == modeNone && !l.opened && l.arrived != l.size:
		return fmt.Errorf("%v after %d of %d bytes: %w", f, l.arrived, l.size, wire.ErrInvalid)
	}
	l.peerDone = true
	m.checkMoved(s)
	return nil
}
