package store

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Options configure a store. The zero value works for tests: no ranges (the store uses those of its last opening), durable
// metadata.
type Options struct {
	Meta, Data []proto.Extent   // ranges from which Create takes handles
	NoSyncMeta bool             // metadata is synced only from time to time (SyncEvery), not by every Update
	SyncData   bool             // only stored, for the server to read: SyncsData
	SyncEvery  time.Duration    // with NoSyncMeta; 0 is 5 s
	SealEvery  time.Duration    // how often checksums of datafiles are sealed, see seal.go; 0 is 30 s
	OpenFiles  int              // datafiles kept open, with two files each; 0 is 256
	ReadOnly   bool             // nothing is changed; other readers may open the store too
	Clock      func() time.Time // nil is time.Now; used for the versions of directories
	Random     io.Reader        // nil is crypto/rand; used for handles and the salt, by one goroutine at a time
	Log        *slog.Logger     // nil discards
	Disk       disk.Disk        // nil is disk.OS

	Boot string // identifies the boot of the machine; "" asks the kernel. After a power loss it is different.

	metaBytesMax int // of the database's file; 0 is no limit. For tests that fill it.
}

const (
	syncEvery = 5 * time.Second
	openFiles = 256

	databaseName = "meta.db"
	dataName     = "data"
	reserveName  = "reserve"
	orphansName  = "orphans" // where Check puts files without an object

	saltBytes = 16
)

// Format is the version of the whole store: its tables, keys and folders.
const Format = 1

var (
	formatKey = []byte("format")
	saltKey   = []byte("salt")
)

// Stats are counters. Stats takes constant time.
type Stats struct {
	Objects                          map[proto.ObjType]int64
	Entries                          int64
	MetaHandles, DataHandles         uint64 // in all ranges
	MetaHandlesUsed, DataHandlesUsed uint64
	Updates, Commits                 uint64 // since Open: calls that succeeded, and database transactions that they took
	SyncFailures                     uint64 // since Open: failed syncs
	Beyond                           uint64 // since Open: uses of objects that a request had not declared, see Tx.Within
	DamagedReads                     uint64 // since Open: blocks that did not match their checksums
	Resummed                         uint64 // since Open: blocks that got a new checksum because a power loss had left the old one in doubt
	Marked                           int    // datafiles that may have lost bytes: a sync failed, and the bytes were not written again
}

// Store is an open store. Its methods may be called by any number of goroutines.
type Store struct {
	dir        string
	boot       string // identifies the boot of the machine
	opts       Options
	clock      func() time.Time
	random     io.Reader
	log        *slog.Logger
	disk       disk.Disk
	db         *bolt.DB
	dbFile     *os.File     // of the database, which closes it
	mapped     int64        // bytes of it that are mapped, or will be when it grows
	size       atomic.Int64 // bytes of it, used and free
	checkpoint *checkpoint
	salt       []byte
	slotMask   uint64
	files      *files
	reserve    reserve // the leader's

	state            atomic.Pointer[state] // as committed
	noSyncMeta       atomic.Bool
	syncData         atomic.Bool
	damageLogged     atomic.Bool
	updates, commits atomic.Uint64
	syncFailures     atomic.Uint64
	damage           damage
	beyond           atomic.Uint64
	resummed         atomic.Uint64 // blocks that got a new checksum because a power loss had left the old one in doubt

	syncMu          sync.Mutex            // held while the database is synced, except by a commit that is not durable
	commitMu        sync.Mutex            // held during a commit; taken after syncMu
	written, synced atomic.Uint64         // commits that were not durable, and how many of them are on the disk
	lost            atomic.Pointer[error] // why committed data may not be on the disk; nil at first

	queueMu  sync.Mutex
	idle     sync.Cond // leading became false
	queue    []*update
	group    []*update // reused by the leader
	leading  bool
	tight    bool // the leader's: the next commit is synced, to free room
	closed   bool
	broken   error          // why no more updates are possible
	stuck    bool           // a transaction did not end, so the database cannot be closed
	unlinked []proto.Handle // datafiles whose bytes were removed; the next group removes their records
	removals []removal      // datafiles whose bytes are removed once the commit of their removal is on the disk

	stop     chan struct{}
	done     sync.WaitGroup
	tidy     chan struct{} // closed at the end of tidyUp
	sweeping atomic.Bool   // there may be such files
}

// Open opens the store in dir, and makes it if there is none and opts.ReadOnly is not set. EBUSY: another process has it open.
// EIO: it is damaged. If only a part is damaged, Open succeeds, the rest can be read, and updates fail with EIO.
func Open(dir string, opts Options) (*Store, error) {
	s := &Store{
		dir: dir, opts: opts, clock: opts.Clock, random: opts.Random, log: opts.Log, disk: opts.Disk,
		slotMask: 1<<44 - 1, stop: make(chan struct{}), tidy: make(chan struct{}),
	}
	s.idle.L = &s.queueMu
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.disk == nil {
		s.disk = disk.OS
	}
	s.noSyncMeta.Store(opts.NoSyncMeta)
	s.syncData.Store(opts.SyncData)
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	if !opts.ReadOnly {
		every := opts.SyncEvery
		if every <= 0 {
			every = syncEvery
		}
		s.done.Go(func() { s.syncNowAndThen(every) })
		s.done.Go(func() { s.sealNowAndThen(cmp.Or(s.opts.SealEvery, sealEvery)) })
		s.done.Go(s.tidyUp)
	}
	return s, nil
}

