package store

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A block and its checksum are in two files, and a killed server may have written only one of them. So the numbers of the blocks
// that are being written are in a table, which is a mapped file: the kernel keeps what a killed process stored there. The next
// server gives these blocks the sums of the bytes that they contain. These may be the new bytes, the old ones, or some of both:
// no client was told that the write succeeded.
//
// After a loss of power the table is ignored, so it is never synced, and does not go through package disk.
type writes struct {
	table []byte
	free  chan int // slots; closed: the store is
	unmap runtime.Cleanup
}

// noSlot is that of a write after the store was closed.
const noSlot = -1

// A slot that is in use has the words handle, first block, number of blocks, and the sum of the three, which is written last and cleared first.
const (
	writesName  = "writes"
	writesSlots = 256
	writesWords = 4
	writesBytes = writesSlots * writesWords * 8
	writesSalt  = 0x5653554d57524954 // so that an empty slot does not match
)

// An unfinished write is a run of blocks that was being written when a server was killed.
type unfinished struct {
	h            proto.Handle
	first, count int64
}

// readWrites returns what a killed server left in the table.
func readWrites(path string) (left []unfinished, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	const slot = writesWords * 8
	for ; len(b) >= slot; b = b[slot:] {
		word := func(i int) uint64 { return binary.NativeEndian.Uint64(b[i*8:]) }
		w := unfinished{proto.Handle(word(0)), int64(word(1)), int64(word(2))}
		if word(3) == word(0)+word(1)+word(2)+writesSalt && w.first >= 0 && w.count > 0 && w.count <= regionBlocks {
			left = append(left, w)
		}
	}
	return left, err
}

// openWrites makes an empty table.
func openWrites(path string) (_ *writes, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// All of it is written, so that no store into the mapping finds the disk full.
	if _, err = f.WriteAt(make([]byte, writesBytes), 0); err != nil {
		return nil, err
	}
	w := &writes{free: make(chan int, writesSlots)}
	if w.table, err = unix.Mmap(int(f.Fd()), 0, writesBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	for i := range writesSlots {
		w.free <- i
	}
	w.unmap = runtime.AddCleanup(w, func(table []byte) { _ = unix.Munmap(table) }, w.table)
	return w, nil
}

// close unmaps the table. Writes to datafiles that are still open are not noted any more: the next start does not read the
// table of a closed store. If a write is under way, the table stays mapped until the garbage collector has removed w.
func (w *writes) close() {
	var idle []int
	for range writesSlots {
		select {
		case slot := <-w.free:
			idle = append(idle, slot)
			continue
		default:
		}
		for _, slot := range idle {
			w.free <- slot
		}
		return
	}
	close(w.free)
	w.unmap.Stop()
	_ = unix.Munmap(w.table) // it was mapped
}

func (w *writes) word(slot, i int) *uint64 {
	return (*uint64)(unsafe.Pointer(&w.table[(slot*writesWords+i)*8]))
}

// begin notes that blocks are going to be written, and returns what end is called with. It waits while there are too many.
func (w *writes) begin(h proto.Handle, first, count int64) (slot int) {
	slot, open := <-w.free
	if !open {
		return noSlot
	}
	words := [...]uint64{uint64(h), uint64(first), uint64(count)}
	sum := uint64(writesSalt)
	for i, x := range words {
		atomic.StoreUint64(w.word(slot, i), x)
		sum += x
	}
	atomic.StoreUint64(w.word(slot, len(words)), sum)
	return slot
}

// end notes that blocks match their sums again.
func (w *writes) end(slot int) {
	if slot == noSlot {
		return
	}
	atomic.StoreUint64(w.word(slot, writesWords-1), 0)
	w.free <- slot
}

// finishWrites gives the blocks that a killed server was writing the sums of the bytes that they have, and makes the table.
func (s *Store) finishWrites(left slotRecord) error {
	path := filepath.Join(s.dir, writesName)
	if left.as != leftClosed && left.boot == s.boot {
		all, err := readWrites(path)
		if err != nil {
			return err
		}
		for _, w := range all {
			if err := s.finishWrite(w); err != nil {
				return err
			}
		}
	}
	var err error
	s.files.writes, err = openWrites(path)
	return err
}

func (s *Store) finishWrite(w unfinished) error {
	f, err := s.files.acquire(w.h)
	if err != nil {
		return err
	}
	defer s.files.release(f)
	c, err := f.open(s.files, false)
	if c == nil || err != nil {
		return err
	}
	c.lockAll()
	defer c.unlockAll()
	size, err := c.data.Size()
	if err != nil {
		return err
	}
	return errors.Join(c.resum(new(scratch), w.first, w.count), c.forget(size))
}
