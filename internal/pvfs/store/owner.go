package store

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A datafile has a note of its metafile, so that rights to one file give no access to the bytes of another. Metafiles on other
// servers take datafiles that were made in advance. This server learns the metafile of such a datafile with its first bytes. That
// needs no transaction of its own: the next transaction records it. After a power loss before that, the datafile has no metafile
// again.

// learn takes the metafile from the database.
func (f *file) learn(metafile proto.Handle) { f.owner.CompareAndSwap(0, uint64(metafile)) }

// claim checks that a datafile belongs to a metafile. If it belongs to none and is to be written, the metafile becomes its owner.
// EACCES.
func (fl *files) claim(f *file, metafile proto.Handle, writes bool) error {
	if f.owner.Load() == 0 {
		if !writes || fl.readOnly {
			return nil
		}
		fl.mu.Lock()
		if is := fl.owners[f.h]; is != 0 {
			f.learn(is)
		} else if f.owner.CompareAndSwap(0, uint64(metafile)) {
			fl.owners[f.h] = metafile
		}
		fl.mu.Unlock()
	}
	if f.owner.Load() != uint64(metafile) {
		return fault("open datafile", f.h, syscall.EACCES)
	}
	return nil
}

// newOwner is the metafile of a datafile that is not in the database yet; 0 if there is none.
func (fl *files) newOwner(h proto.Handle) proto.Handle {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.owners[h]
}

// ownersMax is how many owners one transaction records.
const ownersMax = 512

// recordOwners writes all owners to the database, if the disk has room and no other update has done it.
func (s *Store) recordOwners() {
	for left, before := s.files.unknown(), 0; left > 0 && left != before; left, before = s.files.unknown(), left {
		if s.Update(func(*Tx) error { return nil }) != nil {
			return
		}
	}
}

// unknown is the number of owners that are not in the database.
func (fl *files) unknown() int {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return len(fl.owners)
}

// newOwners returns owners that are not in the database, as many as one transaction records.
func (fl *files) newOwners() map[proto.Handle]proto.Handle {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if len(fl.owners) == 0 {
		return nil
	}
	some := make(map[proto.Handle]proto.Handle, min(len(fl.owners), ownersMax))
	for h, metafile := range fl.owners {
		if some[h] = metafile; len(some) == ownersMax {
			break
		}
	}
	return some
}

// known drops owners that are in the database now.
func (fl *files) known(owners map[proto.Handle]proto.Handle) {
	if len(owners) == 0 {
		return
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for h := range owners {
		delete(fl.owners, h)
	}
}

// setOwners writes owners to the database. Datafiles that are gone or cannot be read need none.
func (t *Tx) setOwners(owners map[proto.Handle]proto.Handle) error {
	for h, metafile := range owners {
		o, err := t.Get(h)
		if err != nil {
			continue
		}
		o.Parent = metafile
		if err := t.write(h, &o); err != nil {
			return err
		}
	}
	return nil
}

// metafileOf returns the metafile of a datafile; 0 if it has none. ENOENT, EINVAL: it is not a datafile.
func (s *Store) metafileOf(h proto.Handle) (metafile proto.Handle, err error) {
	err = s.View(func(t *Tx) error {
		o, err := t.Get(h)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fault("open datafile", h, syscall.ENOENT)
		case err != nil:
			return err
		case o.Type != proto.TypeDatafile:
			return fault("open datafile", h, syscall.EINVAL)
		}
		metafile = o.Parent
		return nil
	})
	return metafile, err
}
