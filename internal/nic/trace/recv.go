package trace

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var statusNames = [...]string{
	nic.StatusPending:         "pending",
	nic.StatusSuccess:         "success",
	nic.StatusFlushed:         "flushed",
	nic.StatusLengthError:     "length-error",
	nic.StatusProtectionError: "protection-error",
	nic.StatusRDMAError:       "rdma-error",
	nic.StatusTransportError:  "transport-error",
	nic.StatusNoDescriptor:    "no-descriptor",
	nic.StatusFileError:       "file-error",
}

func statusName(s nic.Status) string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status-%d", s)
}

// PostRecv traces a receive.
func (p *port) PostRecv(d *nic.Descriptor) error {
	what := p.dev.describe(d, false)
	if err := p.Port.PostRecv(d); err != nil {
		p.dev.linef("%v post-recv %s: %v", p, what, err)
		return err
	}
	p.dev.linef("%v post-recv #%d %s", p, p.dev.number(d), what)
	return nil
}

// completion describes the result of a descriptor.
func (d *Device) completion(desc *nic.Descriptor, recv bool) string {
	text := fmt.Sprintf("#%d %s %dB", d.posts[desc], statusName(desc.Status), desc.Length)
	delete(d.posts, desc)
	if !recv || desc.Status != nic.StatusSuccess {
		return text
	}
	if desc.Flags&nic.FlagImmediate != 0 {
		text += fmt.Sprintf(" imm=%d", desc.Immediate)
	}
	if desc.Data != nil {
		return text + " lent" + d.show([]nic.Segment{{Data: desc.Data}}, len(desc.Data))
	}
	return text + d.show(desc.Segments, desc.Length)
}
