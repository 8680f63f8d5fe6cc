package pvfs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// unitBytes is the smallest unit that storage compares or compresses. Each unit has a stamp.
const unitBytes = 4 << 10

// stampBytes is the length of the stamp at the start of a unit.
const stampBytes = 8

// benchData is the data that bench writes: random bytes that repeat after each block, and a stamp in every unit. So storage can
// neither compress nor deduplicate it. While the clock runs, only the stamps cost time.
type benchData struct {
	seed   uint64
	random []byte // one block, without stamps
	ready  chan []byte
}

// newBenchData makes the blocks for the data. A block is a whole number of units.
func newBenchData(seed uint64, blockSize int) *benchData {
	d := &benchData{seed: seed, random: newBlock(blockSize), ready: make(chan []byte, blocksAtOnce)}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	_, _ = rand.NewChaCha8(key).Read(d.random) // never fails
	for range blocksAtOnce {
		block := newBlock(blockSize)
		copy(block, d.random)
		d.ready <- block
	}
	return d
}

// lender lends blocks that contain the random bytes already, so nothing is read into them.
func (d *benchData) lender() (borrow lend, blockSize, atOnce int64) {
	return func() ([]byte, func()) {
		block := <-d.ready
		return block, func() { d.ready <- block }
	}, int64(len(d.random)), blocksAtOnce
}

// stamp is the stamp of the unit at an offset. It is a permutation of the offset, so no two units have the same.
func (d *benchData) stamp(off int64) uint64 {
	x := uint64(off) ^ d.seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // SplitMix64, a permutation
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ReadAt returns the data of a block. b must be the start of a block from lender.
func (d *benchData) ReadAt(b []byte, off int64) (int, error) {
	for at := 0; at < len(b); at += unitBytes {
		var stamp [stampBytes]byte
		binary.LittleEndian.PutUint64(stamp[:], d.stamp(off+int64(at)))
		copy(b[at:], stamp[:])
	}
	return len(b), nil
}

// sink takes data that was read, and compares it with the written data if want is set. Blocks start at a unit.
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
			return 0, fmt.Errorf("the data from byte %d on differ from the written data", here)
		}
	}
	return len(b), nil
}
