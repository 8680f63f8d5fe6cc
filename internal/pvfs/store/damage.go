package store

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// damage counts reads of blocks that do not match their checksums.
type damage struct {
	mu    sync.Mutex
	reads uint64
	met   map[proto.Handle]int64 // offset of the last damaged block found, for datafiles whose damage was logged
}

// damageMetMax is how many damaged datafiles are remembered and logged in one run. A scrub reports all.
const damageMetMax = 1024

// noteDamage counts a damaged block, and logs the first one of each datafile.
func (s *Store) noteDamage(err *DamageError) {
	d := &s.damage
	d.mu.Lock()
	d.reads++
	_, told := d.met[err.Handle]
	if !told && len(d.met) == damageMetMax {
		told = true
	} else {
		if d.met == nil {
			d.met = make(map[proto.Handle]int64)
		}
		d.met[err.Handle] = err.Offset
	}
	d.mu.Unlock()
	if !told {
		s.log.Error("store: a datafile is damaged: a block does not match its checksum", "handle", err.Handle, "file", s.files.path(err.Handle), "offset", err.Offset)
	}
}

// DamageOf is the offset of the block of a datafile that did not match its checksum when it was last read, bytes. false: no such
// block was read.
func (s *Store) DamageOf(h proto.Handle) (offset int64, is bool) {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	offset, is = s.damage.met[h]
	return offset, is
}

// forget drops the record of a datafile that is intact again.
func (d *damage) forget(h proto.Handle) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.met, h)
}

// damagedReads is the number of reads of damaged blocks.
func (s *Store) damagedReads() uint64 {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	return s.damage.reads
}
