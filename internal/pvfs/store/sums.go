package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/blocksum"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// sumsSuffix ends the names of files with checksums. It replaces dataSuffix.
const sumsSuffix = ".sums"

// regionBytes is the part of a datafile that one lock guards. A region is a whole number of blocks.
const (
	regionBytes  = 256 << 10 // fits into the cache of a core, from where compared bytes are copied on
	regionBlocks = regionBytes / blocksum.Bytes
	regionLocks  = 16 // regions take them in turn
)

// checked is the open file of a datafile together with the checksums of its blocks. Bytes are read and written only through it, so that no
// byte is delivered that does not match its sum, and no writer leaves a block without its sum.
//
// While a block is written, its sum does not match it for a moment. So a writer has the lock of the region, and a server that is killed
// finds the block's number in the table of writes (writes.go) when it starts again.
//
// After a loss of power a block and its sum may be of different times, unless the file was sealed (seal.go). If it was not, a block that
// does not match its sum gets a new one. That is all that trusted is about: nobody can tell such a block from a damaged one.
type checked struct {
	fl   *files
	h    proto.Handle
	data disk.File
	sums disk.File // nil: there are none, and no bytes are checked

	headless atomic.Bool // the header is damaged
	trusted  atomic.Bool // a block that does not match its sum is damaged
	sealed   atomic.Bool // the header on the disk says so; a write begins by changing that
	quiet    *quiet      // when it was written last

	mu      sync.Mutex // of the header
	regions [regionLocks]sync.RWMutex
}

// A DamageError says that bytes of a datafile differ from those that were written. It is EIO.
type DamageError struct {
	Handle proto.Handle // the datafile
	Offset int64        // of the first block that is damaged, bytes
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("damaged at byte %d: the block there does not match its checksum", e.Offset)
}

// Unwrap is EIO.
func (e *DamageError) Unwrap() error { return syscall.EIO }

