package vipl

import "github.com/viaduct-hpc/viaduct/methods/via/nic"

// Claim returns the memory from which a message is sent, for the caller to fill before
// PublishSend. It is a PostSend without a descriptor. If it returns nil the message needs a
// descriptor, and nothing has happened. The NIC must not be used for anything else between
// Claim and PublishSend.
func (vi *VI) Claim(length int) []byte {
	if vi.direct == nil || vi.state != Connected {
		return nil
	}
	return vi.direct.Claim(length)
}

// PublishSend sends the message in the memory of the last Claim, which must have returned some.
func (vi *VI) PublishSend() { vi.direct.Publish() }

// Direct is the device, for a consumer that takes messages without their descriptors (nic.DirectDevice): each Take is a Poll and a PostRecv
// of one message, and its cookie is the VI. All VIs of the NIC must complete their receives in cq. nil: Poll and PollEvents come first.
func (cq *CQ) Direct() nic.DirectDevice {
	n := cq.n
	if n.at < n.have || cq.count > 0 || len(n.events) > 0 || n.slow > 0 || n.closed {
		return nil
	}
	return n.direct
}
