package object_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/object"
)

// TestStored: what Encode returns, Decode accepts, and what could not be decoded is refused at once.
func TestStored(t *testing.T) {
	b, err := object.Encode(songOf(3))
	require.NoError(t, err)
	var got song
	require.NoError(t, object.Decode(b, &got))
	assert.Equal(t, songOf(3), got)
	var n int
	require.ErrorIs(t, object.Decode(b, &n), mpi.ErrType)
	for i := range b {
		require.ErrorIs(t, object.Decode(b[:i], &got), mpi.ErrType, "%d bytes", i)
	}
	_, err = object.Encode(knot{func() {}})
	require.ErrorIs(t, err, mpi.ErrType)
	_, err = object.Encode(make([]int, 1<<20))
	require.ErrorIs(t, err, mpi.ErrType)
	assert.ErrorContains(t, err, "store its numbers in an array")
}
