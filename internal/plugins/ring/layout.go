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
	// HeaderBytes is the size of the header before the records: the reader's position, and whether
	// it sleeps.
	HeaderBytes = 2 * Line
	// DataMin and DataMax limit the record space, which is a power of two.
	DataMin, DataMax = 4 << 10, 1 << 30

	readOffset  = 0 // uint64: the reader's position, in bytes since the beginning
	sleepOffset = 8 // uint32: 1 if the reader wants to be woken
)

// A word has a record's length in its lower half. Its upper half shows that it was written for its
// place: lines since the beginning, plus one, modulo 2^32. A word of 0 means that there is no
// record yet. No other word is 0, because no record is empty.
const (
	lengthBits = 32
	// skip is the length that means that the next record is at the beginning of the space, because
	// it did not fit here.
	skip = 1<<lengthBits - 1
)

// ErrCorrupt: the other side broke the rules of the ring, which cannot be used any more.
var ErrCorrupt = errors.New("ring: the other side wrote what cannot be there")

// Bytes returns the memory that a ring needs for data bytes of record space.
func Bytes(data int) int { return HeaderBytes + data }

// RecordMax returns the length of the longest record in a ring with data bytes of record space. It
// is a quarter of the space, so that a writer never waits until the whole ring is read.
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

// word returns the word at a position, which is a multiple of Line.
func (m *memory) word(at uint64) *uint64 {
	return (*uint64)(unsafe.Pointer(&m.data[at&uint64(len(m.data)-1)]))
}

// record returns the memory behind the word at a position.
func (m *memory) record(at uint64, n int) []byte {
	i := int(at&uint64(len(m.data)-1)) + WordBytes
	return m.data[i : i+n : i+n]
}

// left returns the number of bytes from a position to the end of the space.
func (m *memory) left(at uint64) int { return len(m.data) - int(at&uint64(len(m.data)-1)) }

// place returns the upper half of a word at a position.
func place(at uint64) uint64 { return uint64(uint32(at/Line+1)) << lengthBits }

// lines returns the space that a record takes with its word.
func lines(n int) int { return (WordBytes + n + Line - 1) &^ (Line - 1) }

func load(p *uint64) uint64 { return atomic.LoadUint64(p) }

// publish is a full fence. A store would cost as much, but the race detector does not see it as a
// fence for memory that Go did not allocate.
func publish(p *uint64, v uint64) { atomic.SwapUint64(p, v) }