func (s *Store) open() (err error) {
	if s.opts.ReadOnly {
		if _, err := os.Stat(filepath.Join(s.dir, databaseName)); err != nil {
			return err
		}
	} else if err := os.MkdirAll(filepath.Join(s.dir, dataName), 0o700); err != nil {
		return err
	}
	left, err := s.readCheckpoint()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && s.checkpoint != nil {
			err = errors.Join(err, s.checkpoint.file.Close())
		}
	}()
	if err := s.openMapped(); err != nil {
		return err
	}
	wrong, err := s.checkLoops()
	if err != nil {
		return errors.Join(err, guard("close", s.db.Close))
	}
	s.reserve = reserve{path: filepath.Join(s.dir, reserveName)}
	s.files = newFiles(s, filepath.Join(s.dir, dataName))
	if wrong == nil {
		wrong = s.verify()
	}
	if wrong != nil {
		s.log.Error("store: the database is damaged: it can only be read", "dir", s.dir, "err", wrong)
		s.broken = fmt.Errorf("store: no changes, the database is damaged: %w", wrong)
	}
	if wrong != nil || s.opts.ReadOnly {
		err = guard("open", func() error { return s.db.View(s.load) })
	} else {
		err = s.openToWrite(left)
	}
	if err != nil {
		return errors.Join(err, guard("close", s.db.Close))
	}
	return nil
}

// openToWrite prepares an open database for changes.
func (s *Store) openToWrite(left slotRecord) error {
	if left.as != leftClosed {
		// The kernel has the data of the server's last run, but the disk perhaps not.
		if err := s.disk.SyncDatabase(s.dbFile); err != nil {
			return err
		}
	}
	err := guard("open", func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			if err := s.prepare(tx); err != nil {
				return err
			}
			return s.notePowerLoss(tx, left)
		})
	})
	if err != nil {
		return err
	}
	s.disk.Committed(s.dbFile)
	if err := s.checkpoint.write(leftOpen, metaPage{}); err != nil {
		return err
	}
	if err := s.syncDir(); err != nil {
		return err
	}
	if err := s.finishWrites(left); err != nil {
		return err
	}
	return s.unlinkOldDead()
}

// notePowerLoss makes the notes of a power loss, if the last run ended with one, and reads those of earlier starts.
func (s *Store) notePowerLoss(tx *bolt.Tx, left slotRecord) error {
	switch {
	case left.as == leftUnknown: // a new store
		s.sweeping.Store(true)
		return nil
	case left.as != leftClosed && left.boot != s.checkpoint.boot:
		if err := makeNote(tx, unsweptKey); err != nil {
			return err
		}
		if left.as == leftDeferred {
			if err := makeNote(tx, wentBackKey); err != nil {
				return err
			}
		}
	}
	s.sweeping.Store(tx.Bucket([]byte(tableNames[tStore])).Get(unsweptKey) != nil)
	return nil
}

