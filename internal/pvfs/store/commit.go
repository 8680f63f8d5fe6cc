package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// commit commits a transaction, and syncs it if metadata is durable. A failed transaction is left for afterFailure.
//
// If several callers sync at the same time, the kernel reports a failure to only one of them. So a durable commit and Sync take
// turns. Commits that are not durable sync when the database's file grows. They do not wait for Sync, but Sync waits for them.
func (s *Store) commit(tx *bolt.Tx) error {
	s.db.NoSync = s.noSyncMeta.Load() && s.mayHold(tx)
	if !s.db.NoSync {
		s.syncMu.Lock()
		defer s.syncMu.Unlock()
	}
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if s.db.NoSync && s.checkpoint.at == nil {
		if err := s.beginDeferring(); err != nil {
			return err
		}
	}
	s.size.Store(tx.Size())
	err := guard("commit", tx.Commit)
	switch {
	case err != nil && mayLosePages(err):
		return s.syncFailed(err)
	case err != nil:
		return err
	case s.db.NoSync:
		s.written.Add(1)
	default:
		s.disk.Committed(s.dbFile)
		s.synced.Store(s.written.Load())
		return s.endDeferring()
	}
	return nil
}

// mayLosePages reports whether an error of a commit may come from a sync. It does not if a write was refused, or if the database
// is damaged: then the data of earlier commits are not affected.
func mayLosePages(err error) bool {
	refused, broken := (*fs.PathError)(nil), (*brokenError)(nil)
	return !errors.As(err, &refused) && !errors.As(err, &broken) && !errors.Is(err, berrors.ErrMaxSizeReached)
}

// syncFailed ends updates: the disk did not take the data of the database. The kernel reports that only once, and later commits
// may build on lost data although their syncs succeed. The caller holds syncMu or commitMu.
func (s *Store) syncFailed(err error) error {
	err = fmt.Errorf("store: no changes until it is opened again, the database could not be synced: %v: %w", err, syscall.EIO)
	s.syncFailures.Add(1)
	s.lost.Store(&err)
	s.refuse(err)
	return err
}

// refuse ends updates for a reason, and logs it.
func (s *Store) refuse(err error) {
	s.queueMu.Lock()
	first := s.broken == nil
	if first {
		s.broken = err
	}
	s.queueMu.Unlock()
	if first {
		s.log.Error("store: no more changes", "dir", s.dir, "err", err)
	}
}

// Sync puts all committed metadata on the disk. If several callers sync, one does it and the others wait. After one failure, Sync
// and Update always fail.
func (s *Store) Sync() error {
	if s.opts.ReadOnly {
		return nil
	}
	err := s.syncNow()
	if err == nil {
		s.removeSynced()
	}
	return err
}

func (s *Store) syncNow() error {
	if s.lost.Load() == nil && s.synced.Load() >= s.written.Load() {
		return nil
	}
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	if lost := s.lost.Load(); lost != nil {
		return *lost
	}
	s.commitMu.Lock()
	written := s.written.Load()
	if s.synced.Load() >= written {
		s.commitMu.Unlock()
		return nil
	}
	next, err := hold(s.db, s.dbFile)
	s.commitMu.Unlock()
	if err != nil {
		return err
	}
	if err := s.disk.SyncDatabase(s.dbFile); err != nil {
		next.drop()
		return s.syncFailed(err)
	}
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if lost := s.lost.Load(); lost != nil { // a commit that was in progress has failed
		next.drop()
		return *lost
	}
	if err := s.holdInstead(next); err != nil {
		return err
	}
	s.synced.Store(written)
	return nil
}
