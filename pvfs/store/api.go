package store

import (
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Options say how a store is opened. The zero value is good for tests: no ranges (the store takes
// those of its last opening), durable metadata.
type Options struct {
	Meta, Data []proto.Extent   // where Create takes handles from
	NoSyncMeta bool             // metadata is written to the disk now and then (SyncEvery), not by every Update
	SyncData   bool             // only kept, for the server to ask: SyncsData
	SyncEvery  time.Duration    // with NoSyncMeta; 0 is 5 s
	OpenFiles  int              // files of datafiles that are kept open; 0 is 512
	ReadOnly   bool             // nothing is changed; other readers may have the store too
	Clock      func() time.Time // nil is time.Now; for the versions of directories
	Log        *slog.Logger     // nil is none
}

// Object is what is known of one object. Of Attr all is kept but what follows from other things:
// Capability, StuffedSize, DatafileSize and DirentCount. Get fills in DirentCount of a dirdata
// object. Mask is kept as it is given, without AttrCapability.
type Object struct {
	proto.Attr
	Parent proto.Handle // of a datafile its metafile, of a dirdata object its directory, of others the directory they were made for; 0 if not known
}

// DirState is what a dirdata object knows about its entries.
type DirState struct {
	Count   int64  // entries there are
	Version uint64 // grows with every change: seconds in the upper 32 bits, microseconds in the lower
}

// Space says which handles a new object takes.
type Space int

// The spaces.
const (
	MetaSpace Space = iota // metafiles, directories, dirdata, symlinks
	DataSpace              // datafiles
)

// XattrMode says what SetXattr expects. The values are those of the protocol.
type XattrMode int32

// The modes.
const (
	XattrAny     XattrMode = 0
	XattrCreate  XattrMode = 1 // EEXIST if it is there
	XattrReplace XattrMode = 2 // ENODATA if it is not
)

// Stats are counters. Stats takes no time, however many objects there are.
type Stats struct {
	Objects                          map[proto.ObjType]int64
	Entries                          int64
	MetaHandles, DataHandles         uint64 // that the ranges have
	MetaHandlesUsed, DataHandlesUsed uint64
	Updates, Commits                 uint64 // since Open: calls that succeeded, and disk transactions that they took
}

// Store is an open store. Its methods may be called by many goroutines at once.
type Store struct{}

// Open opens the store in dir, and makes it if there is none and opts.ReadOnly is not set. EBUSY: another process has it open.
func Open(dir string, opts Options) (*Store, error) { return nil, errors.ErrUnsupported }

// Close ends the store after the updates that were begun. Later calls get fs.ErrClosed.
func (s *Store) Close() error { return nil }

// View calls f with the state last committed. The transaction is of no use after f. Neither
// Update nor Sync may be called within f.
func (s *Store) View(f func(*Tx) error) error { return errors.ErrUnsupported }

// Update calls f with a transaction it may change things with. If f fails, nothing has changed, and
// f's error is returned as it is. When Update returns nil, all that f did can be seen by
// View, and is on the disk unless metadata is not synced. f may be called more than once (after a
// failure that was not its own), and never for long: others wait. It must not call View, Update or Sync.
func (s *Store) Update(f func(*Tx) error) error { return errors.ErrUnsupported }

// Sync puts all metadata that was committed on the disk.
func (s *Store) Sync() error { return errors.ErrUnsupported }

// SetSync turns durable metadata and data on or off while the store runs.
func (s *Store) SetSync(meta, data bool) {}

// SyncsMeta reports whether an Update is on the disk when it returns.
func (s *Store) SyncsMeta() bool { return true }

// SyncsData reports whether writes are to be synced before they are acknowledged. The store does
// not do it by itself: call Data.Sync.
func (s *Store) SyncsData() bool { return false }

// Stats returns the counters.
func (s *Store) Stats() Stats { return Stats{} }

// Space returns bytes available and in all of the file system that the store is on.
func (s *Store) Space() (available, total int64, err error) { return 0, 0, errors.ErrUnsupported }

// Tx is a transaction: of a View, or of an Update. Slices and strings it returns stay valid.
type Tx struct{}

// Get returns an object. ENOENT: there is none.
func (t *Tx) Get(h proto.Handle) (Object, error) { return Object{}, fs.ErrNotExist }

// Type returns an object's type, and TypeNone if there is none. It is faster than Get.
func (t *Tx) Type(h proto.Handle) (proto.ObjType, error) { return 0, nil }

// Create makes an object with a new handle of the space. ENOSPC: all handles are in use.
func (t *Tx) Create(space Space, o Object) (proto.Handle, error) { return 0, errors.ErrUnsupported }

// Insert makes an object with a handle that the caller knows, such as the root's. EEXIST: it is there.
func (t *Tx) Insert(h proto.Handle, o Object) error { return errors.ErrUnsupported }

// Put replaces an object. ENOENT: there is none. EINVAL: it would change the type from or to datafile or dirdata.
func (t *Tx) Put(h proto.Handle, o Object) error { return errors.ErrUnsupported }

// Delete removes an object with its extended attributes, and a datafile's bytes after the commit.
// ENOENT: there is none. ENOTEMPTY: a dirdata object that has entries.
func (t *Tx) Delete(h proto.Handle) error { return errors.ErrUnsupported }

// Handles returns up to limit handles of objects from the given one up, and where to go on (0: the end).
func (t *Tx) Handles(from proto.Handle, limit int) ([]proto.Handle, proto.Handle, error) {
	return nil, 0, nil
}

// Objects walks all objects by handle. A record that cannot be read ends it with an error.
func (t *Tx) Objects() iter.Seq2[Object, error] { return nil }

// Dir returns how many entries a dirdata object has, and their version. ENOENT, ENOTDIR.
func (t *Tx) Dir(dirdata proto.Handle) (DirState, error) { return DirState{}, fs.ErrNotExist }

// Lookup returns what a name stands for. ENOENT.
func (t *Tx) Lookup(dirdata proto.Handle, name string) (proto.Handle, error) {
	return 0, fs.ErrNotExist
}

// Link adds an entry to a dirdata object. EEXIST; ENOENT or ENOTDIR without the dirdata object; EINVAL, ENAMETOOLONG.
func (t *Tx) Link(dirdata proto.Handle, name string, h proto.Handle) error {
	return errors.ErrUnsupported
}

// Unlink removes an entry and returns what it stood for. ENOENT.
func (t *Tx) Unlink(dirdata proto.Handle, name string) (proto.Handle, error) {
	return 0, errors.ErrUnsupported
}

// Relink lets an entry stand for another object and returns the one before. ENOENT.
func (t *Tx) Relink(dirdata proto.Handle, name string, h proto.Handle) (proto.Handle, error) {
	return 0, errors.ErrUnsupported
}

// Entries returns up to limit entries after the token, and the next token. Tokens are those of
// READDIR: proto.TokenStart (or 0) begins, proto.TokenEnd says that there are no more. They fit in 48 bits and stay good
// while entries come and go: what is there all the time is returned once.
func (t *Tx) Entries(dirdata proto.Handle, token uint64, limit int) ([]proto.DirEntry, uint64, error) {
	return nil, 0, errors.ErrUnsupported
}

// AllEntries walks the entries of a dirdata object.
func (t *Tx) AllEntries(dirdata proto.Handle) iter.Seq2[proto.DirEntry, error] { return nil }

// Xattr returns an extended attribute. ENODATA: there is none.
func (t *Tx) Xattr(h proto.Handle, name string) ([]byte, error) { return nil, errors.ErrUnsupported }

// SetXattr sets an extended attribute of an object. ENOENT without the object.
func (t *Tx) SetXattr(h proto.Handle, name string, value []byte, mode XattrMode) error {
	return errors.ErrUnsupported
}

// DelXattr removes one. ENODATA.
func (t *Tx) DelXattr(h proto.Handle, name string) error { return errors.ErrUnsupported }

// Xattrs returns up to limit names after the token, like Entries. ENOENT without the object.
func (t *Tx) Xattrs(h proto.Handle, token uint64, limit int) ([]string, uint64, error) {
	return nil, 0, errors.ErrUnsupported
}

// Record returns a record of the server's own, such as the root's handle, a signing key or the mark of
// a division; nil if there is none.
func (t *Tx) Record(key string) ([]byte, error) { return nil, nil }

// SetRecord sets such a record; a nil value removes it.
func (t *Tx) SetRecord(key string, value []byte) error { return errors.ErrUnsupported }

// Records walks the records whose keys begin with a prefix, by key.
func (t *Tx) Records(prefix string) iter.Seq2[string, []byte] { return nil }

// PoolPut adds handles that were made ahead of need, here or on another server, to a pool. Its
// name is the server's choice (an alias and a type, say).
func (t *Tx) PoolPut(pool string, handles ...proto.Handle) error { return errors.ErrUnsupported }

// PoolTake takes up to n handles out of a pool.
func (t *Tx) PoolTake(pool string, n int) ([]proto.Handle, error) { return nil, errors.ErrUnsupported }

// PoolLen returns how many a pool has.
func (t *Tx) PoolLen(pool string) (int, error) { return 0, nil }

// Pools walks all handles of all pools: the pool's name, the handle.
func (t *Tx) Pools() iter.Seq2[string, proto.Handle] { return nil }

// Data is an open datafile. Its owner must Close it. All methods may be called at once.
type Data struct{}

// OpenData opens the bytes of a datafile for several accesses. The object must be there (ENOENT, EINVAL if
// it is not a datafile). It stays usable when the datafile is removed meanwhile, as an open file does.
func (s *Store) OpenData(h proto.Handle) (*Data, error) { return nil, errors.ErrUnsupported }

// ReadAt reads bytes. A short count and no error: the end of the bytes. Holes are zeros.
func (d *Data) ReadAt(p []byte, off int64) (int, error) { return 0, nil }

// WriteAt writes bytes. The first one makes the file.
func (d *Data) WriteAt(p []byte, off int64) (int, error) { return 0, nil }

// Truncate sets the size.
func (d *Data) Truncate(size int64) error { return nil }

// Size returns the size; 0 if nothing was ever written.
func (d *Data) Size() (int64, error) { return 0, nil }

// Sync puts the bytes on the disk.
func (d *Data) Sync() error { return nil }

// Close gives it back.
func (d *Data) Close() error { return nil }

// ReadAt is OpenData, Data.ReadAt and Close.
func (s *Store) ReadAt(h proto.Handle, p []byte, off int64) (int, error) { return 0, nil }

// WriteAt is OpenData, Data.WriteAt and Close.
func (s *Store) WriteAt(h proto.Handle, p []byte, off int64) (int, error) { return 0, nil }

// Truncate is OpenData, Data.Truncate and Close.
func (s *Store) Truncate(h proto.Handle, size int64) error { return nil }

// Size returns the size of a datafile's bytes without opening it; 0 if nothing was ever written. It does
// not look whether the object is there.
func (s *Store) Size(h proto.Handle) (int64, error) { return 0, nil }

// SyncDatafile puts a datafile's bytes on the disk.
func (s *Store) SyncDatafile(h proto.Handle) error { return nil }

// Problem is something that Check found.
type Problem struct {
	Handle   proto.Handle // 0: of the store as a whole
	What     string
	Repaired bool
}

// Check looks at everything the store has: the pages of its database, every record, counts, extended attributes and
// files without object. With repair it mends what it can and nobody else may use the store meanwhile.
// Whether objects belong to each other, over all servers, is the matter of package fsck.
func (s *Store) Check(repair bool) ([]Problem, error) { return nil, errors.ErrUnsupported }
