package udp_test

import (
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	bulkSeedsMax = 60
	bulkRounds   = 2
)

// TestSimBulkOverRandomNetworks moves much memory both ways over networks with faults
// of every kind: it all arrives, and afterwards the devices keep nothing of the
// connection.
func TestSimBulkOverRandomNetworks(t *testing.T) {
	sim.RunAtMost(t, bulkSeedsMax, func(t *testing.T, seed uint64) {
		p := newPipe(t, udptest.Random(seed))
		p.connect()
		for range bulkRounds {
			p.move(nic.OpRDMAWrite)
			p.move(nic.OpRDMARead)
		}
		p.part()
	})
}
