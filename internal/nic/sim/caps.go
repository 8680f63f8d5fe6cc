package simnic

import (
	"math/rand/v2"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// DefaultCaps are those of a NIC that supports everything.
func DefaultCaps() nic.Caps {
	return nic.Caps{
		InlineBytesMax:   nic.InlineMax,
		MTUBytes:         64 << 10,
		SegmentsMax:      16,
		RecvDepthMax:     1024,
		SendDepthMax:     1024,
		LoansRecv:        true,
		UnregisteredSend: true,
		RDMAWrite:        true,
		RDMARead:         true,
		RDMACopies:       true,
		FileWrites:       true,
		RDMABytesMax:     1 << 30,
		Reliability:      nic.ReliableReception,
	}
}

// RandomCaps draws the capabilities of a NIC that a consumer must support: with
// and without RDMA, loans and inline data, small limits, sends that end at once
// or late. The NIC always has reliable delivery.
func RandomCaps(rng *rand.Rand) nic.Caps {
	flip := func() bool { return rng.IntN(2) == 0 }
	pick := sim.Draw{Rand: rng}.Pick
	return nic.Caps{
		InlineBytesMax:   pick(0, 8, 32, nic.InlineMax),
		MTUBytes:         pick(1024, 4096, 8192, 64<<10),
		SegmentsMax:      pick(2, 3, 4, 16),
		RecvDepthMax:     pick(64, 256, 1024),
		SendDepthMax:     pick(16, 64, 256, 1024),
		LoansRecv:        flip(),
		UnregisteredSend: flip(),
		RDMAWrite:        flip(),
		RDMARead:         flip(),
		RDMABytesMax:     pick(4096, 1<<20, 1<<30),
		Reliability:      nic.Reliability(pick(int(nic.ReliableDelivery), int(nic.ReliableReception))),
		CopiesOnPost:     flip(),
		RDMACopies:       flip(),
		FileWrites:       flip(),
	}
}
