package store

import (
	"errors"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// recall opens the file that tells how the store was left, and undoes what a loss of power may have made of commits that were not synced.
func (s *Store) recall() (left slotRecord, err error) {
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

// recallToRead fails if the store cannot be read before it was opened to be changed.
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

// errNotRecalled is why a store cannot be read.
var errNotRecalled = damaged("the machine stopped without closing it: start its server once, or check it with repair")

// Sizes of the part of the database's file that is mapped, bytes of address space. As long as the file does not outgrow it, no update waits for
// readers, as those of a checkpoint must not be waited for.
const (
	mapAhead     = 64 << 30
	mapAheadLess = 1 << 30 // where there is not so much address space
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

// mayHold reports whether a reader may stay open beside a commit: there is room on the disk for the pages that it keeps, and the database is so
// small that it need not be mapped anew. The leader calls it.
func (s *Store) mayHold(tx *bolt.Tx) bool {
	return !s.tight && s.reserve.held && tx.Size() < s.mapped/2
}

// heldMin is how many pages of the database may be held for the state of the last sync in any case, and heldPart the part of all that may be.
const (
	heldMin  = 64
	heldPart = 4
)

// holdsMuch reports whether it is time for a sync because of the pages that cannot be used again before the next one: those of the state of the
// last sync that were replaced since then, and, as bbolt goes, all that were added to the end of the file since then and replaced.
func (s *Store) holdsMuch() bool {
	if s.synced.Load() >= s.written.Load() {
		return false
	}
	held := s.db.Stats().PendingPageN
	return held > heldMin && int64(held)*int64(s.db.Info().PageSize) > s.size.Load()/heldPart
}

// beginDeferring keeps the state of the last commit, which is on the disk. After a loss of power the store returns to that state. The caller
// holds commitMu.
func (s *Store) beginDeferring() error {
	at, err := hold(s.db, s.dbFile)
	if err != nil {
		return err
	}
	return s.holdInstead(at)
}

// holdInstead keeps another state, which is on the disk, instead of the one before. The caller holds commitMu.
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

// closeCheckpoint ends all that, and says so in the file if all is well.
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

// A removal is of a datafile that was removed by a commit that may not be on the disk yet.
type removal struct {
	h      proto.Handle
	commit uint64 // of those that were written
}

// removeBytes removes the bytes of datafiles that a commit removed: now if that is on the disk, else when it is. A loss of power must not
// bring an object back without its bytes.
func (s *Store) removeBytes(dead []proto.Handle) {
	for _, h := range dead {
		s.files.retire(h)
	}
	written := s.written.Load()
	if s.synced.Load() >= written {
		s.bury(dead)
		return
	}
	s.queueMu.Lock()
	defer s.queueMu.Unlock()
	for _, h := range dead {
		s.removals = append(s.removals, removal{h, written})
	}
}

// isDead reports whether the bytes of a datafile are to be removed.
func (s *Store) isDead(h proto.Handle) (is bool) {
	err := s.View(func(t *Tx) error {
		is = t.table(tDead).Get(handleKey(h)) != nil
		return nil
	})
	return err == nil && is
}

// makeRoom makes room on a full disk, if any can be made: the reserve is given up, no pages are kept, and the bytes of what was removed
// go. The leader calls it.
func (s *Store) makeRoom() bool {
	used, relieved := s.reserve.use(), s.relieve()
	return used || relieved || s.syncToRemove()
}

// relieve makes room in the database: no state is held any more, and the next commit, which is synced, can use its pages again.
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

// syncToRemove makes room on the disk by the bytes that wait for a sync to be removed, if there are any.
func (s *Store) syncToRemove() bool {
	s.queueMu.Lock()
	some := len(s.removals) > 0
	s.queueMu.Unlock()
	return some && s.Sync() == nil
}

// removeSynced removes the bytes of those that were removed for good by now.
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
		s.bury(dead)
	}
}
