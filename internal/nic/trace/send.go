package trace

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var opNames = [...]string{nic.OpSend: "send", nic.OpRecv: "recv", nic.OpRDMAWrite: "rdma-write", nic.OpRDMARead: "rdma-read"}

func opName(op nic.Op) string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return fmt.Sprintf("op-%d", op)
}

// PostSend traces a send or RDMA.
func (p *port) PostSend(d *nic.Descriptor) (done bool, err error) {
	what := p.dev.describe(d, d.Op == nic.OpSend)
	done, err = p.Port.PostSend(d)
	switch {
	case err != nil:
		p.dev.linef("%v post-send %s: %v", p, what, err)
	case done:
		p.dev.posted++
		p.dev.linef("%v post-send #%d %s: done %s", p, p.dev.posted, what, statusName(d.Status))
	default:
		p.dev.linef("%v post-send #%d %s: pending", p, p.dev.number(d), what)
	}
	return done, err
}

// number records that the device owns the descriptor.
func (d *Device) number(desc *nic.Descriptor) uint64 {
	d.posted++
	d.posts[desc] = d.posted
	return d.posted
}

// describe describes the operation of a descriptor; payload tells whether its
// segments hold data to show.
func (d *Device) describe(desc *nic.Descriptor, payload bool) string {
	size := desc.Size()
	text := fmt.Sprintf("%s %dB", opName(desc.Op), size)
	if len(desc.Segments) > 1 {
		text += fmt.Sprintf("/%d", len(desc.Segments))
	}
	if desc.File.File != nil {
		text += " of a file"
	}
	if desc.Flags&nic.FlagImmediate != 0 && desc.Op != nic.OpRecv {
		text += fmt.Sprintf(" imm=%d", desc.Immediate)
	}
	if desc.Flags&nic.FlagLoan != 0 {
		text += " loan"
	}
	if payload {
		text += d.show(desc.Segments, size)
	}
	return text
}

// show returns the beginning of a payload.
func (d *Device) show(segs []nic.Segment, size int) string {
	left := min(size, d.opts.Bytes)
	if left == 0 {
		return ""
	}
	var first []byte
	for _, s := range segs {
		first = append(first, s.Data[:min(left-len(first), len(s.Data))]...)
	}
	return fmt.Sprintf(" %x", first)
}
