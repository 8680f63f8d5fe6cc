package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestAColumnOfASlice: the origin of a buffer in a slice counts elements.
func TestAColumnOfASlice(t *testing.T) {
	column, err := datatype.Vector(3, 1, 4, datatype.Float32)
	require.NoError(t, err)
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		table := make([]float32, 12)
		last := mpi.Typed(table, 3, 1, column)
		if p.World().Rank() == 0 {
			table[3], table[7], table[11] = 1, 2, 3
			require.NoError(t, p.World().Send(bg, last, 1, 0))
			return
		}
		first := mpi.Typed(table, 0, 1, column)
		_, err = p.World().Recv(bg, first, 0, 0)
		require.NoError(t, err)
		assert.Equal(t, []float32{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, table)
	})
}

func TestABufferMustLieInItsSlice(t *testing.T) {
	column, err := datatype.Vector(3, 1, 4, datatype.Float32)
	require.NoError(t, err)
	table := make([]float32, 12)
	for _, origin := range []int{-1, 4, 13, 1 << 62} {
		_, _, _, _, err := mpi.Typed(table, origin, 1, column).Memory()
		assert.ErrorIs(t, err, mpi.ErrBuffer, "origin %d", origin)
	}
	_, _, _, _, err = mpi.Typed(table, 0, -1, column).Memory()
	assert.ErrorIs(t, err, mpi.ErrCount)
	_, _, _, _, err = mpi.Typed(table, 0, 1, nil).Memory()
	assert.ErrorIs(t, err, mpi.ErrType)
	_, _, _, _, err = mpi.Typed([]string{"text"}, 0, 1, column).Memory()
	assert.ErrorIs(t, err, mpi.ErrType)
}
