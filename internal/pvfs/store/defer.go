package store

import (
	"errors"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// readCheckpoint opens the file that says how the store was left. After a power loss it undoes commits that were not synced.
func (s *Store) readCheckpoint() (left slotRecord, err error) {
	boot := s.opts.Boot
	if boot == "" {
		if boot, err = bootID(); err != nil {
			return left, err
		}
	}
	s.boot = boot
	path := filepath.Join(s.dir, checkpointName)
	if s.opts.ReadOnly {
		return left, s.recallToRead(path, boot)
	}
	if s.checkpoint, left, err = openCheckpoint(s.disk, path, boot); err != nil {
		return left, err
	}
	if left.as == leftDeferred && left.boot != boot {
		if err := left.page.restore(s.disk, filepath.Join(s.dir, databaseName)); err != nil {
			return left, errors.Join(err, s.checkpoint.file.Close())
		}
		s.log.Warn("store: the machine stopped without closing the store: it is as it was at its last sync", "dir", s.dir)
	}
	return left, nil
}

// recallToRead returns an error if the store cannot be read before it was opened for writing.
func (s *Store) recallToRead(path, boot string) error {
	f, err := s.disk.Open(path, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	left, err := lastSlot(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if left.as == leftDeferred && left.boot != boot {
		return errNotRecalled
	}
	return nil
}

// errNotRecalled is for a store that cannot be read yet.
var errNotRecalled = damaged("the machine stopped without closing it: start its server once, or check it with repair")

// Sizes of the mapped part of the database's file, bytes of address space. While the file does not outgrow it, no update waits
// for readers. An update must not wait for the reader of a checkpoint.
const (
	mapAhead     = 64 << 30
	mapAheadLess = 1 << 30 // for machines with less address space
)

// openMapped opens the database.
func (s *Store) openMapped() (err error) {
	path := filepath.Join(s.dir, databaseName)
	for _, s.mapped = range []int64{mapAhead, mapAheadLess} {
		s.db, err = openDB(path, s.opts.ReadOnly, s.opts.metaBytesMax, int(s.mapped), s.openDatabase)
		if !errors.Is(err, unix.ENOMEM) {
			break
		}
	}
	return err
}

// mayHold reports whether a reader may stay open during a commit: the disk has room for the pages that it keeps, and the database
// is small enough not to be mapped again. The leader calls it.
func (s *Store) mayHold(tx *bolt.Tx) bool {
	return !s.tight && s.reserve.held && tx.Size() < s.mapped/2
}

// heldMin pages of the database may always be held for the state of the last sync. More may be held up to 1/heldPart of all
// pages.
const (
	heldMin  = 64
	heldPart = 4
)

// holdsMuch reports whether to sync now because of the pages that cannot be reused before the next sync. These are the pages of
// the last synced state that were replaced since. In bbolt they include all pages that were both added to the file and replaced
// since.
func (s *Store) holdsMuch() bool {
	if s.synced.Load() >= s.written.Load() {
		return false
	}
	held := s.db.Stats().PendingPageN
	return held > heldMin && int64(held)*int64(s.db.Info().PageSize) > s.size.Load()/heldPart
}

// beginDeferring keeps the state of the last commit, which is on the disk. After a power loss the store returns to it. The caller
// holds commitMu.
func (s *Store) beginDeferring() error {
	at, err := hold(s.db, s.dbFile)
	if err != nil {
		return err
	}
	return s.holdInstead(at)
}

// holdInstead keeps another state, which is on the disk, instead of the previous one. The caller holds commitMu.
func (s *Store) holdInstead(next *held) error {
	if err := s.checkpoint.write(leftDeferred, next.page); err != nil {
		next.drop()
		return s.syncFailed(err)
	}
	s.checkpoint.at.drop()
	s.checkpoint.at = next
	return nil
}

// endDeferring is called when everything is on the disk. The caller holds commitMu.
func (s *Store) endDeferring() error {
	if s.checkpoint.at == nil {
		return nil
	}
	if err := s.checkpoint.write(leftOpen, metaPage{}); err != nil {
		return s.syncFailed(err)
	}
	s.checkpoint.at.drop()
	s.checkpoint.at = nil
	return nil
}

// closeCheckpoint drops the state. If well is set, it writes to the file that the store was closed.
func (s *Store) closeCheckpoint(well bool) (err error) {
	if s.checkpoint == nil {
		return nil
	}
	if well {
		err = s.checkpoint.write(leftClosed, metaPage{})
	}
	s.checkpoint.at.drop()
	s.checkpoint.at = nil
	return errors.Join(err, s.checkpoint.file.Close())
}

// A removal is a datafile that was removed by a commit which may not be on the disk yet.
type removal struct {
	h      proto.Handle
	commit uint64 // number of the commit, in written
}

// removeBytes removes the bytes of datafiles that a commit removed: at once if the commit is on the disk, else later. A power
// loss must not bring an object back without its bytes.
func (s *Store) removeBytes(dead []proto.Handle) {
	for _, h := range dead {
		s.files.retire(h)
	}
	written := s.written.Load()
	if s.synced.Load() >= written {
		s.unlinkDead(dead, s.sweeping.Load())
		return
	}
	s.queueMu.Lock()
	defer s.queueMu.Unlock()
	for _, h := range dead {
		s.removals = append(s.removals, removal{h, written})
	}
}

// isDead reports whether the bytes of a datafile must still be removed.
func (s *Store) isDead(h proto.Handle) (is bool) {
	err := s.View(func(t *Tx) error {
		is = t.table(tDead).Get(handleKey(h)) != nil
		return nil
	})
	return err == nil && is
}

// makeRoom tries to free room on a full disk: it gives up the reserve, holds no pages, and removes the bytes of removed
// datafiles. The leader calls it.
func (s *Store) makeRoom() bool {
	used, relieved := s.reserve.use(), s.relieve()
	return used || relieved || s.syncToRemove()
}

// relieve frees room in the database: it holds no state any more, and the next commit, which is synced, can reuse its pages.
func (s *Store) relieve() bool {
	if s.tight || s.Sync() != nil {
		return false
	}
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	s.tight = s.checkpoint.at != nil && s.endDeferring() == nil
	return s.tight
}

// syncToRemove syncs if there are bytes that can be removed only after a sync.
func (s *Store) syncToRemove() bool {
	s.queueMu.Lock()
	some := len(s.removals) > 0
	s.queueMu.Unlock()
	return some && s.Sync() == nil
}

// removeSynced removes the bytes of datafiles whose removal is on the disk now.
func (s *Store) removeSynced() {
	synced := s.synced.Load()
	var dead []proto.Handle
	s.queueMu.Lock()
	n := 0
	for ; n < len(s.removals) && s.removals[n].commit <= synced; n++ {
		dead = append(dead, s.removals[n].h)
	}
	s.removals = append(s.removals[:0], s.removals[n:]...)
	s.queueMu.Unlock()
	if len(dead) > 0 {
		s.unlinkDead(dead, s.sweeping.Load())
	}
}
