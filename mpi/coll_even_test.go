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
		cart, err := w.CartCreate([]int{2}, []bool{true}, false) // both neighbours are the other process
		require.NoError(t, err)
		even, odd := make([]int, 6), make([]int, 5)
		refused := func(what string, err error) {
			assert.ErrorIs(t, err, mpi.ErrCount, what)
			assert.ErrorContains(t, err, "5 elements cannot be divided evenly among 2", what)
		}
		refused("out of Allgather", mpi.Allgather(w, even[:3], odd))
		refused("in of Alltoall", mpi.Alltoall(w, odd, even))
		refused("out of Alltoall", mpi.Alltoall(w, even, odd))
		refused("out of Alltoall in place", mpi.Alltoall(w, nil, odd))
		refused("out of NeighborAllgather", mpi.NeighborAllgather(cart, even[:3], odd))
		refused("in of NeighborAlltoall", mpi.NeighborAlltoall(cart, odd, even))
		refused("out of NeighborAlltoall", mpi.NeighborAlltoall(cart, even, odd))
		if w.Rank() == 0 {
			refused("out of Gather", mpi.Gather(w, even[:3], odd, 0))
			refused("in of Scatter", mpi.Scatter(w, odd, even[:3], 0))
		}
		require.NoError(t, mpi.Allgather(w, even[:3], even), "and nothing is left over")
	})
}
