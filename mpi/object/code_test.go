package object_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
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
}

// A nest is as deep as it is long.
type nest struct{ Next *nest }

// TestLimits: long slices and maps, and any string, travel. What is too deep is refused before it is sent.
func TestLimits(t *testing.T) {
	long := make([]int32, 1<<20)
	long[1<<20-1] = 7
	pairs := make(map[int]bool)
	for i := range 1 << 18 {
		pairs[i] = i%3 == 0
	}
	var deep, tooDeep *nest
	for i := range 2000 {
		if i < 1000 {
			deep = &nest{deep}
		}
		tooDeep = &nest{tooDeep}
	}
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		if c.Rank() == 0 {
			for _, v := range []any{long, pairs, "\xff\xfe no UTF-8", deep} {
				require.NoError(t, object.Send(bg, c, v, 1, 0))
			}
			err := object.Send(bg, c, tooDeep, 1, 0)
			require.ErrorIs(t, err, mpi.ErrType)
			require.ErrorContains(t, err, "too deep")
			_, err = object.Encode(tooDeep)
			require.ErrorIs(t, err, mpi.ErrType)
			require.NoError(t, object.Send(bg, c, "next", 1, 0))
			return
		}
		gotLong, _, err := object.Recv[[]int32](bg, c, 0, 0)
		require.NoError(t, err)
		require.Equal(t, long, gotLong)
		gotPairs, _, err := object.Recv[map[int]bool](bg, c, 0, 0)
		require.NoError(t, err)
		require.Equal(t, pairs, gotPairs)
		text, _, err := object.Recv[string](bg, c, 0, 0)
		require.NoError(t, err)
		require.Equal(t, "\xff\xfe no UTF-8", text)
		gotDeep, _, err := object.Recv[*nest](bg, c, 0, 0)
		require.NoError(t, err)
		n := 0
		for at := gotDeep; at != nil; at = at.Next {
			n++
		}
		require.Equal(t, 1000, n)
		text, _, err = object.Recv[string](bg, c, 0, 0)
		require.NoError(t, err)
		require.Equal(t, "next", text)
	})
}
