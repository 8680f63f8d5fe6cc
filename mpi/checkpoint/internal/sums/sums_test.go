package sums

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// TestAgainstWholeBlocks: parts of any form, combined, give the CRC-32C of the whole blocks.
func TestAgainstWholeBlocks(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		block := 1 + r.Int64N(300)
		whole := make([]byte, r.IntN(2000))
		for i := range whole {
			whole[i] = byte(r.Uint32()) * byte(r.IntN(2)) // with many zeros
		}
		n := int64(len(whole))
		parts := make([]*Parts, 1+r.IntN(5))
		for i := range parts {
			parts[i] = NewParts(n, block)
		}
		mark := uint64(0)
		for off := int64(0); off < n; {
			length := min(1+r.Int64N(2*block), n-off)
			parts[r.IntN(len(parts))].Add(off, whole[off:off+length])
			mark += Mark(off, length)
			off += length
		}
		assert.Equal(t, Mark(0, n), mark)
		got := make([]uint32, Count(n, block))
		for _, p := range parts {
			for i, s := range p.Sums() {
				got[i] ^= s
			}
		}
		Whole(got, n, block)
		for i := range got {
			b := whole[int64(i)*block : min(int64(i+1)*block, n)]
			require.Equal(t, crc32.Checksum(b, castagnoli), got[i], "block %d of %d bytes", i, block)
		}
	})
}

// TestRegularGaps: columns of an array, whose gaps are all the same.
func TestRegularGaps(t *testing.T) {
	const rows, cols, block = 50, 30, 256
	whole := make([]byte, rows*cols)
	for i := range whole {
		whole[i] = byte(7*i + 1)
	}
	got := make([]uint32, Count(rows*cols, block))
	for col := range cols {
		p := NewParts(rows*cols, block)
		for row := range rows {
			at := row*cols + col
			p.Add(int64(at), whole[at:at+1])
		}
		for i, s := range p.Sums() {
			got[i] ^= s
		}
	}
	Whole(got, rows*cols, block)
	for i := range got {
		assert.Equal(t, Of(whole[i*block:min((i+1)*block, len(whole))]), got[i])
	}
}

// TestMarksSee: a hole, an overlap, and both at once are seen.
func TestMarksSee(t *testing.T) {
	const n = 1000
	for name, ranges := range map[string][][2]int64{
		"nothing":         {},
		"hole":            {{0, 500}, {501, 499}},
		"hole at the end": {{0, 999}},
		"hole at first":   {{1, 999}},
		"overlap":         {{0, 500}, {499, 501}},
		"twice":           {{0, 1000}, {0, 1000}},
		"as many bytes":   {{0, 500}, {400, 100}, {600, 400}},
		"beyond":          {{0, 1001}},
		"shifted":         {{1, 1000}},
	} {
		sum := uint64(0)
		for _, r := range ranges {
			sum += Mark(r[0], r[1])
		}
		assert.NotEqual(t, Mark(0, n), sum, name)
	}
	assert.Equal(t, Mark(0, n), Mark(10, 20)+Mark(0, 10)+Mark(40, n-40)+Mark(30, 10))
	assert.Zero(t, Mark(5, 0))
}

// TestOneBit: every bit of a block matters.
func TestOneBit(t *testing.T) {
	whole := []byte("a block of a checkpoint")
	sum := func() uint32 {
		p := NewParts(int64(len(whole)), 1<<20)
		p.Add(0, whole)
		s := p.Sums()
		Whole(s, int64(len(whole)), 1<<20)
		return s[0]
	}
	want := sum()
	assert.Equal(t, Of(whole), want)
	for i := range 8 * len(whole) {
		whole[i/8] ^= 1 << (i % 8)
		assert.NotEqual(t, want, sum(), "bit %d", i)
		whole[i/8] ^= 1 << (i % 8)
	}
}

func BenchmarkAdd(b *testing.B) {
	mem := make([]byte, 1<<20)
	for name, run := range map[string]int64{"whole": 1 << 20, "rows of 4 KiB": 4 << 10, "cells of 8 B": 8} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(mem)))
			for b.Loop() {
				p := NewParts(int64(2*len(mem)), 1<<20)
				for at := int64(0); at < int64(len(mem)); at += run {
					p.Add(2*at, mem[at:at+run])
				}
				p.Sums()
			}
		})
	}
}
