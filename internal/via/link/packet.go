package link

import (
	"log/slog"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
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
	next  *Packet // in packets.free or Link.control
}

// Link links packets in a queue.
func (p *Packet) Link() **Packet { return &p.next }

// Lend notes that the packet uses n bytes of the memory of an operation. Finished is
// called when the NIC has finished with them.
func (p *Packet) Lend(op any, n int) { p.op, p.bytes = op, n }

// roomBytes is the initial room of a packet where the NIC can send from any memory.
// Most control packets fit.
const roomBytes = 64

// packets are the pool of packets. It never has more than were under way at once.
type packets struct {
	free *Packet
	caps nic.Caps
	nic  *vipl.NIC
	tag  vipl.ProtectionTag // of memory to send from, if it must be registered
	log  *slog.Logger
}

// Take takes a packet from the pool, with an empty body.
func (k *packets) Take() *Packet {
	p := k.free
	if p == nil {
		return k.make()
	}
	k.free = p.next
	p.next = nil
	p.Body = p.Body[:wire.HeaderLen]
	return p
}

func (k *packets) make() *Packet {
	p := &Packet{}
	p.desc.Cookie = p
	if k.caps.UnregisteredSend {
		p.Body = make([]byte, wire.HeaderLen, roomBytes)
		p.segs = make([]nic.Segment, 0, 2)
		return p
	}
	// Each packet is registered once, for the life of the endpoint. If the registration
	// fails, the send will fail, and with it the link.
	buf := make([]byte, k.caps.MTUBytes)
	if mem, err := k.nic.RegisterMem(buf, vipl.MemAttributes{Tag: k.tag}); err != nil {
		k.log.Warn("via: cannot register a send buffer", "error", err)
	} else {
		p.handle = mem.Handle
	}
	p.Body = buf[:wire.HeaderLen]
	p.segs = make([]nic.Segment, 0, 1)
	return p
}

// Give puts back a packet that the NIC does not have.
func (k *packets) Give(p *Packet) {
	p.op, p.bytes = nil, 0
	clear(p.segs) // no reference to the user's memory stays behind
	p.segs = p.segs[:0]
	p.desc.File, p.desc.FileErr = nic.FileRange{}, nil
	p.next = k.free
	k.free = p
}

// whole makes the packet one segment: its own memory.
func (p *Packet) whole() {
	p.segs = append(p.segs[:0], nic.Segment{Data: p.Body, Handle: p.handle})
}

// Gather adds the bytes [off, off+n) of the pieces to the body: as segments if
// the NIC can send them from where they are (lent), else as a copy.
func (k *packets) Gather(p *Packet, bufs [][]byte, off, n int) (lent bool) {
	if n > 0 && k.caps.UnregisteredSend {
		p.segs = append(p.segs[:0], nic.Segment{})
		var ok bool
		if p.segs, ok = appendRange(p.segs, bufs, off, n, k.caps.SegmentsMax); ok {
			p.segs[0] = nic.Segment{Data: p.Body}
			return true
		}
		clear(p.segs)
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
