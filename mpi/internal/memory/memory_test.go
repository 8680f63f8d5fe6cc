package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// TestPieces: memory that lies together is used as it is, unless it must be converted; other memory
// is packed.
func TestPieces(t *testing.T) {
	xs := []int32{1, 2, 3, 4}
	b := mpi.Slice(xs)
	m, err := Of(b, nil, true)
	require.NoError(t, err)
	assert.EqualValues(t, 16, m.Size())
	got, ok := m.Piece(4, 12)
	require.True(t, ok)
	got[0] = 9
	assert.EqualValues(t, 9, xs[1])
	assert.Equal(t, 8, cap(got), "nothing behind it can be reached")

	m, err = Of(b, datatype.External32, true)
	require.NoError(t, err)
	_, ok = m.Piece(4, 12)
	assert.False(t, ok)
	packed := make([]byte, 6)
	m.Pack(packed, 2)
	assert.Equal(t, []byte{0, 1, 0, 0, 0, 9}, packed)
	m.Unpack(6, []byte{1, 2, 7})
	assert.Equal(t, []int32{1, 0x102, 0x07000003, 4}, xs)

	column, err := datatype.Vector(2, 1, 2, datatype.Int32)
	require.NoError(t, err)
	b = mpi.Typed(xs, 1, 1, column)
	m, err = Of(b, nil, true)
	require.NoError(t, err)
	_, ok = m.Piece(0, 8)
	assert.False(t, ok)
	m.Unpack(4, []byte{5, 0, 0, 0})
	assert.EqualValues(t, 5, xs[3])
	m.Pack(packed, 4)
	assert.Equal(t, []byte{5, 0, 0, 0}, packed[:4])

	m, err = Of(mpi.Typed(xs, 0, 2, datatype.Long), datatype.External32, true)
	require.NoError(t, err)
	assert.EqualValues(t, 8, m.Size())
	assert.EqualValues(t, 8, m.Packed(7), "the memory of the one that is whole")
	m.Limit(6)
	xs[0], xs[1], xs[2] = 1, 1, 1
	m.Unpack(0, []byte{0, 0, 0, 7, 1, 2, 3, 4})
	assert.Equal(t, []int32{7, 0, 1}, xs[:3])
	assert.NoError(t, m.Err())

	m, err = Of(mpi.InPlace, datatype.External32, true)
	require.NoError(t, err)
	assert.Zero(t, m.Size())
	_, ok = m.Piece(0, 0)
	assert.True(t, ok)
}

// TestRefused: memory that does not have its elements, or has some twice.
func TestRefused(t *testing.T) {
	_, err := Of(mpi.Typed(make([]byte, 7), 0, 2, datatype.Int32), nil, false)
	assert.ErrorIs(t, err, errclass.Buffer)
	_, err = Of(mpi.Typed([]byte{}, 0, -1, datatype.Int32), nil, false)
	assert.ErrorIs(t, err, errclass.Count)
	twice, err := datatype.Resized(datatype.Int32, 0, 2)
	require.NoError(t, err)
	b := mpi.Typed(make([]byte, 8), 0, 3, twice)
	_, err = Of(b, nil, false)
	assert.NoError(t, err)
	_, err = Of(b, nil, true)
	assert.ErrorIs(t, err, errclass.Type)
}
