package link

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
)

// A Packet is one outgoing descriptor with room for the header and the fixed
// part of the body. Further segments name the rest of the body in the user's
// memory. If the NIC sends only from registered memory, it is copied instead.
type Packet struct {
	// Body has room for the header, and the body behind it, which the consumer appends.
	// It is in registered memory (handle) if the NIC needs that.
	Body   []byte
	handle nic.Handle
	segs   []nic.Segment
	desc   nic.Descriptor

	kind matchbits.Type
	aux  uint32
	tag  uint32

	op    any     // whose memory the descriptor uses; nil if none
	bytes int     // of that memory
	next  *Packet // in Links.freePackets or Link.control
}

// Link links packets in a queue.
func (p *Packet) Link() **Packet { return &p.next }

// Lend notes that the packet uses n bytes of the memory of an operation. Finished is
// called when the NIC has finished with them.
func (p *Packet) Lend(op any, n int) { p.op, p.bytes = op, n }

// roomBytes is the initial room of a packet where the NIC can send from any memory.
// Most control packets fit.
const roomBytes = 64

// Take takes a packet from the pool, with an empty body.
func (ls *Links) Take() *Packet {
	p := ls.freePackets
	if p == nil {
		return ls.newPacket()
	}
	ls.freePackets = p.next
	p.next = nil
	p.Body = p.Body[:wire.HeaderLen]
	return p
}

func (ls *Links) newPacket() *Packet {
	p := &Packet{}
	p.desc.Cookie = p
	if ls.caps.UnregisteredSend {
		p.Body = make([]byte, wire.HeaderLen, roomBytes)
		p.segs = make([]nic.Segment, 0, 2)
		return p
	}
	// Each packet is registered once, for the life of the endpoint. The pool never
	// has more packets than were under way at once. If the registration fails,
	// the send will fail, and with it the link.
	buf := make([]byte, ls.caps.MTUBytes)
	if mem, err := ls.RegisterMem(buf, vipl.MemAttributes{Tag: ls.sharedTag}); err != nil {
		ls.log.Warn("via: cannot register a send buffer", "error", err)
	} else {
		p.handle = mem.Handle
	}
	p.Body = buf[:wire.HeaderLen]
	p.segs = make([]nic.Segment, 0, 1)
	return p
}

// Give puts back a packet that the NIC does not have.
func (ls *Links) Give(p *Packet) {
	p.op, p.bytes = nil, 0
	clear(p.segs) // no reference to the user's memory stays behind
	p.segs = p.segs[:0]
	p.desc.File = nic.FileRange{}
	p.next = ls.freePackets
	ls.freePackets = p
}

// whole makes the packet one segment: its own memory.
func (p *Packet) whole() {
	p.segs = append(p.segs[:0], nic.Segment{Data: p.Body, Handle: p.handle})
}

// Gather adds the bytes [off, off+n) of the pieces to the body: as segments if
// the NIC can send them from where they are (lent), else as a copy.
func (ls *Links) Gather(p *Packet, bufs [][]byte, off, n int) (lent bool) {
	if n > 0 && ls.caps.UnregisteredSend {
		p.segs = append(p.segs[:0], nic.Segment{})
		var ok bool
		if p.segs, ok = appendRange(p.segs, bufs, off, n, ls.caps.SegmentsMax); ok {
			p.segs[0] = nic.Segment{Data: p.Body}
			return true
		}
	}
	if n > 0 {
		p.Body = pieces.At(bufs, off).Gather(p.Body, bufs, n)
	}
	p.whole()
	return false
}

// Fill adds n bytes to the body, which read has to fill in.
func (p *Packet) Fill(n int, read func([]byte) error) error {
	at := len(p.Body)
	p.Body = slices.Grow(p.Body, n)[:at+n]
	if err := read(p.Body[at:]); err != nil {
		return err
	}
	p.whole()
	return nil
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