// prepare makes the tables of a new store, and reads the store's own records.
func (s *Store) prepare(tx *bolt.Tx) error {
	own := tx.Bucket([]byte(tableNames[tStore]))
	if own == nil {
		for _, name := range tableNames {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		own = tx.Bucket([]byte(tableNames[tStore]))
		salt := make([]byte, saltBytes)
		if _, err := io.ReadFull(s.random, salt); err != nil {
			return err
		}
		empty := state{}
		for key, record := range map[string][]byte{
			string(formatKey): seal(formatKey, 1, func(b []byte) []byte { return append(b, Format) }),
			string(saltKey):   seal(saltKey, saltBytes, func(b []byte) []byte { return append(b, salt...) }),
			string(stateKey):  empty.record(),
		} {
			if err := own.Put([]byte(key), record); err != nil {
				return err
			}
		}
	}
	if err := s.load(tx); err != nil {
		return err
	}
	now := s.state.Load().clone()
	var err error
	now.ranges, err = makeRanges(&s.opts, now.ranges, func(e proto.Extent) (n uint64) {
		c := tx.Bucket([]byte(tableNames[tObjects])).Cursor()
		for key, _ := c.Seek(handleKey(e.Last)); len(key) == 8 && keyHandle(key) >= e.First; key, _ = c.Next() {
			n++
		}
		return n
	})
	if err != nil {
		return err
	}
	s.state.Store(&now)
	return own.Put(stateKey, now.record())
}

func (s *Store) load(tx *bolt.Tx) error {
	own := tx.Bucket([]byte(tableNames[tStore]))
	if own == nil {
		return damaged("no store")
	}
	for _, name := range tableNames {
		if tx.Bucket([]byte(name)) == nil {
			return damaged("table %s is missing", name)
		}
	}
	format, err := unseal(formatKey, own.Get(formatKey))
	if err != nil {
		return err
	}
	if len(format) != 1 || format[0] != Format {
		return fmt.Errorf("store: format %d, known is %d: a newer version made it: %w", format, Format, syscall.EINVAL)
	}
	salt, err := unseal(saltKey, own.Get(saltKey))
	if err != nil {
		return err
	}
	if len(salt) != saltBytes {
		return damaged("salt of %d bytes", len(salt))
	}
	s.salt = append([]byte{}, salt...)
	now, err := parseState(own.Get(stateKey))
	if err != nil {
		return err
	}
	now.pools = map[string]int{}
	for pool := range (&Tx{s: s, tx: tx}).Pools() {
		now.pools[pool]++
	}
	s.state.Store(&now)
	s.files.marks = (&Tx{s: s, tx: tx}).marks()
	if n := len(s.files.marks); n > 0 {
		s.log.Warn("store: syncs of some datafiles failed, and they were not written again since", "datafiles", n)
	}
	return nil
}

// unlinkOldDead removes the bytes of datafiles that were removed just before the last run ended.
func (s *Store) unlinkOldDead() error {
	var dead []proto.Handle
	err := s.View(func(t *Tx) error {
		c := t.table(tDead).Cursor()
		for key, _ := c.First(); key != nil; key, _ = c.Next() {
			if len(key) == 8 {
				dead = append(dead, keyHandle(key))
			}
		}
		return nil
	})
	if err == nil {
		s.unlinkDead(dead, true)
	}
	return err
}

// isDatafile reports whether a datafile exists.
func (s *Store) isDatafile(h proto.Handle) bool {
	_, err := s.metafileOf(h)
	return err == nil
}

func (s *Store) syncNowAndThen(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.recordOwners()
			_ = s.Sync() // it logs its failure
		}
	}
}

// Close closes the store after the updates under way. Later calls get fs.ErrClosed.
func (s *Store) Close() error {
	s.sealAll()
	// Files that fail to close are marked, which takes an update.
	s.files.close()
	s.files.recordAll()
	s.recordOwners()
	// An update removes the records of datafiles whose bytes are gone. If it fails, the next start does that.
	s.queueMu.Lock()
	marks := len(s.unlinked) > 0
	s.queueMu.Unlock()
	if marks {
		_ = s.Update(func(*Tx) error { return nil })
	}
	s.queueMu.Lock()
	if s.closed {
		s.queueMu.Unlock()
		return nil
	}
	s.closed = true
	for s.leading {
		s.idle.Wait()
	}
	broken := s.broken
	s.queueMu.Unlock()
	close(s.stop)
	s.done.Wait()
	err := s.Sync()
	if s.stuck {
		return broken
	}
	if s.files.writes != nil { // the store is not read only
		s.files.writes.close()
	}
	err = errors.Join(err, s.closeCheckpoint(err == nil && broken == nil))
	return errors.Join(err, guard("close", s.db.Close))
}

// SetSync turns durable metadata and data on or off.
func (s *Store) SetSync(meta, data bool) {
	s.noSyncMeta.Store(!meta)
	s.syncData.Store(data)
}

// SyncsMeta reports whether an Update is on the disk when it returns.
func (s *Store) SyncsMeta() bool { return !s.noSyncMeta.Load() }

// SyncsData reports whether writes are to be synced before they are acknowledged. The store does not do that itself: call
// Data.Sync.
func (s *Store) SyncsData() bool { return s.syncData.Load() }

// Stats returns the counters.
func (s *Store) Stats() Stats {
	now := s.state.Load()
	st := Stats{
		Objects: make(map[proto.ObjType]int64, typesMax), Entries: now.entries,
		Updates: s.updates.Load(), Commits: s.commits.Load(),
		SyncFailures: s.syncFailures.Load(), Marked: s.files.countMarks(),
		Beyond: s.beyond.Load(), DamagedReads: s.damagedReads(), Resummed: s.resummed.Load(),
	}
	for i, n := range now.objects {
		st.Objects[proto.ObjType(1<<i)] = n
	}
	for _, r := range now.ranges {
		if r.space == MetaSpace {
			st.MetaHandles, st.MetaHandlesUsed = st.MetaHandles+r.size(), st.MetaHandlesUsed+r.used
		} else {
			st.DataHandles, st.DataHandlesUsed = st.DataHandles+r.size(), st.DataHandlesUsed+r.used
		}
	}
	return st
}

// Space returns the available and the total bytes of the file system of the store.
func (s *Store) Space() (available, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.dir, &st); err != nil {
		return 0, 0, fmt.Errorf("store %s: %w", s.dir, err)
	}
	return int64(st.Bavail) * st.Bsize, int64(st.Blocks) * st.Bsize, nil
}

// syncDir syncs the names in the store's folder.
func (s *Store) syncDir() error {
	f, err := s.disk.OpenFolder(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
