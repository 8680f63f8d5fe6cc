package link

import (
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Local makes a packet the local side of an RDMA: the bytes [off, off+n) of the pieces,
// which are registered as m if the NIC needs that. It returns how many of them fit one
// descriptor.
func (k *packets) Local(p *Packet, bufs [][]byte, m *Memory, off, n int) int {
	var ok bool
	if k.caps.UnregisteredSend {
		p.segs, ok = appendRange(p.segs[:0], bufs, off, n, k.caps.SegmentsMax)
	} else {
		p.segs, ok = m.segments(p.segs[:0], off, n, k.caps.SegmentsMax)
	}
	if ok {
		return n
	}
	n = 0
	for i := range p.segs {
		n += len(p.segs[i].Data)
	}
	return n
}

// LocalFile makes a packet the local side of an RDMA write: a range of a file.
func (p *Packet) LocalFile(r nic.FileRange) {
	p.segs = p.segs[:0]
	p.desc.File = r
}

// RDMA posts a packet that Local or LocalFile made: it reads the peer's memory from byte
// off of a piece on, or writes it. done reports that it has happened. Otherwise, if err
// is nil, the packet returns to the pool later.
func (l *Link) RDMA(p *Packet, write bool, piece wire.Piece, off int) (done bool, err error) {
	d := &p.desc
	d.Op, d.Flags, d.Segments, d.Status = nic.OpRDMARead, 0, p.segs, nic.StatusPending
	if write {
		d.Op = nic.OpRDMAWrite
	}
	d.Remote = nic.Remote{Addr: piece.Addr + uint64(off), Handle: nic.Handle(piece.Handle)}
	done, err = l.channel.vi.PostSend(d)
	if err == nil && done {
		err = p.result()
	}
	if done || err != nil {
		l.channel.links.Give(p)
	}
	return done, err
}
