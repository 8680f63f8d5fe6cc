package store

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// damage counts reads of blocks that do not match their checksums.
type damage struct {
	mu    sync.Mutex
	reads uint64
	told  map[proto.Handle]bool // datafiles whose damage was logged
}

// damageToldMax is how many datafiles are named in the log for damage in one run. A scrub names all.
const damageToldMax = 1024

// noteDamage counts it, and logs the first of each datafile.
func (s *Store) noteDamage(err *DamageError) {
	d := &s.damage
	d.mu.Lock()
	d.reads++
	told := d.told[err.Handle] || len(d.told) == damageToldMax
	if !told {
		if d.told == nil {
			d.told = make(map[proto.Handle]bool)
		}
		d.told[err.Handle] = true
	}
	d.mu.Unlock()
	if !told {
		s.log.Error("store: a datafile is damaged: a block does not match its checksum", "handle", err.Handle, "file", s.files.path(err.Handle), "offset", err.Offset)
	}
}

// isDamaged reports whether damage of a datafile was met.
func (s *Store) isDamaged(h proto.Handle) bool {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	return s.damage.told[h]
}

// damagedReads is how many there were.
func (s *Store) damagedReads() uint64 {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	return s.damage.reads
}
