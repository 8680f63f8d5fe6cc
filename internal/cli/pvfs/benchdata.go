package pvfs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// unitBytes is the length of what storage compares or compresses at least, and of what a stamp tells apart.
const unitBytes = 4 << 10

// stampBytes is the length of a stamp, which stands at the beginning of a unit.
const stampBytes = 8

// benchData is the bytes that bench writes: random ones that repeat after each block, but for a stamp in every unit, so that storage can
// neither compress nor deduplicate them. They cost no more than the stamps while a clock runs.
type benchData struct {
	seed   uint64
	random []byte // one block; the stamps are not in it
	ready  chan []byte
}

// newBenchData makes the blocks that bytes are written from. A block is a number of whole units.
func newBenchData(seed uint64, blockSize int) *benchData {
	d := &benchData{seed: seed, random: newBlock(blockSize), ready: make(chan []byte, blocksAtOnce)}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	_, _ = rand.NewChaCha8(key).Read(d.random) // it never fails
	for range blocksAtOnce {
		block := newBlock(blockSize)
		copy(block, d.random)
		d.ready <- block
	}
	return d
}

// lender lends blocks that have the random bytes already.
func (d *benchData) lender() (borrow lend, blockSize, atOnce int64) {
	return func() ([]byte, func()) {
		block := <-d.ready
		return block, func() { d.ready <- block }
	}, int64(len(d.random)), blocksAtOnce
}

// stamp is that of the unit at an offset: the bits of the offset in another order, so that no two units have the same.
func (d *benchData) stamp(off int64) uint64 {
	x := uint64(off) ^ d.seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // SplitMix64, which is a permutation
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ReadAt gives the bytes of a block. b must be the beginning of a block that was lent.
func (d *benchData) ReadAt(b []byte, off int64) (int, error) {
	for at := 0; at < len(b); at += unitBytes {
		var stamp [stampBytes]byte
		binary.LittleEndian.PutUint64(stamp[:], d.stamp(off+int64(at)))
		copy(b[at:], stamp[:])
	}
	return len(b), nil
}

// sink takes what is read, and compares it with what was written if that is given. Blocks begin with a unit.
type sink struct{ want *benchData }

func (s sink) WriteAt(b []byte, off int64) (int, error) {
	if s.want == nil {
		return len(b), nil
	}
	for at := 0; at < len(b); at += unitBytes {
		here := off + int64(at)
		unit := b[at:min(at+unitBytes, len(b))]
		var stamp [stampBytes]byte
		binary.LittleEndian.PutUint64(stamp[:], s.want.stamp(here))
		n := min(stampBytes, len(unit))
		rest := s.want.random[here%int64(len(s.want.random)):][:len(unit)]
		if !bytes.Equal(unit[:n], stamp[:n]) || !bytes.Equal(unit[n:], rest[n:]) {
			return 0, fmt.Errorf("the bytes from %d on are not those that were written", here)
		}
	}
	return len(b), nil
}
