package store

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/pagecache"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/blocksum"
)

// readAt reads bytes that match their checksums. A short count and no error: the end of the datafile. *DamageError.
func (c *checked) readAt(p []byte, off int64) (n int, err error) {
	if c.sums == nil {
		return readFull(c.data, p, off)
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for n < len(p) {
		at := off + int64(n)
		part := p[n:min(len(p), n+int(regionBytes-at%regionBytes))]
		k, bad, err := c.readRegion(s, part, at)
		if err != nil {
			return n, err
		}
		if bad >= 0 {
			if err := c.accept(s, bad); err != nil {
				return n, err
			}
			continue
		}
		n += k
		if k < len(part) {
			break
		}
	}
	return n, nil
}

// readRegion reads bytes of one region, and returns how many there are, and the first block that does not match a sum that is not trusted;
// -1 if there is none. *DamageError: the sum is trusted. It is decided under the lock that the block was read with: a scrub makes
// sums trusted with all locks, after it gave doubtful blocks new ones.
func (c *checked) readRegion(s *scratch, p []byte, off int64) (n int, bad int64, err error) {
	lock := c.region(off)
	lock.RLock()
	defer lock.RUnlock()
	n, bad, err = c.compareRegion(s, p, off)
	if bad >= 0 && c.trusted.Load() {
		return n, -1, c.damage(bad)
	}
	return n, bad, err
}

// compareRegion does that, whether sums are trusted or not.
func (c *checked) compareRegion(s *scratch, p []byte, off int64) (n int, bad int64, err error) {
	first := off / blocksum.Bytes
	last := (off + int64(len(p)) - 1) / blocksum.Bytes
	sums := s.sums[:(last-first+1)*blocksum.SumBytes]
	if err := c.readSums(sums, first); err != nil {
		return 0, -1, err
	}
	for n < len(p) {
		at := off + int64(n)
		number, skip := at/blocksum.Bytes, int(at%blocksum.Bytes)
		rest := sums[(number-first)*blocksum.SumBytes:]
		whole := (len(p) - n) / blocksum.Bytes * blocksum.Bytes
		if skip == 0 && whole > 0 {
			k, err := readFull(c.data, p[n:n+whole], at)
			if err != nil {
				return n, -1, err
			}
			if good := blocksum.Match(rest, p[n:n+k]); int64(good) < blocksum.Count(int64(k)) {
				return n, number + int64(good), nil
			}
			n += k
			if k < whole {
				return n, c.cutOff(number+blocksum.Count(int64(k)), rest[blocksum.Count(int64(k))*blocksum.SumBytes:]), nil
			}
			continue
		}
		there, err := c.readBlock(s.block[:], number)
		if err != nil {
			return n, -1, err
		}
		if blocksum.Of(s.block[:]) != blocksum.At(rest, 0) {
			return n, number, nil
		}
		k := copy(p[n:], s.block[skip:max(skip, there)])
		n += k
		if n < len(p) && there < blocksum.Bytes {
			return n, c.cutOff(number+1, rest[blocksum.SumBytes:]), nil
		}
	}
	return n, -1, nil
}

// cutOff looks at the sums of blocks behind the end of the datafile. They are 0, unless the datafile lost its end. It returns the first block that is missing,
// or -1.
func (c *checked) cutOff(number int64, sums []byte) int64 {
	for ; len(sums) > 0; sums = sums[blocksum.SumBytes:] {
		if blocksum.At(sums, 0) != 0 {
			return number
		}
		number++
	}
	return -1
}

// writeAt writes bytes and the sums of their blocks. A write into a part of a damaged block fails; one of the whole block mends it.
func (c *checked) writeAt(p []byte, off int64) (n int, err error) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for n < len(p) && err == nil {
		at, k := off+int64(n), 0
		k, err = c.writeRegion(s, p[n:min(len(p), n+int(regionBytes-at%regionBytes))], at)
		n += k
	}
	return n, err
}

// writeRegion writes bytes of one region.
func (c *checked) writeRegion(s *scratch, p []byte, off int64) (n int, err error) {
	lock := c.region(off)
	lock.Lock()
	defer lock.Unlock()
	if err := c.change(); err != nil {
		return 0, err
	}
	defer c.changed()
	first := off / blocksum.Bytes
	count := (off+int64(len(p))-1)/blocksum.Bytes - first + 1
	sums, err := c.sumsAfter(s, p, off, first, count)
	if err != nil {
		return 0, err
	}
	slot := c.fl.writes.begin(c.h, first, count)
	_, err = c.writeAll(c.sums, sums, blocksum.Place(first))
	if err == nil {
		n, err = c.writeAll(c.data, p, off)
	}
	if err != nil {
		err = errors.Join(err, c.settle(s, first, count))
	}
	c.fl.writes.end(slot)
	return n, err
}

