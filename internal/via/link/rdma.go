package link

import (
	"errors"
	"fmt"

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

// RDMANowBytes is how much Now moves at most; 0: the NIC cannot do it.
func (k *packets) RDMANowBytes() int {
	if !k.caps.UnregisteredSend || !k.caps.RDMARead || !k.caps.RDMAWrite {
		return 0
	}
	return min(k.caps.RDMANowBytes, k.caps.RDMABytesMax)
}

var (
	errBehind = fmt.Errorf("link: other packets wait: %w", nic.ErrAgain)
	errLate   = errors.New("link: the NIC did not finish an RDMA descriptor at once, as its capabilities promise")
)

// Now reads the peer's memory into mem within the call, or writes it from there: at most RDMANowBytes. After an error
// any part of the bytes may have been moved. The link stays as it is, also if the peer does not allow the access.
func (l *Link) Now(write bool, remote nic.Remote, mem []byte) error {
	switch {
	case !l.open || !l.reads || !l.writes:
		return nic.ErrNotConnected
	case l.channel.vi.SendsOut() > 0:
		return errBehind
	}
	k := &l.channel.links.packets
	p := k.Take()
	p.segs = append(p.segs[:0], nic.Segment{Data: mem})
	d := &p.desc
	d.Op, d.Flags, d.Segments, d.Remote, d.Status = nic.OpRDMARead, 0, p.segs, remote, nic.StatusPending
	if write {
		d.Op = nic.OpRDMAWrite
	}
	done, err := l.channel.vi.PostSend(d)
	switch {
	case err != nil:
	case !done:
		l.Break(errLate)
		return errLate // the packet returns to the pool later
	default:
		err = p.result()
	}
	k.Give(p)
	return err
}
