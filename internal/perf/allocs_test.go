package perf

import (
	"context"
	"fmt"
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
	// In the folder that all share, endpoints of other processes look whether ours is still alive, and answering them allocates.
	t.Setenv("VIADUCT_SHM_DIR", t.TempDir())
	address := serveAt(t, fmt.Sprintf("via+shm://perf-test-%d-%d", os.Getpid(), names.Add(1)))
	_, c := connect(t, address)
	const roundTrips = 5000
	for _, size := range []int{0, 8, 4096} {
		n, err := c.Allocs(context.Background(), size, roundTrips)
		require.NoError(t, err)
		// Both sides run in this process, so those of the server count too.
		// The runtime has a few allocations of its own now and then.
		assert.Less(t, n, 0.01, "allocations per message of %d bytes", size)
	}
}
