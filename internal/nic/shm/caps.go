package shm

import "github.com/viaduct-hpc/viaduct/methods/via/nic"

// Caps implements nic.Device. RDMA is included although the kernel may forbid it
// for a particular peer; a Port's RDMAUsable tells.
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
		RDMANowBytes:     rdmaCallBytes,
		FileWrites:       true,
		RDMABytesMax:     RDMABytesMax,
		Reliability:      nic.ReliableReception,
		CopiesOnPost:     true,
	}
}
