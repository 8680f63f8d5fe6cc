package shm

import "github.com/viaduct-hpc/viaduct/methods/via/nic"

// Caps implements nic.Device. RDMA is claimed although the kernel may forbid
// it towards a particular peer; a Port's RDMAUsable says so.
func (d *Device) Caps() nic.Caps {
	return nic.Caps{
		InlineBytesMax:   InlineBytesMax,
		MTUBytes:         MTUBytes,
		SegmentsMax:      SegmentsMax,
		RecvDepthMax:     ringSlots,
		SendDepthMax:     SendDepthMax,
		LoansRecv:        true,
		UnregisteredSend: true,
		RDMAWrite:        true,
		RDMARead:         true,
		RDMACopies:       true,
		FileWrites:       true,
		RDMABytesMax:     RDMABytesMax,
		Reliability:      nic.ReliableReception,
		CopiesOnPost:     true,
	}
}
