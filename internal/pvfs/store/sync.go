package store

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A syncer makes one of several callers sync for all of them. The kernel reports a failure only to one call. Thus the failure
// reaches every caller that relied on the sync.
type syncer struct {
	begun atomic.Uint64
	mu    sync.Mutex
	err   error // of the last sync
}

// do syncs by f, or takes the result of a sync that began after do was called.
func (y *syncer) do(f func() error) error {
	begun := y.begun.Load()
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.begun.Load() == begun {
		y.begun.Add(1)
		y.err = f()
	}
	return y.err
}

// A folder has names of files. After a failed sync it is not known which of the new names are on the disk, and no later sync
// would tell. So the folder is not synced again in this run of the server.
type folder struct {
	syncer
	linked bool  // its own name is on the disk; linked and failed are used only inside do
	failed error // a *folderError: the first failure
}

// A folderError says that a folder could not be synced. If it could not even be opened, nothing is lost, and the error has
// another type.
type folderError struct{ err error }

func (e *folderError) Error() string { return e.err.Error() }
func (e *folderError) Unwrap() error { return e.err }

// syncFolder syncs the folder at a path, unless that has failed before.
func (fl *files) syncFolder(in *folder, path string) error {
	if in.failed != nil {
		return in.failed
	}
	open, err := retried(fl, func() (disk.Folder, error) { return fl.disk.OpenFolder(path) })
	if err != nil {
		return err
	}
	defer open.Close() // it was not written
	if err := open.Sync(); err != nil {
		in.failed = &folderError{err}
	}
	return in.failed
}

// errLost is why a marked datafile cannot be synced.
var errLost = fmt.Errorf("a sync failed before, and what was written until then may be lost: write all of it again, or truncate or remove it: %w", syscall.EIO)

// sync syncs the bytes of a datafile, and its file's name, which may be new.
func (fl *files) sync(f *file) error {
	return f.syncer.do(func() error {
		m := f.mark.Load()
		rewritten := m != nil && m.rewritten()
		open := f.get()
		if open == nil {
			var err error
			if open, err = f.open(fl, false); err != nil {
				return err
			}
		}
		if open != nil {
			if err := open.data.Sync(); err != nil {
				return fl.syncFailed(f, err, false)
			}
			if f.fresh.Load() && (m == nil || !m.name) {
				err := fl.syncName(f.h)
				if failed := (*folderError)(nil); errors.As(err, &failed) {
					return fl.syncFailed(f, err, true)
				} else if err != nil {
					return fault("sync", f.h, err)
				}
				f.fresh.Store(false)
			}
		}
		switch now := f.mark.Load(); {
		case now == nil:
			return nil
		case now == m && rewritten:
			return fl.unmark(f, m)
		default:
			fl.record(f.h, now)
			return fault("sync", f.h, errLost)
		}
	})
}

// syncName syncs the name of a datafile's file, and that of its folder, which may be new, too.
func (fl *files) syncName(h proto.Handle) error {
	in := &fl.folders[h&foldersMask]
	return in.do(func() error {
		if !in.linked {
			if err := fl.top.do(func() error { return fl.syncFolder(&fl.top, fl.dir) }); err != nil {
				return err
			}
			in.linked = true
		}
		return fl.syncFolder(in, fl.folder(h))
	})
}

// syncFailed marks a datafile whose bytes or name could not be synced, and returns the error.
func (fl *files) syncFailed(f *file, err error, name bool) error {
	var length int64
	var unknown error
	if open := f.get(); open != nil {
		length, unknown = open.data.Size()
	} else {
		length, unknown = fl.disk.Size(fl.path(f.h))
	}
	if unknown != nil {
		length = math.MaxInt64
	}
	fl.store.syncFailures.Add(1)
	fl.store.log.Error("store: a sync failed, what was written to a datafile may be lost: its syncs fail until all of it is written again",
		"handle", f.h, "file", fl.path(f.h), "bytes", length, "err", err)
	fl.record(f.h, fl.mark(f, length, name))
	return fault("sync", f.h, err)
}

// mark marks a datafile, in memory.
func (fl *files) mark(f *file, length int64, name bool) *mark {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	length = max(length, 1) // of an empty file the size may be lost: there is always something to write again
	if f.removed.Load() {
		m := f.mark.Load().after(length, name)
		f.mark.Store(m)
		return m
	}
	m := fl.marks[f.h].after(length, name)
	fl.marks[f.h] = m
	f.mark.Store(m)
	if now := fl.all[f.h]; now != nil { // f, or one opened after f was closed
		now.mark.Store(m)
	}
	return m
}

// countMarks returns how many datafiles are marked.
func (fl *files) countMarks() int {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return len(fl.marks)
}

// marked reports whether a mark belongs to the datafile that has the handle now.
func (fl *files) marked(h proto.Handle, m *mark) bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.marks[h] == m
}

// record writes a mark to the database, so that it survives a restart of the server. If that fails, it is tried again at the next
// sync of the datafile, and at the end.
func (fl *files) record(h proto.Handle, m *mark) {
	if fl.readOnly || !fl.marked(h, m) || m.wasRecorded() {
		return
	}
	if err := fl.store.putMark(h, m); err != nil {
		if !m.logged.Swap(true) {
			fl.store.log.Error("store: the mark of a failed sync is in memory only: when the server ends it is forgotten, and syncs of the datafile succeed",
				"handle", h, "file", fl.path(h), "err", err)
		}
		return
	}
	m.mu.Lock()
	m.recorded = true
	m.mu.Unlock()
}

// recordAll records all marks.
func (fl *files) recordAll() {
	fl.mu.Lock()
	all := maps.Clone(fl.marks)
	fl.mu.Unlock()
	for h, m := range all {
		fl.record(h, m)
	}
}

// unmark ends a mark.
func (fl *files) unmark(f *file, m *mark) error {
	if fl.readOnly {
		return fault("sync", f.h, errLost)
	}
	if err := fl.store.dropMark(f.h, m); err != nil {
		return err
	}
	fl.store.log.Info("store: a datafile was written again after its sync had failed, and synced", "handle", f.h, "file", fl.path(f.h))
	fl.mu.Lock()
	defer fl.mu.Unlock()
	f.mark.CompareAndSwap(m, nil)
	if fl.marks[f.h] == m {
		delete(fl.marks, f.h)
	}
	return nil
}

// putMark records a mark, and syncs the record.
func (s *Store) putMark(h proto.Handle, m *mark) error {
	err := s.Update(func(t *Tx) error {
		typ, err := t.Type(h)
		if err != nil || typ != proto.TypeDatafile || !s.files.marked(h, m) {
			return err // the datafile may not exist any more
		}
		key := handleKey(h)
		return t.put(tMarks, key, sealMark(key, m))
	})
	if err != nil {
		return err
	}
	return s.Sync()
}

// dropMark removes the record of a mark.
func (s *Store) dropMark(h proto.Handle, m *mark) error {
	return s.Update(func(t *Tx) error {
		if !s.files.marked(h, m) {
			return nil
		}
		return t.remove(tMarks, handleKey(h))
	})
}
