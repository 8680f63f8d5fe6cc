package rma_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// TestNoAllocation: operations of 8 bytes on shared memory, their flush and an uncontended lock
// allocate nothing.
func TestNoAllocation(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	places[0].run(t, 2, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, _ := allocated(t, c, 4)
		require.NoError(t, w.LockAll(bg))
		if c.Rank() == 0 {
			x, old := new(int64), new(int64)
			assert.Zero(t, testing.AllocsPerRun(200, func() {
				w.Put(mpi.Value(x), rma.At(1, 0))
				w.Get(mpi.Value(x), rma.At(1, 0))
				w.Accumulate(mpi.Value(x), rma.At(1, 1), mpi.Sum)
				w.FetchAndOp(mpi.Value(x), mpi.Value(old), rma.At(1, 2), mpi.Sum)
				w.CompareAndSwap(mpi.Value(x), mpi.Value(old), mpi.Value(old), rma.At(1, 3))
				_ = w.Flush(bg, 1)
			}))
		}
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, c.Barrier(bg))
		if c.Rank() == 0 {
			require.NoError(t, w.Lock(bg, rma.LockExclusive, 1))
			require.NoError(t, w.Unlock(bg, 1))
			assert.Zero(t, testing.AllocsPerRun(200, func() {
				_ = w.Lock(bg, rma.LockExclusive, 1)
				_ = w.Unlock(bg, 1)
			}))
		}
		require.NoError(t, w.Free(bg))
	})
}
