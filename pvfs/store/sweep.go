package store

import (
	"context"
	"errors"
	"io/fs"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// errStopped ends a walk.
var errStopped = errors.New("store: it is being closed")

// sweep removes the files of datafiles that do not exist. A power loss may leave some, if an object or the removal of a file's
// name was not on the disk yet. Meanwhile no new object gets a handle that has a file. It reports whether the store is still
// open.
func (s *Store) sweep() bool {
	defer close(s.swept)
	if !s.sweeping.Load() {
		return true
	}
	count := 0
	err := s.files.walk(func(h proto.Handle, _ string) error {
		select {
		case <-s.stop:
			return errStopped
		default:
		}
		if h == 0 {
			return nil // not a datafile's: Check reports it
		}
		if _, err := s.metafileOf(h); !errors.Is(err, fs.ErrNotExist) {
			return nil // it exists, or Check reports the problem
		}
		gone, err := s.markDead(h)
		if err == nil && gone {
			count++
			s.removeBytes([]proto.Handle{h})
		}
		return err
	})
	switch {
	case errors.Is(err, errStopped):
		return false
	case err != nil:
		s.log.Warn("store: files that belong to nothing may be left, see check", "dir", s.dir, "err", err)
		return true
	case count > 0:
		s.log.Info("store: removed files that belonged to nothing after the machine had stopped", "dir", s.dir, "files", count)
	}
	s.sweeping.Store(false)
	return true
}

// stopping is a context that ends when the store is closed.
func (s *Store) stopping() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	s.done.Go(func() {
		<-s.stop
		cancel()
	})
	return ctx
}

// markDead records that the bytes of a datafile are to be removed, if it has no object.
func (s *Store) markDead(h proto.Handle) (gone bool, err error) {
	err = s.Update(func(t *Tx) error {
		key := handleKey(h)
		if gone = t.table(tObjects).Get(key) == nil && t.table(tDead).Get(key) == nil; !gone {
			return nil
		}
		return t.put(tDead, key, []byte{})
	})
	return gone, err
}
