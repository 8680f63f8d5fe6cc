package ops

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/via/bulk"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// move gives more of this side's part of a large message to the NIC, as far as
// the budget of this Poll and the NIC allow. What is left goes on in the next
// Poll. It returns what the transfer asks for now.
func (o *Ops) move(s *opState) (act bulk.Actions) {
	step := o.moveRDMA
	if s.large.transfer.Mode() == bulk.Data {
		step = o.moveData
	}
	for from, to := s.large.transfer.Rest(); from < to; {
		if o.budget <= 0 {
			o.moveLater(s)
			break
		}
		p, n, done := step(s, from, to)
		if n == 0 {
			break // it goes on later, or has failed
		}
		o.budget -= n
		from += n
		s.large.transfer.Gave(n)
		if done {
			act = s.large.transfer.Moved(n)
		} else {
			p.Lend(s, n)
			s.inflight++
		}
	}
	return act
}

// moveLater lets a large message go on in the next Poll.
func (o *Ops) moveLater(s *opState) {
	s.large.waiting = true
	o.moving.Add(s)
}

// awaitCredit lets a large message go on when DATA packets can be sent.
func awaitCredit(s *opState) {
	s.large.waiting = true
	s.r.movers = append(s.r.movers, s)
	s.r.Link.Await()
}

var errRegister = errors.New("via: the NIC cannot register the memory of a large message")

// moveRDMA posts one RDMA descriptor for n of the bytes [from, to). done: they are moved. n = 0: none was posted.
func (o *Ops) moveRDMA(s *opState, from, to int) (p *link.Packet, n int, done bool) {
	l, r := s.large, s.r
	piece, off := findPiece(l.remote, from-l.transfer.Begin())
	n = min(to-from, int(piece.Len)-off, RDMAChunkBytes, o.caps.RDMABytesMax)
	if !fromFile(s.op) && !o.caps.UnregisteredSend && l.memory.Regions() == 0 &&
		!r.Link.Register(&l.memory, s.op.Bufs, link.Local, PiecesMax) {
		r.Link.Break(errRegister)
		return nil, 0, false
	}
	p = o.links.Take()
	if fromFile(s.op) {
		p.LocalFile(s.op.File.Part(from, n))
	} else {
		n = o.links.Local(p, s.op.Bufs, &l.memory, from, n)
	}
	done, err := r.Link.RDMA(p, l.transfer.Mode() == bulk.Write, piece, off)
	switch {
	case err == nil:
		return p, n, done
	case link.Full(err):
		o.moveLater(s)
	default:
		packetFailed(s, err)
	}
	return nil, 0, false
}

// moveData sends one DATA packet with the first n of the bytes [from, to). done: their memory is free. n = 0: none was sent.
func (o *Ops) moveData(s *opState, from, to int) (p *link.Packet, n int, done bool) {
	r := s.r
	if !r.Link.MayData() {
		awaitCredit(s)
		return nil, 0, false
	}
	n = min(to-from, r.Link.PacketBytes()-wire.DataFixed)
	p = o.links.Take()
	p.Body = wire.Data{RecvOp: s.large.theirs, Offset: uint64(from)}.Append(p.Body)
	lent, err := o.load(p, s.op, from, n)
	if err != nil {
		o.links.Give(p)
		fileFailed(s, err)
		return nil, 0, false
	}
	done, ok := r.Link.Transmit(p, matchbits.TypeData, 0, 0)
	if !ok {
		awaitCredit(s)
		return nil, 0, false
	}
	return p, n, done || !lent
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
