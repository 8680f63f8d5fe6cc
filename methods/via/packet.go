package via

import (
	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// A packet is one outgoing descriptor with room for the header and the fixed
// part of the body. Further segments name the rest of the body in the user's
// memory. If the NIC sends only from registered memory, it is copied instead.
type packet struct {
	desc nic.Descriptor
	segs []nic.Segment
	// room holds header and body. It is in registered memory (handle) if the NIC
	// needs that.
	room   []byte
	handle nic.Handle

	kind matchbits.Type
	aux  uint32
	tag  uint32

	// state is the operation whose memory the descriptor uses; nil if none.
	state *opState
	moves int // bytes of a large message that this DATA packet moves, if state is set
	// next links packets in the pool or in remote.control.
	next *packet
}

func (p *packet) Link() **packet { return &p.next }

// roomBytes is the initial room of a packet where the NIC can send from any memory.
// Most control packets fit.
const roomBytes = 64

// takePacket takes a packet from the pool, with an empty body.
func (m *method) takePacket() *packet {
	p := m.freePackets
	if p == nil {
		return m.newPacket()
	}
	m.freePackets = p.next
	p.next = nil
	p.room = p.room[:wire.HeaderLen]
	return p
}

func (m *method) newPacket() *packet {
	p := &packet{}
	p.desc.Cookie = p
	if m.caps.UnregisteredSend {
		p.room = make([]byte, wire.HeaderLen, roomBytes)
		p.segs = make([]nic.Segment, 0, 2)
		return p
	}
	// Each packet is registered once, for the life of the method. The pool never
	// has more packets than were under way at once. If the registration fails,
	// the send will fail, and with it the link.
	buf := make([]byte, m.caps.MTUBytes)
	if mem, err := m.nic.RegisterMem(buf, vipl.MemAttributes{Tag: m.sharedTag}); err != nil {
		m.log.Warn("via: cannot register a send buffer", "error", err)
	} else {
		p.handle = mem.Handle
	}
	p.room = buf[:wire.HeaderLen]
	p.segs = make([]nic.Segment, 0, 1)
	return p
}

// givePacket puts a packet back. The NIC is done with it.
func (m *method) givePacket(p *packet) {
	p.state = nil
	clear(p.segs) // no reference to the user's memory stays behind
	p.segs = p.segs[:0]
	p.desc.File = nic.FileRange{}
	p.next = m.freePackets
	m.freePackets = p
}

// gather adds the bytes [off, off+n) of the pieces to the packet: as segments if
// the NIC can send them from where they are, else as a copy.
func (m *method) gather(p *packet, bufs [][]byte, off, n int) (lent bool) {
	if n == 0 {
		p.segs = append(p.segs[:0], nic.Segment{Data: p.room, Handle: p.handle})
		return false
	}
	if m.caps.UnregisteredSend {
		p.segs = append(p.segs[:0], nic.Segment{})
		if len(bufs) == 1 {
			p.segs = append(p.segs, nic.Segment{Data: bufs[0][off : off+n]})
		} else if segs, ok := appendRange(p.segs, bufs, off, n, m.caps.SegmentsMax); ok {
			p.segs = segs
		} else {
			p.segs = p.segs[:1]
			p.room = pieces.At(bufs, off).Gather(p.room, bufs, n)
		}
		p.segs[0] = nic.Segment{Data: p.room}
		return len(p.segs) > 1
	}
	p.room = pieces.At(bufs, off).Gather(p.room, bufs, n)
	p.segs = append(p.segs[:0], nic.Segment{Data: p.room, Handle: p.handle})
	return false
}

// appendRange appends segments for the bytes [off, off+n) of the pieces. It
// reports false if that takes more than limit segments in all.
func appendRange(segs []nic.Segment, bufs [][]byte, off, n, limit int) ([]nic.Segment, bool) {
	for _, b := range bufs {
		if off >= len(b) {
			off -= len(b)
			continue
		}
		b = b[off:]
		b = b[:min(n, len(b))]
		off = 0
		if len(b) == 0 {
			break
		}
		if len(segs) == limit {
			return segs, false
		}
		segs = append(segs, nic.Segment{Data: b})
		if n -= len(b); n == 0 {
			break
		}
	}
	return segs, true
}
