package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestElementsAreNotDivided: elements that cannot be divided evenly among the processes are
// refused, even if their bytes could be.
func TestElementsAreNotDivided(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		cart, err := w.CartCreate(bg, []int{2}, []bool{true}, false) // both neighbours are the other process
		require.NoError(t, err)
		even, odd := make([]int, 6), make([]int, 5)
		refused := func(what string, err error) {
			assert.ErrorIs(t, err, mpi.ErrCount, what)
			assert.ErrorContains(t, err, "5 elements cannot be divided evenly among 2", what)
		}
		refused("out of Allgather", w.Allgather(bg, mpi.Slice(even[:3]), mpi.Slice(odd)))
		refused("in of Alltoall", w.Alltoall(bg, mpi.Slice(odd), mpi.Slice(even)))
		refused("out of Alltoall", w.Alltoall(bg, mpi.Slice(even), mpi.Slice(odd)))
		refused("out of Alltoall in place", w.Alltoall(bg, mpi.InPlace, mpi.Slice(odd)))
		refused("out of NeighborAllgather", cart.NeighborAllgather(bg, mpi.Slice(even[:3]), mpi.Slice(odd)))
		refused("in of NeighborAlltoall", cart.NeighborAlltoall(bg, mpi.Slice(odd), mpi.Slice(even)))
		refused("out of NeighborAlltoall", cart.NeighborAlltoall(bg, mpi.Slice(even), mpi.Slice(odd)))
		if w.Rank() == 0 {
			refused("out of Gather", w.Gather(bg, mpi.Slice(even[:3]), mpi.Slice(odd), 0))
			refused("in of Scatter", w.Scatter(bg, mpi.Slice(odd), mpi.Slice(even[:3]), 0))
		}
		require.NoError(t, w.Allgather(bg, mpi.Slice(even[:3]), mpi.Slice(even)), "and nothing is left over")
	})
}
