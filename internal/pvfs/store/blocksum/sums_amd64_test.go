package blocksum

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFold: the sums that foldSums makes are those of hash/crc32.
func TestFold(t *testing.T) {
	if !useFold {
		t.Skip("the processor lacks AVX-512 with VPCLMULQDQ")
	}
	rng := rand.New(rand.NewPCG(4, 1))
	blocks := make([]byte, 9*Bytes+64)
	for i := range blocks {
		blocks[i] = byte(rng.Uint32())
	}
	for shift := range 65 {
		for count := 1; count <= 9; count++ {
			want, got := make([]byte, count*SumBytes), make([]byte, count*SumBytes)
			eachSum(want, blocks[shift:][:count*Bytes])
			foldSums(&got[0], &blocks[shift], count, &foldBy)
			require.Equal(t, want, got, "%d blocks, address %d", count, shift)
		}
	}
}

// TestWithoutFold: sums are the same on processors that cannot fold.
func TestWithoutFold(t *testing.T) {
	defer func(use bool) { useFold = use }(useFold)
	useFold = false
	TestMatch(t)
	TestSumsOfRuns(t)
	TestSumOfEachBit(t)
}