// settle gives blocks the right sums after a write that failed. If that fails too, the contents of the blocks are not known, and
// the sums are no longer trusted.
func (c *checked) settle(s *scratch, first, count int64) error {
	err := c.resum(s, first, count)
	if err != nil {
		c.trusted.Store(false)
		err = errors.Join(err, c.writeHeader(blocksum.Header{State: blocksum.Open, Handle: uint64(c.h)}))
	}
	return err
}

// sumsAfter are the sums that blocks will have after a write. Of blocks that are written in part the rest must match the sum they have.
func (c *checked) sumsAfter(s *scratch, p []byte, off, first, count int64) ([]byte, error) {
	end := off + int64(len(p))
	sums := s.sums[:0]
	for number := first; number < first+count; {
		from, to := number*blocksum.Bytes, (number+1)*blocksum.Bytes
		if from >= off && to <= end {
			whole := (end - from) / blocksum.Bytes
			sums = blocksum.Append(sums, p[from-off:from-off+whole*blocksum.Bytes])
			number += whole
			continue
		}
		if err := c.partOf(s, number); err != nil {
			return nil, err
		}
		lo, hi := max(from, off), min(to, end)
		copy(s.block[lo-from:], p[lo-off:hi-off])
		sums = blocksum.Append(sums, s.block[:])
		number++
	}
	return sums, nil
}

// partOf reads a block that will be written in part.
func (c *checked) partOf(s *scratch, number int64) error {
	if _, err := c.readBlock(s.block[:], number); err != nil {
		return err
	}
	if err := c.readSums(s.sum[:], number); err != nil {
		return err
	}
	if c.trusted.Load() && blocksum.At(s.sum[:], 0) != blocksum.Of(s.block[:]) {
		return c.damage(number)
	}
	return nil
}

// truncate sets the size. Blocks beyond it lose their sums, and the last block gets the sum of its remaining bytes.
func (c *checked) truncate(size int64) error {
	c.lockAll()
	defer c.unlockAll()
	if err := c.change(); err != nil {
		return err
	}
	defer c.changed()
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	number := size / blocksum.Bytes
	if size%blocksum.Bytes != 0 {
		if err := c.partOf(s, number); err != nil {
			return err
		}
	}
	slot := c.fl.writes.begin(c.h, number, 1)
	defer c.fl.writes.end(slot)
	if err := c.data.Truncate(size); err != nil {
		return err
	}
	return errors.Join(c.forget(size), c.resum(s, number, blocksum.Count(size%blocksum.Bytes)))
}

// forget removes the sums of blocks beyond the end of a datafile of this size.
func (c *checked) forget(size int64) error {
	end := blocksum.Place(blocksum.Count(size))
	if now, err := c.sums.Size(); err != nil || now <= end {
		return err
	}
	return c.sums.Truncate(end)
}

// inMemory tells whether bytes and their sums are in memory.
func (c *checked) inMemory(off int64, n int) bool {
	data := c.data.File()
	if data == nil || !pagecache.Holds(data, off, n) {
		return false
	}
	if c.sums == nil {
		return true
	}
	first, end := off/blocksum.Bytes, blocksum.Count(off+int64(n))
	sums := c.sums.File()
	return sums != nil && pagecache.Holds(sums, blocksum.Place(first), int((end-first)*blocksum.SumBytes))
}

// verify checks bytes that others have read from the file against their sums. If p begins or ends within a block, that block is
// read from the file to check it. The error is a *DamageError.
func (c *checked) verify(p []byte, off int64) error {
	if c.sums == nil {
		return nil
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	for len(p) > 0 {
		part := p[:min(len(p), int(regionBytes-off%regionBytes))]
		first, end := off/blocksum.Bytes, off+int64(len(part))
		sums := s.sums[:((end-1)/blocksum.Bytes-first+1)*blocksum.SumBytes]
		if err := c.readSums(sums, first); err != nil {
			return err
		}
		for number := first; number*blocksum.Bytes < end; {
			from := number * blocksum.Bytes
			good := 0
			if from >= off {
				whole := (end - from) / blocksum.Bytes * blocksum.Bytes
				good = blocksum.Match(sums[(number-first)*blocksum.SumBytes:], part[from-off:from-off+whole])
				number += int64(good)
			}
			if number*blocksum.Bytes >= end {
				break
			}
			// The block is not whole in p, or a write to it is in progress, or it is damaged. Reading it again shows which.
			if _, err := c.readBlock(s.block[:], number); err != nil {
				return err
			}
			if blocksum.Of(s.block[:]) != blocksum.At(sums[(number-first)*blocksum.SumBytes:], 0) {
				if _, err := c.readAt(s.block[:], number*blocksum.Bytes); err != nil {
					return err
				}
			}
			number++
		}
		p, off = p[len(part):], end
	}
	return nil
}
