package methodtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A message is size bytes that are computed from id, so that a receiver can tell which
// message it is and whether it is whole.
type message struct {
	id   uint64
	size int
}

func (m message) String() string { return fmt.Sprintf("message %#x of %d bytes", m.id, m.size) }

// word is the i-th group of eight bytes (splitmix64).
//
//go:norace
func (m message) word(i uint64) uint64 {
	z := m.id*0xd1342543de82ef95 + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// fill writes the message into pieces that have room for it.
func (m message) fill(pieces [][]byte) {
	var off int
	for _, p := range pieces {
		p = p[:min(len(p), m.size-off)]
		m.fillAt(p, uint64(off))
		off += len(p)
	}
}

func (m message) fillAt(b []byte, off uint64) {
	var block [blockSize]byte
	for len(b) > 0 {
		at := off % blockSize
		m.block(&block, off-at)
		n := copy(b, block[at:])
		b, off = b[n:], off+uint64(n)
	}
}

// blockSize is how many bytes of a message are computed at a time.
const blockSize = 4096

// block computes the bytes of a message starting at an offset. The race detector need not
// check each of them; it sees the block as a whole when it is copied or compared.
//
//go:norace
func (m message) block(b *[blockSize]byte, off uint64) {
	for i := 0; i < blockSize; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], m.word((off+uint64(i))/8))
	}
}

// wrongAt returns the offset of the first byte that differs from the message, or -1 if
// pieces begin with the whole message.
func (m message) wrongAt(pieces [][]byte) int {
	var off int
	for _, p := range pieces {
		p = p[:min(len(p), m.size-off)]
		if i := m.wrongFrom(p, uint64(off)); i >= 0 {
			return off + i
		}
		off += len(p)
	}
	if off < m.size {
		return off
	}
	return -1
}

func (m message) wrongFrom(b []byte, off uint64) int {
	var block [blockSize]byte
	for done := 0; done < len(b); {
		at := (off + uint64(done)) % blockSize
		m.block(&block, off+uint64(done)-at)
		want := block[at:min(blockSize, at+uint64(len(b)-done))]
		if got := b[done : done+len(want)]; !bytes.Equal(got, want) {
			return done + firstDifference(got, want)
		}
		done += len(want)
	}
	return -1
}

// firstDifference is the index of the first byte in which two slices of one length differ.
func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// Values that mark memory which a method must not change: marginByte is beside every
// piece, poisonByte fills a buffer that was released. The margin is odd, so that pieces
// begin at every alignment.
const (
	marginSize = 13
	marginByte = 0xa5
	poisonByte = 0xe1
)

// memory is the buffer of one operation: pieces with margins around each.
type memory struct {
	slab     []byte // margins and pieces; nil for memory from elsewhere
	pieces   [][]byte
	size     int
	poisoned bool
	parts    []*memory // others that share parts of this one
}

// newMemory makes memory of pieces with the given lengths.
func newMemory(lengths ...int) *memory {
	mem := &memory{}
	for _, n := range lengths {
		mem.size += n
	}
	mem.slab = make([]byte, mem.size+marginSize*(len(lengths)+1))
	at := 0
	for _, n := range lengths {
		set(mem.slab[at:at+marginSize], marginByte)
		at += marginSize
		mem.pieces = append(mem.pieces, mem.slab[at:at+n:at+n])
		at += n
	}
	set(mem.slab[at:], marginByte)
	return mem
}

// memoryOf makes memory of one piece that was allocated elsewhere.
func memoryOf(b []byte) *memory {
	return &memory{pieces: [][]byte{b}, size: len(b)}
}

// forget is called for memory that ceases to exist.
func (mem *memory) forget() {
	mem.pieces = nil
	for _, part := range mem.parts {
		part.pieces = nil
	}
}

// write fills the memory with a message to send.
func (mem *memory) write(m message) {
	m.fill(mem.pieces)
	mem.poisoned = false
}

// poison marks memory that is ours again: nothing may write to it from now on, and a
// method that still reads from it sends wrong bytes.
func (mem *memory) poison() {
	for _, p := range mem.pieces {
		set(p, poisonByte)
	}
	mem.poisoned = true
}

// touched describes the first byte that a method wrote without permission, or is empty.
func (mem *memory) touched() string {
	at := 0
	for i, p := range mem.pieces {
		if mem.slab != nil && !all(mem.slab[at:at+marginSize], marginByte) {
			return fmt.Sprintf("the %d bytes before piece %d were written to", marginSize, i)
		}
		at += marginSize + len(p)
		if mem.poisoned && !all(p, poisonByte) {
			return fmt.Sprintf("piece %d of %d bytes was written to after the operation had completed", i, len(p))
		}
	}
	if mem.slab != nil && !all(mem.slab[at:], marginByte) {
		return "the bytes behind the last piece were written to"
	}
	return ""
}

func set(b []byte, v byte) {
	if len(b) == 0 {
		return
	}
	b[0] = v
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

func all(b []byte, v byte) bool { return bytes.Count(b, []byte{v}) == len(b) }
