package pvfs

import (
	"bytes"
	"compress/flate"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBenchData writes the data of bench: no two units are equal, and none can be compressed. The data read back are compared.
func TestBenchData(t *testing.T) {
	const block = 16 * unitBytes
	const size = 20*block + 3*unitBytes + 5
	const seed = 7
	d := newBenchData(seed, block)
	to := &written{data: make([]byte, size)}
	n, err := copyBytes(context.Background(), to, d, size, func(int) {})
	require.NoError(t, err)
	require.EqualValues(t, size, n)

	seen := make(map[[64]byte]int)
	for at := 0; at+unitBytes <= size; at += unitBytes {
		head := [64]byte(to.data[at:])
		other, twice := seen[head]
		require.False(t, twice, "the units at %d and %d are the same", at, other)
		seen[head] = at
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write(to.data[:block])
	require.NoError(t, err)
	require.NoError(t, w.Close())
	assert.Greater(t, packed.Len(), block*99/100, "it can be compressed")

	again := &written{data: make([]byte, size)}
	_, err = copyBytes(context.Background(), again, newBenchData(seed, block), size, func(int) {})
	require.NoError(t, err)
	assert.True(t, bytes.Equal(to.data, again.data), "one seed, other bytes")
	other := newBenchData(seed+1, block)
	assert.NotEqual(t, d.stamp(0), other.stamp(0))

	require.NoError(t, write(to.data, d))
	assert.Error(t, write(to.data, other))
	damaged := bytes.Clone(to.data[20*block:])
	for _, at := range []int{0, stampBytes, unitBytes - 1, unitBytes, 2*unitBytes + 100, len(damaged) - 6, len(damaged) - 1} {
		damaged[at] ^= 1
		_, err := sink{d}.WriteAt(damaged, 20*block)
		assert.ErrorContains(t, err, "differ from the written data", "at %d", at)
		_, err = sink{}.WriteAt(damaged, 20*block)
		assert.NoError(t, err, "nobody asked")
		damaged[at] ^= 1
	}
	_, err = sink{d}.WriteAt(damaged, 0)
	assert.Error(t, err, "one block in place of another")
}

// write passes data to a sink in blocks.
func write(data []byte, want *benchData) error {
	_, err := copyBytes(context.Background(), sink{want}, bytes.NewReader(data), int64(len(data)), func(int) {})
	return err
}
