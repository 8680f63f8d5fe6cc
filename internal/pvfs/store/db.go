package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// The tables, each a bucket of the database. In keys, a handle is complemented and big-endian: handles are given out downward, so
// new keys come last.
const (
	tStore   = iota // of the store itself: format, salt, state
	tObjects        // handle: object
	tDirs           // dirdata handle: DirState
	tEntries        // dirdata handle, slot: name, handle
	tXattrs         // handle, slot: name, value
	tRecords        // key: a record of the server
	tPools          // pool, zero, handle: empty
	tDead           // handle of a datafile whose bytes are to be removed: empty
	tMarks          // handle of a datafile whose sync failed: the bytes that may be lost
	tables
)

var tableNames = [tables]string{"store", "objects", "dirs", "entries", "xattrs", "records", "pools", "dead", "marks"}

// lockPatience is how long to wait for a process that is just closing the store.
const lockPatience = 200 * time.Millisecond

// openDB opens the database's file by open, and maps mapped bytes from the start.
func openDB(path string, readOnly bool, maxSize, mapped int, open openFile) (db *bolt.DB, err error) {
	err = guard("open "+path, func() (err error) {
		db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout: lockPatience, ReadOnly: readOnly, FreelistType: bolt.FreelistMapType,
			InitialMmapSize: mapped, MaxSize: maxSize, OpenFile: open,
		})
		return err
	})
	return db, err
}

type openFile = func(path string, flags int, perm os.FileMode) (*os.File, error)

// openDatabase opens the database's file, and keeps it in dbFile.
func (s *Store) openDatabase(path string, flags int, perm os.FileMode) (f *os.File, err error) {
	f, err = s.disk.OpenDatabase(path, flags, perm)
	s.dbFile = f
	return f, err
}

// guard calls f. A panic, or a fault in memory mapped from a damaged file, becomes EIO.
func guard(what string, f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if p := recover(); p != nil {
			err = &brokenError{what: what, cause: p, where: string(debug.Stack())}
		}
	}()
	return errnoOf(f())
}

// A brokenError is a caught panic: the database is damaged.
type brokenError struct {
	what  string
	cause any
	where string
}

func (e *brokenError) Error() string {
	if r, ok := e.cause.(runtime.Error); ok {
		return fmt.Sprintf("store: %s: the database is damaged (%v)", e.what, r)
	}
	return fmt.Sprintf("store: %s: the database is damaged: %v", e.what, e.cause)
}

func (e *brokenError) Unwrap() error { return syscall.EIO }

// errnoOf adds the matching errno to an error of the database.
func errnoOf(err error) error {
	var errno syscall.Errno
	switch {
	case err == nil, errors.As(err, &errno), errors.Is(err, fs.ErrClosed):
		return err
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return fmt.Errorf("store: %w", fs.ErrClosed)
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("store: another process has it open: %w", syscall.EBUSY)
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return fmt.Errorf("store: %w: %w", err, syscall.ENOSPC)
	case errors.Is(err, berrors.ErrDatabaseReadOnly), errors.Is(err, berrors.ErrTxNotWritable):
		return fmt.Errorf("store: %w: %w", err, syscall.EROFS)
	case isBolt(err):
		return fmt.Errorf("store: %w: %w", err, syscall.EIO)
	}
	return err
}

func isBolt(err error) bool {
	for _, e := range []error{berrors.ErrInvalid, berrors.ErrVersionMismatch, berrors.ErrChecksum, berrors.ErrInvalidMapping,
		berrors.ErrTxClosed, berrors.ErrIncompatibleValue, berrors.ErrBucketNotFound} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
