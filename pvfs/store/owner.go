package store

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A datafile knows its metafile, so that nobody who has rights to one file comes to the bytes of another. Another server's metafile
// takes datafiles that were made ahead of need, and this server learns whose they are when the first bytes come. That costs no
// transaction of its own: the database gets to know it with the next one. A loss of power before that
// leaves the datafile nobody's again.

// learn takes what the database knows.
func (f *file) learn(metafile proto.Handle) { f.owner.CompareAndSwap(0, uint64(metafile)) }

// claim checks that a datafile is a metafile's, and makes it its own if it is nobody's and will get bytes. EACCES.
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

// newOwner is the metafile of a datafile that the database does not know yet; 0 if there is none.
func (fl *files) newOwner(h proto.Handle) proto.Handle {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.owners[h]
}

// ownersMax is how many that are.
const ownersMax = 512

// recordOwners has the database know them, if the disk has room and no update did it meanwhile.
func (s *Store) recordOwners() {
	for left, before := s.files.unknown(), 0; left > 0 && left != before; left, before = s.files.unknown(), left {
		if s.Update(func(*Tx) error { return nil }) != nil {
			return
		}
	}
}

// unknown is how many there are.
func (fl *files) unknown() int {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return len(fl.owners)
}

// newOwners are datafiles that the database does not know the metafiles of yet, as many as one transaction learns of.
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

// known forgets what the database knows now.
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

// setOwners tells the database of them. Those that are gone meanwhile, or cannot be read, need no metafile.
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

// metafileOf returns the metafile of a datafile; 0 if it is nobody's. ENOENT, EINVAL: it is no datafile.
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
