package blocksum

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// TestOf: a block that is short counts as filled up with zeros, and zeros have no sum.
func TestOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	assert.Zero(t, Of(nil))
	assert.Zero(t, Of(make([]byte, 17)))
	assert.Zero(t, Of(make([]byte, Bytes)))
	for range 200 {
		block := make([]byte, Bytes)
		n := rng.IntN(Bytes + 1)
		for i := range block[:n] {
			block[i] = byte(rng.Uint32())
		}
		want := crc32.Checksum(block, crc32.MakeTable(crc32.Castagnoli)) ^ crc32.Checksum(make([]byte, Bytes), crc32.MakeTable(crc32.Castagnoli))
		assert.Equal(t, want, Of(block))
		assert.Equal(t, want, Of(block[:n]))
		if n > 0 {
			block[rng.IntN(n)] ^= 1 << rng.IntN(8)
			assert.NotEqual(t, want, Of(block), "one bit")
		}
	}
}

// TestMatch: sums of a run of blocks match it up to the first that is wrong.
func TestMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	blocks := make([]byte, 5*Bytes+100)
	for i := range blocks {
		blocks[i] = byte(rng.Uint32())
	}
	sums := Append(nil, blocks)
	require.Len(t, sums, 6*SumBytes)
	require.EqualValues(t, 6, Count(int64(len(blocks))))
	require.Equal(t, 6, Match(sums, blocks))
	for i := range 6 {
		require.Equal(t, Of(blocks[i*Bytes:min((i+1)*Bytes, len(blocks))]), At(sums, i))
		at := i*Bytes + rng.IntN(100)
		blocks[at] ^= 0x10
		require.Equal(t, i, Match(sums, blocks))
		blocks[at] ^= 0x10
	}
	require.EqualValues(t, HeaderBytes+3*SumBytes, Place(3))
	require.Zero(t, Count(0))
	require.EqualValues(t, 1, Count(1))
	require.EqualValues(t, 1, Count(Bytes))
	require.EqualValues(t, 2, Count(Bytes+1))
}

var samples = []struct {
	name string
	Header
}{
	{"open", Header{State: Open, Handle: 0x0123456789abcdef, Boot: "6f1c1d43-3c5e-4b8e-9a55-0d2f0a0b7c11"}},
	{"sealed", Header{State: Sealed, Handle: 1}},
	{"open in a run that is over", Header{State: Open, Handle: 2}},
}

// TestHeaders: the bytes of headers are those in testdata, and no other bytes are taken for one.
func TestHeaders(t *testing.T) {
	var vectors []golden.Vector
	for _, h := range samples {
		b := h.Append(nil)
		require.Len(t, b, HeaderBytes)
		vectors = append(vectors, golden.Vector{Name: h.name, Bytes: slices.Clone(b)})
		got, err := ParseHeader(b)
		require.NoError(t, err)
		require.Equal(t, h.Header, got)
		for n := range b {
			_, err := ParseHeader(b[:n])
			require.ErrorIs(t, err, ErrHeader)
		}
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			_, err := ParseHeader(b)
			require.ErrorIs(t, err, ErrHeader, "bit %d", bit)
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
	golden.CheckVectors(t, "testdata/headers.golden", vectors)
}

// FuzzHeader: an accepted header is encoded to the same bytes again, also if the test corrects its checksum.
func FuzzHeader(f *testing.F) {
	for _, h := range samples {
		f.Add(h.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= HeaderBytes {
			binary.LittleEndian.PutUint32(b[sumAt:], crc32.Checksum(b[:sumAt], castagnoli))
		}
		h, err := ParseHeader(b)
		if err != nil {
			require.ErrorIs(t, err, ErrHeader)
			return
		}
		require.Equal(t, b[:HeaderBytes], h.Append(nil))
	})
}

// TestSumsOfRuns: sums of many blocks at once are those of each, wherever the blocks begin, and nothing beside them is written.
func TestSumsOfRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	memory := make([]byte, 70*Bytes+64)
	for i := range memory {
		memory[i] = byte(rng.Uint32())
	}
	for count := range 70 {
		blocks := memory[rng.IntN(65):][:count*Bytes]
		want := make([]byte, count*SumBytes)
		eachSum(want, blocks)
		got := bytes.Repeat([]byte{0xa5}, len(want)+16)
		sumsOf(got[8:8+len(want)], blocks)
		require.Equal(t, want, got[8:8+len(want)], "%d blocks", count)
		require.Equal(t, bytes.Repeat([]byte{0xa5}, 16), append(got[:8:8], got[8+len(want):]...), "%d blocks", count)
		if count > 0 {
			at, bit := rng.IntN(len(blocks)), byte(1)<<rng.IntN(8)
			blocks[at] ^= bit
			require.Equal(t, at/Bytes, Match(want, blocks))
			blocks[at] ^= bit
		}
	}
}

// TestSumOfEachBit: no bit of a block is left out, and none counts as another one.
func TestSumOfEachBit(t *testing.T) {
	block, seen := make([]byte, Bytes), map[uint32]bool{0: true}
	for bit := range 8 * Bytes {
		block[bit/8] = 1 << (bit % 8)
		sum := At(Append(nil, block), 0)
		require.Equal(t, Of(block), sum, "bit %d", bit)
		require.False(t, seen[sum], "bit %d", bit)
		seen[sum] = true
		block[bit/8] = 0
	}
}

// BenchmarkMatch compares blocks, in a cache and beyond, with the sums of runs and with one after the other.
func BenchmarkMatch(b *testing.B) {
	for _, size := range []int{256 << 10, 64 << 20} {
		blocks := make([]byte, size)
		for i := range blocks {
			blocks[i] = byte(i)
		}
		sums := Append(nil, blocks)
		b.Run(fmt.Sprintf("%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				Match(sums, blocks)
			}
		})
		b.Run(fmt.Sprintf("%d/each", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				eachSum(sums, blocks)
			}
		})
	}
}
