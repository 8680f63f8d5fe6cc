package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestExscanLeavesTheFirstResult: rank 0 has no result, so its out does not change, and a program
// can put the neutral element there.
func TestExscanLeavesTheFirstResult(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			rank := p.World().Rank()
			before := []int{-1}
			require.NoError(t, p.World().Exscan(bg, mpi.Slice([]int{rank + 1}), mpi.Slice(before), mpi.Sum))
			want := rank * (rank + 1) / 2
			if rank == 0 {
				want = -1
			}
			assert.Equal(t, []int{want}, before)
		})
	}
}
