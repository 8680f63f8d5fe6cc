// Package blocksum is the format of the files that have the checksums of datafiles' blocks (docs/internals/protocols/pvfs-storage.md). It is pure: package
// store decides when a sum is written and what it proves.
package blocksum

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// Bytes is the size of a block. The last block of a datafile may be shorter.
const Bytes = 4096

// SumBytes is the size of a sum in a file.
const SumBytes = 4

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	zeros      [Bytes]byte
	ofZeros    = crc32.Checksum(zeros[:], castagnoli)
)

// Of is the sum of a block of at most Bytes bytes: their CRC-32C, with zeros up to the size of a block, xor that of a block of zeros.
// So the sum of zeros is 0, a hole in a datafile matches a hole in the file of its sums, and a block that
// a longer datafile has in full keeps the sum it had as the last one.
func Of(block []byte) uint32 {
	sum := crc32.Update(0, castagnoli, block)
	if rest := Bytes - len(block); rest > 0 {
		sum = crc32.Update(sum, castagnoli, zeros[:rest])
	}
	return sum ^ ofZeros
}

// Append appends the sums of a run of blocks. The last block may be shorter.
func Append(sums, blocks []byte) []byte {
	count := len(blocks) / Bytes
	start := len(sums)
	sums = slices.Grow(sums, count*SumBytes)[:start+count*SumBytes]
	sumsOf(sums[start:], blocks)
	if rest := blocks[count*Bytes:]; len(rest) > 0 {
		sums = binary.LittleEndian.AppendUint32(sums, Of(rest))
	}
	return sums
}

// Match is the number of leading blocks of a run that have the given sums.
func Match(sums, blocks []byte) (n int) {
	var is [64 * SumBytes]byte
	for len(blocks) > 0 {
		part := blocks[:min(len(blocks), len(is)/SumBytes*Bytes)]
		blocks = blocks[len(part):]
		is := Append(is[:0], part)
		if !bytes.Equal(is, sums[n*SumBytes:n*SumBytes+len(is)]) {
			for i := 0; At(is, i) == At(sums, n); i++ {
				n++
			}
			return n
		}
		n += len(is) / SumBytes
	}
	return n
}

// eachSum writes the sums of blocks of full size, as many as there are, one by one.
func eachSum(sums, blocks []byte) {
	for ; len(blocks) >= Bytes; sums, blocks = sums[SumBytes:], blocks[Bytes:] {
		binary.LittleEndian.PutUint32(sums, Of(blocks[:Bytes]))
	}
}

// At is the i-th sum of a run of them.
func At(sums []byte, i int) uint32 { return binary.LittleEndian.Uint32(sums[i*SumBytes:]) }

// Place is where the sum of a block is in the file, the number of the block counted from 0.
func Place(block int64) int64 { return HeaderBytes + block*SumBytes }

// Count is how many blocks a datafile of this size has, in bytes.
func Count(size int64) int64 { return (size + Bytes - 1) / Bytes }

// A State says what the sums in a file prove after a loss of power.
type State byte

const (
	// Sealed: the data and the sums were synced, and neither was changed since.
	Sealed State = 1
	// Open: they may have been written since, during the boot of the machine that Boot names. After that boot, a block and its
	// sum may be of different times.
	Open State = 2
)

// Header begins a file of sums.
type Header struct {
	State  State
	Handle uint64 // the datafile
	Boot   string // with Open, BootBytes at most; "" is a run that is over
}

// HeaderBytes is its size. It lies within one sector, which a disk writes as a whole.
const HeaderBytes = 64

// BootBytes is the size of the longest name of a run of the machine.
const BootBytes = 40

const (
	magic   = "VSUM"
	version = 1
	// Offsets in a header.
	stateAt  = 6
	bootLen  = 7
	handleAt = 8
	bootAt   = 16
	sumAt    = HeaderBytes - SumBytes
)

// ErrHeader: a header is damaged, or one of another version.
var ErrHeader = errors.New("blocksum: no header of a file of checksums")

// Append appends the header: magic "VSUM", u16 version, u8 state, u8 length of boot, u64 handle, boot (40 bytes, zeros behind it), 4 zeros,
// u32 CRC-32C of all that. Numbers are little-endian.
func (h Header) Append(b []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = append(b, byte(h.State), byte(len(h.Boot)))
	b = binary.LittleEndian.AppendUint64(b, h.Handle)
	b = append(b, h.Boot...)
	b = append(b, zeros[:sumAt-(len(b)-start)]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// ParseHeader reads a header. ErrHeader.
func ParseHeader(b []byte) (h Header, err error) {
	if len(b) < HeaderBytes {
		return h, fmt.Errorf("%w: %d bytes", ErrHeader, len(b))
	}
	b = b[:HeaderBytes]
	if crc32.Checksum(b[:sumAt], castagnoli) != binary.LittleEndian.Uint32(b[sumAt:]) {
		return h, fmt.Errorf("%w: wrong checksum", ErrHeader)
	}
	if string(b[:4]) != magic || binary.LittleEndian.Uint16(b[4:]) != version {
		return h, fmt.Errorf("%w: %x", ErrHeader, b[:stateAt])
	}
	h.State, h.Handle = State(b[stateAt]), binary.LittleEndian.Uint64(b[handleAt:])
	n := int(b[bootLen])
	if h.State != Sealed && h.State != Open || n > BootBytes {
		return Header{}, fmt.Errorf("%w: state %d, name of %d bytes", ErrHeader, h.State, n)
	}
	h.Boot = string(b[bootAt : bootAt+n])
	for _, rest := range b[bootAt+n : sumAt] {
		if rest != 0 {
			return Header{}, fmt.Errorf("%w: bytes behind the name", ErrHeader)
		}
	}
	return h, nil
}
