package udp

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/message"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/reliable"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// A parcel is a packet in the making, with segments that have consecutive numbers. It is
// built in memory of an outbox.
type parcel struct {
	buf   []byte       // room for the headers, then the segments
	body  [][]byte     // the data of the last segment, if it is not in buf
	first reliable.Seq // the number of the first segment
	n     int          // number of segments
	last  int          // where the last one begins in buf
	data  int          // bytes of its data
	room  int          // bytes that further segments may have
}

// leadMax is the largest size of the headers before the segments.
const leadMax = wire.PacketLen + wire.TransportLen + rangesRoom*wire.RangeLen

// begin begins a packet. room is how many bytes its segments may have, if there are
// several.
func (p *parcel) begin(mem []byte, room int) {
	p.buf, p.n, p.room = mem[:leadMax], 0, room
}

// next is the number that a further segment must have.
func (p *parcel) next() reliable.Seq { return p.first.Add(p.n) }

// add adds a segment. Only a small one may be followed by another.
func (p *parcel) add(q *message.Queue, seq reliable.Seq, s *message.Segment) {
	if p.n == 0 {
		p.first = seq
	} else {
		for _, piece := range p.body {
			p.buf = append(p.buf, piece...)
		}
		wire.JoinSegment(p.buf[p.last:], p.data)
	}
	p.n++
	p.last = len(p.buf)
	p.buf, p.body = q.Append(p.buf, p.body[:0], s)
	if p.data = s.DataLen(); p.data > gatherDataMax {
		p.room = 0
	} else {
		p.room -= s.Len()
	}
}

// head writes the headers, and returns the packet without the body.
func (p *parcel) head(at wire.Packet, t *wire.Transport) []byte {
	from := leadMax - wire.PacketLen - t.Len()
	t.Append(at.Append(p.buf[:from]))
	return p.buf[from:]
}
