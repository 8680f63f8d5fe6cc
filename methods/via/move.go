package via

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/bulk"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
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
		n, err := step(s, from, to)
		switch {
		case err == nil:
			from += n
		case errors.Is(err, errNoCredit):
			s.large.waiting = true
			s.r.movers = append(s.r.movers, s)
			return
		case errors.Is(err, nic.ErrAgain):
			m.moveLater(s)
			return
		case errors.Is(err, errFile):
			return
		default:
			m.retryLater(s.r, err)
			return
		}
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

// errNoCredit: the move goes on when the peer returns a credit.
var errNoCredit = errors.New("via: no credit")

// errFile: the file of a send cannot be read, and the link is about to end.
var errFile = errors.New("via: no file")

var errRegister = errors.New("via: the NIC cannot register the memory of a large message")

// moveRDMA posts one RDMA descriptor for n of the bytes [from, to).
func (m *method) moveRDMA(s *opState, from, to int) (n int, err error) {
	l := s.large
	piece, off := findPiece(l.remote, from-l.transfer.Begin())
	n = min(to-from, int(piece.Len)-off, RDMAChunkBytes, m.caps.RDMABytesMax)
	if !fromFile(s.op) && !m.caps.UnregisteredSend && len(l.memory) == 0 && !m.register(s, 0, PiecesMax) {
		return 0, errRegister
	}
	p := m.takePacket()
	var ok bool
	if fromFile(s.op) {
		writeFile(p, s.op, from, n)
	} else if p.segs, ok = m.localSegments(p.segs[:0], s, from, n); !ok {
		n = segmentBytes(p.segs)
	}
	d := &p.desc
	d.Op, d.Flags, d.Segments, d.Status = nic.OpRDMARead, 0, p.segs, nic.StatusPending
	if l.transfer.Mode() == bulk.Write {
		d.Op = nic.OpRDMAWrite
	}
	d.Remote = nic.Remote{Addr: piece.Addr + uint64(off), Handle: nic.Handle(piece.Handle)}
	p.state = s
	done, err := s.r.vi.PostSend(d)
	if err != nil {
		m.givePacket(p)
		return 0, err
	}
	l.transfer.Gave(n)
	m.budget -= n
	s.inflight++
	if done {
		m.moved(p)
	}
	return n, nil
}

// moved takes back an RDMA descriptor.
func (m *method) moved(p *packet) {
	s, status, n, fault := p.state, p.desc.Status, p.desc.Size(), p.desc.File.Err
	m.givePacket(p)
	s.inflight--
	switch {
	case s.phase == phaseEnding:
		m.settle(s)
	case status == nic.StatusFileError:
		m.fileFailed(s, fault)
	case status != nic.StatusSuccess:
		// The peer closed its memory, or lied about it.
		m.linkBroke(s.r, brokenBy("RDMA", status))
	default:
		m.carryOut(s, s.large.transfer.Moved(n))
	}
}

// moveData sends one DATA packet with the first of the bytes [from, to).
func (m *method) moveData(s *opState, from, to int) (n int, err error) {
	l, r := s.large, s.r
	if !r.mayMove() {
		return 0, errNoCredit
	}
	n = min(to-from, r.packetBytes-wire.DataFixed)
	p := m.takePacket()
	p.room = wire.Data{RecvOp: l.theirs, Offset: uint64(from)}.Append(p.room)
	lent, err := m.load(p, s.op, from, n)
	if err != nil {
		m.givePacket(p)
		m.fileFailed(s, err)
		return 0, errFile
	}
	done, err := m.transmit(r, p, matchbits.TypeData, 0, 0)
	if err != nil {
		m.givePacket(p)
		return 0, err
	}
	l.transfer.Gave(n)
	m.budget -= n
	switch {
	case done:
		m.givePacket(p)
	case lent:
		p.state, p.moves = s, n
		s.inflight++
		return n, nil
	}
	m.carryOut(s, l.transfer.Moved(n))
	return n, nil
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

// localSegments appends segments for the bytes [off, off+n) of an operation. It
// reports false if that takes more than the NIC allows; segs is full then.
func (m *method) localSegments(segs []nic.Segment, s *opState, off, n int) ([]nic.Segment, bool) {
	if m.caps.UnregisteredSend {
		return appendRange(segs, s.op.Bufs, off, n, m.caps.SegmentsMax)
	}
	for _, mem := range s.large.memory {
		if off >= len(mem.Data) {
			off -= len(mem.Data)
			continue
		}
		if len(segs) == m.caps.SegmentsMax {
			return segs, false
		}
		k := min(n, len(mem.Data)-off)
		segs = append(segs, mem.Segment(off, k))
		off = 0
		if n -= k; n == 0 {
			break
		}
	}
	return segs, true
}

func segmentBytes(segs []nic.Segment) (n int) {
	for i := range segs {
		n += len(segs[i].Data)
	}
	return n
}
