package mpi

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// TestFarewellNeedsFewConnections: the number of connections is about the number of processes.
func TestFarewellNeedsFewConnections(t *testing.T) {
	const n = 2*farewellFan + 6
	boots, err := boot.Local(n)
	require.NoError(t, err)
	peers := make([]int, n)
	var ranks sync.WaitGroup
	for rank, b := range boots {
		ranks.Go(func() {
			p, err := Init(t.Context(), Options{Boot: b, Method: methodShm})
			if !assert.NoError(t, err) {
				return
			}
			assert.NoError(t, p.farewell(t.Context()))
			peers[rank] = len(p.ep.Stats().Peers)
			assert.NoError(t, p.Finalize(t.Context()))
		})
	}
	ranks.Wait()
	total := 0
	for rank, known := range peers {
		assert.LessOrEqual(t, known, 1+farewellFan, "rank %d", rank)
		total += known
	}
	assert.Equal(t, 2*(n-1), total, "each process but one has one above it")
}
