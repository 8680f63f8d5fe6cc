package store

import (
	"context"
	"errors"
	"io/fs"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// errStopped ends a walk.
var errStopped = errors.New("store: it is being closed")

// tidyUp completes the recovery after a power loss, while the store is in use.
func (s *Store) tidyUp() {
	defer close(s.tidy)
	if !s.sweeping.Load() || !s.sweep() || !s.trustAgain() || s.sweeping.Load() {
		return
	}
	noted := false
	err := s.View(func(t *Tx) error { noted = t.noted(unsweptKey); return nil })
	if err == nil && noted {
		_ = s.Update(func(t *Tx) error { return t.removeNote(unsweptKey) }) // if this fails, the next start does all of it again
	}
}

// sweep removes the files that belong to nothing: those of datafiles that do not exist, and checksums without bytes. A power loss
// may leave some, if an object or the removal of a file's name was not on the disk yet. Meanwhile no new object gets a handle that
// has a file. It reports whether the store is still open.
func (s *Store) sweep() bool {
	count := 0
	err := s.files.walk(func(h proto.Handle, path string) error {
		select {
		case <-s.stop:
			return errStopped
		default:
		}
		if h == 0 {
			return nil // not a datafile's: Check reports it
		}
		removed, err := s.sweepFile(h, path)
		if removed {
			count++
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

// sweepFile removes a file if it belongs to nothing.
func (s *Store) sweepFile(h proto.Handle, path string) (removed bool, err error) {
	if path == s.files.sumsPath(h) {
		if removed, err = s.files.unlinkLoneSums(h); removed || err != nil {
			return removed, err
		}
	}
	if _, err := s.metafileOf(h); !errors.Is(err, fs.ErrNotExist) {
		return false, nil // it exists, or Check reports the problem
	}
	if removed, err = s.markDead(h); removed {
		s.removeBytes([]proto.Handle{h})
	}
	return removed, err
}

// stopping is a context that ends when the store is closed.
func (s *Store) stopping() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	s.done.Go(func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
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
