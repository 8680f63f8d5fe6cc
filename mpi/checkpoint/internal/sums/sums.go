// Package sums computes the checksums of a checkpoint without bringing its bytes together. An array is
// divided into blocks, and each block has a CRC-32C. Of a block, each rank may have some bytes only.
//
// Without the inversions at its beginning and end, a CRC is linear: the CRC of a block is the xor of
// those of its parts, each of which is the block with zeros in place of all other bytes. So a rank
// computes the CRCs of its parts (Parts), the ranks combine them by xor, and Whole makes the usual
// CRC-32C of the result. Zeros need not be fed: a CRC register after n zeros is the register times
// x^8n, modulo the polynomial.
//
// cover.go finds out whether the parts of all ranks are each byte once. The package is pure.
package sums

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Of returns the CRC-32C of some bytes.
func Of(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Count returns how many blocks some bytes have. The last one may be shorter.
func Count(bytes, block int64) int64 {
	n := bytes / block
	if bytes%block != 0 {
		n++
	}
	return n
}

// Parts has the CRCs of this rank's part of each block.
type Parts struct {
	bytes, block int64
	sums         []uint32

	// The block that bytes are being added to.
	now int64
	at  int64 // where its next byte lies
	reg uint32

	// The last distance that was skipped, and its factor.
	gap    int64
	factor uint32
}

// NewParts returns the sums of a part of so many bytes, in which there is nothing yet. block > 0.
func NewParts(bytes, block int64) *Parts {
	return &Parts{bytes: bytes, block: block, sums: make([]uint32, Count(bytes, block)), factor: one}
}

// Add adds bytes at an offset. Offsets ascend, and the bytes lie within the whole.
func (p *Parts) Add(off int64, b []byte) {
	for len(b) > 0 {
		block := off / p.block
		if block != p.now {
			p.flush()
			p.now, p.at = block, block*p.block
		}
		n := min(int64(len(b)), (block+1)*p.block-off)
		p.skip(off - p.at)
		p.reg = ^crc32.Update(^p.reg, castagnoli, b[:n])
		off, b = off+n, b[n:]
		p.at = off
	}
}

// Sums returns the sums of all blocks. Nothing may be added afterwards.
func (p *Parts) Sums() []uint32 {
	p.flush()
	return p.sums
}

// flush ends the block that bytes were added to.
func (p *Parts) flush() {
	if p.now >= int64(len(p.sums)) {
		return
	}
	p.skip(min((p.now+1)*p.block, p.bytes) - p.at)
	p.sums[p.now] ^= p.reg
	p.reg, p.at = 0, min((p.now+1)*p.block, p.bytes)
}

// skip is Add for n zeros.
func (p *Parts) skip(n int64) {
	if n == 0 || p.reg == 0 {
		return
	}
	if n != p.gap {
		p.gap, p.factor = n, zeros(n)
	}
	p.reg = times(p.reg, p.factor)
}

// Whole turns the combined sums of all ranks into the CRC-32C of each block, in place.
func Whole(sums []uint32, bytes, block int64) {
	full := ofZeros(block)
	for i := range sums {
		if n := bytes - int64(i)*block; n < block {
			full = ofZeros(n)
		}
		sums[i] ^= full
	}
}

// ofZeros returns the CRC-32C of n zeros.
func ofZeros(n int64) uint32 { return ^times(^uint32(0), zeros(n)) }

// Polynomials modulo that of CRC-32C, the highest coefficient of x^0 first.
const (
	modulus uint32 = crc32.Castagnoli
	one     uint32 = 1 << 31 // x^0
)

// times multiplies two polynomials.
func times(a, b uint32) (product uint32) {
	for bit := one; a != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
			a ^= bit
		}
		b = b>>1 ^ modulus&-(b&1)
	}
	return product
}

// powers are x^8, x^16, x^32 and so on.
var powers = func() (p [63]uint32) {
	p[0] = one >> 8
	for i := 1; i < len(p); i++ {
		p[i] = times(p[i-1], p[i-1])
	}
	return p
}()

// zeros returns the factor x^8n by which n zeros multiply a register.
func zeros(n int64) uint32 {
	f := one
	for i := 0; n != 0; i, n = i+1, n>>1 {
		if n&1 != 0 {
			f = times(f, powers[i])
		}
	}
	return f
}
