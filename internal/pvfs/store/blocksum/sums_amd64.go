package blocksum

import (
	"hash/crc32"
	"math/bits"

	"golang.org/x/sys/cpu"
)

// useFold: the processor multiplies polynomials in registers of 64 bytes. That takes less than half the time of its CRC32 instruction,
// which is what hash/crc32 uses.
var useFold = cpu.X86.HasSSE42 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VPCLMULQDQ

// A fold moves 16 bytes over a distance without changing what remains of them when the polynomial divides them: it multiplies their first and
// their last 8 bytes (V. Gopal and others, Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction, Intel 2009).
type fold [2]uint64

// foldBy are the distances of foldSums. The last 64 bytes are one register: the last of its four lanes is not moved.
var foldBy = [...]fold{over(256), over(192), over(128), over(64), over(48), over(32), over(16), {}}

const foldDistances = 8

// over is the fold over a number of bytes. The multipliers are x to the power of the distance in bits, 32 more or less, modulo the
// polynomial. Bits are in reverse order, as everywhere in this CRC, and in products of such numbers one place further.
func over(bytes int) fold {
	return fold{uint64(powerMod(8*bytes+32)) << 1, uint64(powerMod(8*bytes-32)) << 1}
}

// powerMod is x to the power of n modulo the polynomial, bits in reverse order.
func powerMod(n int) uint32 {
	r := bits.Reverse32(1)
	for range n {
		r = r>>1 ^ crc32.Castagnoli&-(r&1)
	}
	return r
}

// foldSums writes the sums of blocks of full size.
//
//go:noescape
func foldSums(sums, blocks *byte, count int, by *[foldDistances]fold)

// sumsOf writes the sums of blocks of full size, as many as there are.
func sumsOf(sums, blocks []byte) {
	count := len(blocks) / Bytes
	if !useFold || count == 0 {
		eachSum(sums, blocks)
		return
	}
	foldSums(&sums[:count*SumBytes][0], &blocks[0], count, &foldBy)
}