// scratch is memory for a block and for the sums of a region.
type scratch struct {
	block [blocksum.Bytes]byte
	sums  [regionBlocks * blocksum.SumBytes]byte
	sum   [blocksum.SumBytes]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// check opens the checksums of an open file.
func (fl *files) check(h proto.Handle, data disk.File, made bool) (*checked, error) {
	c := &checked{fl: fl, h: h, data: data, quiet: fl.quietOf(h)}
	flags := unix.O_RDWR
	if fl.readOnly {
		flags = unix.O_RDONLY
	} else if made {
		flags |= unix.O_CREAT | unix.O_TRUNC
	}
	sums, err := fl.openFile(fl.sumsPath(h), flags)
	if errors.Is(err, unix.ENOENT) {
		if fl.readOnly {
			return c, nil
		}
		sums, err = fl.openFile(fl.sumsPath(h), flags|unix.O_CREAT)
	}
	if err != nil {
		return nil, err
	}
	c.sums = sums
	if made {
		err = c.begin(fl.boot)
	} else {
		err = c.readHeader()
	}
	if err != nil {
		return nil, errors.Join(err, sums.Close())
	}
	if fl.readOnly && !c.trusted.Load() { // read-only: no process can correct the sums
		c.sums = nil
		return c, sums.Close()
	}
	return c, nil
}

// begin writes the header of a file that is not sealed. boot is the run of the machine whose sums are trusted.
func (c *checked) begin(boot string) error {
	c.trusted.Store(boot == c.fl.boot)
	c.fl.unseal(c.h, c.quiet)
	return c.writeHeader(blocksum.Header{State: blocksum.Open, Handle: uint64(c.h), Boot: boot})
}

// readHeader reads the header.
func (c *checked) readHeader() error {
	var b [blocksum.HeaderBytes]byte
	n, err := readFull(c.sums, b[:], 0)
	if err != nil {
		return err
	}
	if allZero(b[:n]) { // a loss of power left no more
		size, err := c.data.Size()
		switch {
		case err != nil:
			return err
		case c.fl.readOnly:
			return nil
		case size == 0:
			return c.begin(c.fl.boot)
		}
		return c.begin("")
	}
	header, err := blocksum.ParseHeader(b[:n])
	if err != nil || header.Handle != uint64(c.h) {
		// The sums still show damage. The next write makes a new header, for a sealed file.
		c.fl.store.log.Error("store: damaged header of checksums", "handle", c.h, "file", c.fl.sumsPath(c.h), "err", err)
		header.State = blocksum.Sealed
		c.headless.Store(true)
	}
	switch {
	case header.State == blocksum.Sealed:
		c.trusted.Store(true)
		c.sealed.Store(true)
	case header.Boot == c.fl.boot:
		c.trusted.Store(true)
		c.fl.unseal(c.h, c.quiet)
	}
	return nil
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

func (c *checked) writeHeader(h blocksum.Header) error {
	_, err := c.writeAll(c.sums, h.Append(make([]byte, 0, blocksum.HeaderBytes)), 0)
	if err == nil {
		c.headless.Store(false)
	}
	return err
}

// rewrite makes a damaged header anew.
func (c *checked) rewrite() error {
	if c.sealed.Load() {
		return c.writeHeader(blocksum.Header{State: blocksum.Sealed, Handle: uint64(c.h)})
	}
	return c.writeHeader(blocksum.Header{State: blocksum.Open, Handle: uint64(c.h), Boot: c.fl.boot})
}

// writeAll writes to one of the files, and makes room on a full disk if there is any to be made.
func (c *checked) writeAll(to disk.File, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		k, err := to.Pwrite(p[n:], off+int64(n))
		if errors.Is(err, syscall.ENOSPC) && c.fl.store.syncToRemove() {
			continue
		}
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// close closes both files.
func (c *checked) close() error {
	err := c.data.Close()
	if c.sums == nil {
		return err
	}
	return errors.Join(err, c.sums.Close())
}

// region is the lock of the region that a byte is in.
func (c *checked) region(off int64) *sync.RWMutex {
	return &c.regions[off/regionBytes%regionLocks]
}

// lockAll keeps everybody out of the datafile.
func (c *checked) lockAll() {
	for i := range c.regions {
		c.regions[i].Lock()
	}
}

func (c *checked) unlockAll() {
	for i := range c.regions {
		c.regions[i].Unlock()
	}
}

// readSums reads the sums of a run of blocks. Those beyond the end of the file are 0.
func (c *checked) readSums(sums []byte, first int64) error {
	n, err := readFull(c.sums, sums, blocksum.Place(first))
	clear(sums[n:])
	return err
}

// readBlock reads a block, and returns how many bytes of it there are. What follows them is zeros.
func (c *checked) readBlock(block []byte, number int64) (int, error) {
	n, err := readFull(c.data, block, number*blocksum.Bytes)
	clear(block[n:])
	return n, err
}

// resum gives blocks the sums of the bytes that they have. The caller has the lock of the region.
func (c *checked) resum(s *scratch, first, count int64) error {
	for number := first; number < first+count; number++ {
		if _, err := c.readBlock(s.block[:], number); err != nil {
			return err
		}
		sum := blocksum.Append(s.sum[:0], s.block[:])
		if _, err := c.writeAll(c.sums, sum, blocksum.Place(number)); err != nil {
			return err
		}
	}
	return nil
}

// damage notes that a block does not match its sum.
func (c *checked) damage(number int64) error {
	err := &DamageError{c.h, number * blocksum.Bytes}
	c.fl.store.noteDamage(err)
	return err
}

// accept gives a block a new sum that did not match its sum when that was not trusted, and is to be read again then.
func (c *checked) accept(s *scratch, number int64) error {
	lock := c.region(number * blocksum.Bytes)
	lock.Lock()
	defer lock.Unlock()
	if c.trusted.Load() {
		return nil // a scrub looked at all of it meanwhile
	}
	c.fl.store.resummed.Add(1)
	return c.resum(s, number, 1)
}
