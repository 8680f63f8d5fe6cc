// Package disktest has disks for tests of a store on a bad disk. With Disk, calls to the disk below it fail, move fewer bytes
// than asked, or take long, as planned. Volatile loses data that was not synced.
package disktest

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
)

// Op is a call to a disk or to a file of it.
type Op int

// The calls.
const (
	Open Op = iota
	Mkdir
	Unlink
	Size // of an open file, or of one that is not open
	OpenFolder
	SyncFolder
	SyncAll
	OpenDatabase
	SyncDatabase
	Read
	Write
	Truncate
	Sync
	Close
	Synced // Sync, SyncFolder, SyncAll or SyncDatabase is done, and about to return
)

// A Plan decides the result of a call with a path: nil allows it. Many goroutines may call it at once, and it may take its time.
// A call with an error is not made, with two exceptions: Close closes the file, and Synced comes after the sync. Data written
// while the plan runs for Synced are not part of that sync.
type Plan func(op Op, path string) error

// ErrShort in a plan makes a Read or a Write move half of its bytes, at least one, without an error. For other calls it is an
// error.
var ErrShort = errors.New("disktest: fewer bytes than asked")

// Disk is a disk with a plan. Without one (the zero value), every call goes to the machine's own disk.
type Disk struct {
	Below disk.Disk // nil is disk.OS

	plan atomic.Pointer[Plan]

	mu       sync.Mutex
	database *os.File
	real     int // while writes are swallowed: a descriptor of the database's file
}

var _ disk.Disk = (*Disk)(nil)

// Set sets the plan for calls that start from now on; nil means none.
func (d *Disk) Set(p Plan) { d.plan.Store(&p) }

func (d *Disk) ask(op Op, path string) error {
	if p := d.plan.Load(); p != nil && *p != nil {
		return (*p)(op, path)
	}
	return nil
}

func (d *Disk) below() disk.Disk {
	if d.Below != nil {
		return d.Below
	}
	return disk.OS
}

// synced ends a completed sync.
func (d *Disk) synced(err error, path string) error {
	if err != nil {
		return err
	}
	return d.ask(Synced, path)
}

// short is the part of p that a read or write may move.
func (d *Disk) short(op Op, path string, p []byte) ([]byte, error) {
	err := d.ask(op, path)
	if errors.Is(err, ErrShort) {
		return p[:(len(p)+1)/2], nil
	}
	return p, err
}

// Open implements disk.Disk, and so do the following methods.
func (d *Disk) Open(path string, flags int) (disk.File, error) {
	if err := d.ask(Open, path); err != nil {
		return nil, err
	}
	f, err := d.below().Open(path, flags)
	if err != nil {
		return nil, err
	}
	return &file{below: f, on: d, path: path}, nil
}

// Mkdir makes a folder.
func (d *Disk) Mkdir(path string) error {
	if err := d.ask(Mkdir, path); err != nil {
		return err
	}
	return d.below().Mkdir(path)
}

// Unlink removes a name.
func (d *Disk) Unlink(path string) error {
	if err := d.ask(Unlink, path); err != nil {
		return err
	}
	return d.below().Unlink(path)
}

// Size is the size of a file.
func (d *Disk) Size(path string) (int64, error) {
	if err := d.ask(Size, path); err != nil {
		return 0, err
	}
	return d.below().Size(path)
}

// OpenFolder opens a folder.
func (d *Disk) OpenFolder(path string) (disk.Folder, error) {
	if err := d.ask(OpenFolder, path); err != nil {
		return nil, err
	}
	f, err := d.below().OpenFolder(path)
	if err != nil {
		return nil, err
	}
	return &folder{Folder: f, on: d, path: path}, nil
}

// SyncAll syncs all files and folders.
func (d *Disk) SyncAll(path string) error {
	if err := d.ask(SyncAll, path); err != nil {
		return err
	}
	return d.synced(d.below().SyncAll(path), path)
}

// OpenDatabase opens the database's file.
func (d *Disk) OpenDatabase(path string, flags int, perm os.FileMode) (*os.File, error) {
	if err := d.ask(OpenDatabase, path); err != nil {
		return nil, err
	}
	f, err := d.below().OpenDatabase(path, flags, perm)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.database = f
	return f, err
}

// SyncDatabase syncs the database's file.
func (d *Disk) SyncDatabase(f *os.File) error {
	if err := d.ask(SyncDatabase, f.Name()); err != nil {
		return err
	}
	return d.synced(d.below().SyncDatabase(f), f.Name())
}

// Committed says that the database itself has synced its file.
func (d *Disk) Committed(f *os.File) { d.below().Committed(f) }

// Swallow makes the database's writes vanish and its syncs fail, until Restore. The database syncs at its commits itself, without
// asking the plan.
func (d *Disk) Swallow() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	fd := int(d.database.Fd())
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(null) }()
	// The lock on the database's file is held while one descriptor of the same open exists.
	if d.real, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return err
	}
	return unix.Dup3(null, fd, unix.O_CLOEXEC) // a device without storage cannot be synced: EINVAL
}

// Restore ends Swallow.
func (d *Disk) Restore() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { _ = unix.Close(d.real) }()
	return unix.Dup3(d.real, int(d.database.Fd()), unix.O_CLOEXEC)
}

// A folder is an open folder of a Disk.
type folder struct {
	disk.Folder
	on   *Disk
	path string
}

func (f *folder) Sync() error {
	if err := f.on.ask(SyncFolder, f.path); err != nil {
		return err
	}
	return f.on.synced(f.Folder.Sync(), f.path)
}

// A file is an open file of a Disk.
type file struct {
	below disk.File
	on    *Disk
	path  string
}

func (f *file) Pread(p []byte, off int64) (int, error) {
	p, err := f.on.short(Read, f.path, p)
	if err != nil {
		return 0, err
	}
	return f.below.Pread(p, off)
}

func (f *file) Pwrite(p []byte, off int64) (int, error) {
	p, err := f.on.short(Write, f.path, p)
	if err != nil {
		return 0, err
	}
	return f.below.Pwrite(p, off)
}

func (f *file) Truncate(size int64) error {
	if err := f.on.ask(Truncate, f.path); err != nil {
		return err
	}
	return f.below.Truncate(size)
}

func (f *file) Size() (int64, error) {
	if err := f.on.ask(Size, f.path); err != nil {
		return 0, err
	}
	return f.below.Size()
}

func (f *file) Sync() error {
	if err := f.on.ask(Sync, f.path); err != nil {
		return err
	}
	return f.on.synced(f.below.Sync(), f.path)
}

// File returns the file below. Reads through it do not ask the plan.
func (f *file) File() *os.File { return f.below.File() }

func (f *file) Close() error {
	planned := f.on.ask(Close, f.path)
	if err := f.below.Close(); err != nil {
		return err
	}
	return planned
}
