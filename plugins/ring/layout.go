package ring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Layout of the memory of a ring, in bytes. Both processes rely on it.
const (
	// Line is what records are aligned to: a cache line.
	Line = 64
	// WordBytes is the length of the word before a record.
	WordBytes = 8
	// HeaderBytes is what stands before the records: how far the reader is, and
	// whether it sleeps.
	HeaderBytes = 2 * Line
	// DataMin and DataMax bound the room for records, a power of two.
	DataMin, DataMax = 4 << 10, 1 << 30

	readOffset  = 0 // uint64: the reader's position, in bytes since the beginning
	sleepOffset = 8 // uint32: 1 if the reader wants to be woken
)

// A word is a record's length and, in its upper half, what tells that it was written
// for the place where it stands: lines since the beginning, plus one, modulo 2^32.
// A word of 0 says that nothing is there yet; so that none other is 0, no record is empty.
const (
	lengthBits = 32
	// skip is the length that says that the next record is at the beginning of the
	// room, as there was none for it here.
	skip = 1<<lengthBits - 1
)

// ErrCorrupt: the other side broke the rules of the ring. It is of no more use.
var ErrCorrupt = errors.New("ring: the other side wrote what cannot be there")

// Bytes is the memory that a ring needs for data bytes of records.
func Bytes(data int) int { return HeaderBytes + data }

// RecordMax is the length of the longest record of a ring with so much room: a quarter
// of it, so that a writer never waits for the whole ring to be read.
func RecordMax(data int) int { return data/4 - WordBytes }

// A memory is the shared memory of a ring.
type memory struct {
	read  *uint64 // the reader's position
	sleep *uint32
	data  []byte
}

func newMemory(mem []byte) (memory, error) {
	n := len(mem) - HeaderBytes
	if n < DataMin || n > DataMax || n&(n-1) != 0 {
		return memory{}, fmt.Errorf("ring: %d bytes of memory, want %d and a power of two from %d to %d", len(mem), HeaderBytes, DataMin, DataMax)
	}
	base := unsafe.Pointer(unsafe.SliceData(mem))
	if uintptr(base)%Line != 0 {
		return memory{}, fmt.Errorf("ring: the memory does not begin at a multiple of %d", Line)
	}
	return memory{
		read:  (*uint64)(unsafe.Add(base, readOffset)),
		sleep: (*uint32)(unsafe.Add(base, sleepOffset)),
		data:  mem[HeaderBytes:],
	}, nil
}

// word is the word at a position, which is a multiple of Line.
func (m *memory) word(at uint64) *uint64 {
	return (*uint64)(unsafe.Pointer(&m.data[at&uint64(len(m.data)-1)]))
}

// record is the memory behind the word at a position.
func (m *memory) record(at uint64, n int) []byte {
	i := int(at&uint64(len(m.data)-1)) + WordBytes
	return m.data[i : i+n : i+n]
}

// left is how many bytes there are from a position to the end of the room.
func (m *memory) left(at uint64) int { return len(m.data) - int(at&uint64(len(m.data)-1)) }

// place is the upper half of a word that stands at a position.
func place(at uint64) uint64 { return uint64(uint32(at/Line+1)) << lengthBits }

// lines is the room that a record takes, with its word.
func lines(n int) int { return (WordBytes + n + Line - 1) &^ (Line - 1) }

func load(p *uint64) uint64 { return atomic.LoadUint64(p) }

// publish is a full fence. A store would cost as much, but under the race detector it is
// none for memory that is not Go's.
func publish(p *uint64, v uint64) { atomic.SwapUint64(p, v) }
