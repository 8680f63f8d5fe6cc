package vipl

import "github.com/viaduct-hpc/viaduct/methods/via/nic"

// Direct is the device, for a consumer that takes messages without their descriptors (nic.DirectDevice): each Take is a Poll and a PostRecv
// of one message, and its cookie is the VI. All VIs of the NIC must complete their receives in cq. nil: Poll and PollEvents come first.
func (cq *CQ) Direct() nic.DirectDevice {
	n := cq.n
	if n.at < n.have || cq.count > 0 || len(n.events) > 0 || n.slow > 0 || n.closed {
		return nil
	}
	return n.direct
}
