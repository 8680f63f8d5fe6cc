package perf

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/race"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
)

func TestTimedLoopsDoNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes pools forget")
	}
	address := serveAt(t, fmt.Sprintf("via+shm://perf-test-%d-%d", os.Getpid(), names.Add(1)))
	_, c := connect(t, address)
	// Both sides run in this process, so those of the server count too, and so do those of the runtime: on a busy machine it starts threads,
	// say. They come in bursts, while an allocation that messages cost is in every batch of them.
	const batches, roundTrips = 10, 500
	for _, size := range []int{0, 8, 4096} {
		least := math.Inf(1)
		for range batches {
			n, err := c.Allocs(context.Background(), size, roundTrips)
			require.NoError(t, err)
			least = min(least, n)
		}
		assert.Less(t, least, 0.01, "allocations per message of %d bytes", size)
	}
}
