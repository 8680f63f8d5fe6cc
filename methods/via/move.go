package via

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// move gives more of this side's part of a large message to the NIC, as far as
// the budget of this Poll and the NIC allow. What is left goes on in the next
// Poll.
func (m *method) move(s *opState) {
	l := s.large
	for l.next < l.end && m.budget > 0 {
		var err error
		if l.mode == modeData {
			err = m.moveData(s)
		} else {
			err = m.moveRDMA(s)
		}
		if errors.Is(err, errNoCredit) {
			l.moving = true
			s.r.movers = append(s.r.movers, s)
			return
		}
		if errors.Is(err, nic.ErrAgain) {
			break
		}
		if errors.Is(err, errFile) {
			return
		}
		if err != nil {
			m.retryLater(s.r, err)
			return
		}
	}
	if l.next < l.end && !l.moving {
		l.moving = true
		m.moving = append(m.moving, s)
	}
	m.checkMoved(s)
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
		s.large.moving = false
		if s.phase == phaseFailing {
			m.settle(s)
			continue
		}
		before := s.large.next
		m.move(s)
		did = did || s.large == nil || s.large.next != before
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

// moveRDMA posts one RDMA descriptor.
func (m *method) moveRDMA(s *opState) error {
	l := s.large
	piece, off := findPiece(l.remote, l.next-l.remoteBase)
	n := min(l.end-l.next, int(piece.Len)-off, RDMAChunkBytes, m.caps.RDMABytesMax)
	if !fromFile(s.op) && !m.caps.UnregisteredSend && len(l.memory) == 0 && !m.register(s, 0, PiecesMax) {
		return errRegister
	}
	p := m.takePacket()
	var ok bool
	if fromFile(s.op) {
		writeFile(p, s.op, l.next, n)
	} else if p.segs, ok = m.localSegments(p.segs[:0], s, l.next, n); !ok {
		n = segmentBytes(p.segs)
	}
	d := &p.desc
	d.Op, d.Flags, d.Segments, d.Status = nic.OpRDMARead, 0, p.segs, nic.StatusPending
	if l.mode == modeWrite {
		d.Op = nic.OpRDMAWrite
	}
	d.Remote = nic.Remote{Addr: piece.Addr + uint64(off), Handle: nic.Handle(piece.Handle)}
	p.state = s
	done, err := s.r.vi.PostSend(d)
	if err != nil {
		m.givePacket(p)
		return err
	}
	l.next += n
	m.budget -= n
	s.inflight++
	if done {
		m.moved(p)
	}
	return nil
}

// moved takes back an RDMA descriptor.
func (m *method) moved(p *packet) {
	s, status, n, fault := p.state, p.desc.Status, p.desc.Size(), p.desc.File.Err
	m.givePacket(p)
	s.inflight--
	switch {
	case s.phase == phaseFailing:
		m.settle(s)
	case status == nic.StatusFileError:
		m.fileFailed(s, fault)
	case status != nic.StatusSuccess:
		// The peer closed its memory, or lied about it.
		m.linkBroke(s.r, brokenBy("RDMA", status))
	default:
		s.large.done += n
		m.checkMoved(s)
	}
}

// moveData sends one DATA packet.
func (m *method) moveData(s *opState) error {
	l, r := s.large, s.r
	if !r.mayMove() {
		return errNoCredit
	}
	n := min(l.end-l.next, r.packetBytes-wire.DataFixed)
	p := m.takePacket()
	p.room = wire.Data{RecvOp: l.theirs, Offset: uint64(l.next)}.Append(p.room)
	lent, err := m.load(p, s.op, l.next, n)
	if err != nil {
		m.givePacket(p)
		m.fileFailed(s, err)
		return errFile
	}
	done, err := m.transmit(r, p, matchbits.TypeData, 0, 0)
	if err != nil {
		m.givePacket(p)
		return err
	}
	l.next += n
	m.budget -= n
	l.done += n
	switch {
	case done:
		m.givePacket(p)
	case lent:
		p.state = s
		s.inflight++
	}
	return nil
}

// checkMoved sends this side's FIN when its part is moved, and ends the
// operation when the peer's part is, too.
func (m *method) checkMoved(s *opState) {
	l := s.large
	if s.phase != phaseMoving || l.done < l.end-l.begin || s.inflight > 0 {
		return
	}
	if !l.finSent {
		l.finSent = true
		m.sendFin(s.r, l.theirs, wire.FinMoved)
	}
	if !l.peerDone {
		return
	}
	if s.op.Kind == bmi.KindRecv {
		s.r.count.receivedLarge(l.size)
	} else {
		s.r.count.sentLarge(l.size)
	}
	m.endMove(s, nil)
}

// endMove ends a large operation as soon as its memory is free.
func (m *method) endMove(s *opState, err error) {
	s.phase, s.err = phaseFailing, err
	m.settle(s)
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
