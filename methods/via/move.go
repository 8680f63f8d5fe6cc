package via

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/bulk"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// move gives more of this side's part of a large message to the NIC, as far as
// the budget of this Poll and the NIC allow. What is left goes on in the next
// Poll. The operation may be complete when move returns.
func (m *method) move(s *opState) {
	step := m.moveRDMA
	if s.large.transfer.Mode() == bulk.Data {
		step = m.moveData
	}
	for from, to := s.large.transfer.Rest(); from < to; {
		if m.budget <= 0 {
			m.moveLater(s)
			return
		}
		n := step(s, from, to)
		if n == 0 {
			return // it goes on later, or has failed
		}
		from += n
	}
}

// moveLater lets a large message go on in the next Poll.
func (m *method) moveLater(s *opState) {
	s.large.waiting = true
	m.moving = append(m.moving, s)
}

// resume lets the moves go on that waited for a credit of a peer, or for its
// control packets to go first.
func (m *method) resume(r *remote) {
	m.moving = append(m.moving, r.movers...)
	clear(r.movers)
	r.movers = r.movers[:0]
}

// moveAll goes on with the large messages of the earlier Polls.
func (m *method) moveAll() (did bool) {
	again := m.moving
	m.moving = m.movingNext[:0]
	for _, s := range again {
		s.large.waiting = false
		if s.phase == phaseEnding {
			m.settle(s)
			continue
		}
		before := m.budget
		m.move(s)
		did = did || m.budget != before
	}
	clear(again)
	m.movingNext = again[:0]
	return did
}

// awaitCredit lets a large message go on when DATA packets can be sent.
func (m *method) awaitCredit(s *opState) {
	s.large.waiting = true
	s.r.movers = append(s.r.movers, s)
	s.r.link.Await()
}

var errRegister = errors.New("via: the NIC cannot register the memory of a large message")

// moveRDMA posts one RDMA descriptor for n of the bytes [from, to). 0: none was posted.
func (m *method) moveRDMA(s *opState, from, to int) (n int) {
	l, r := s.large, s.r
	piece, off := findPiece(l.remote, from-l.transfer.Begin())
	n = min(to-from, int(piece.Len)-off, RDMAChunkBytes, m.caps.RDMABytesMax)
	if !fromFile(s.op) && !m.caps.UnregisteredSend && l.memory.Regions() == 0 &&
		!r.link.Register(&l.memory, s.op.Bufs, link.Local, PiecesMax) {
		r.link.Break(errRegister)
		return 0
	}
	p := m.links.Take()
	if fromFile(s.op) {
		p.LocalFile(fileRange(s.op, from, n))
	} else {
		n = m.links.Local(p, s.op.Bufs, &l.memory, from, n)
	}
	done, err := r.link.RDMA(p, l.transfer.Mode() == bulk.Write, piece, off)
	switch {
	case err == nil:
	case link.Full(err):
		m.moveLater(s)
		return 0
	default:
		m.packetFailed(s, err)
		return 0
	}
	m.gave(s, n)
	if done {
		m.carryOut(s, l.transfer.Moved(n))
	} else {
		p.Lend(s, n)
		s.inflight++
	}
	return n
}

// moveData sends one DATA packet with the first n of the bytes [from, to). 0: none was sent.
func (m *method) moveData(s *opState, from, to int) (n int) {
	l, r := s.large, s.r
	if !r.link.MayData() {
		m.awaitCredit(s)
		return 0
	}
	n = min(to-from, r.link.PacketBytes()-wire.DataFixed)
	p := m.links.Take()
	p.Body = wire.Data{RecvOp: l.theirs, Offset: uint64(from)}.Append(p.Body)
	lent, err := m.load(p, s.op, from, n)
	if err != nil {
		m.links.Give(p)
		m.fileFailed(s, err)
		return 0
	}
	done, ok := r.link.Transmit(p, matchbits.TypeData, 0, 0)
	if !ok {
		m.awaitCredit(s)
		return 0
	}
	m.gave(s, n)
	if lent && !done {
		p.Lend(s, n)
		s.inflight++
	} else {
		m.carryOut(s, l.transfer.Moved(n))
	}
	return n
}

// gave notes that the NIC was given n bytes of a large message.
func (m *method) gave(s *opState, n int) {
	s.large.transfer.Gave(n)
	m.budget -= n
}

// findPiece finds the piece that holds byte off of a list, and where in it.
func findPiece(pieces []wire.Piece, off int) (wire.Piece, int) {
	for _, p := range pieces {
		if off < int(p.Len) {
			return p, off
		}
		off -= int(p.Len)
	}
	panic("via: a part of a message is longer than the peer's memory for it")
}
