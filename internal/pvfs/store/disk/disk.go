// Package disk is the interface of a store to its disk. Tests can put something between the store and its files here. OS is the
// machine's own disk. Package disktest has a disk whose calls fail as planned.
//
// Two things bypass this interface: the reserve, whose contents do not matter, and Check's handling of files that belong to no
// object.
package disk

import "os"

// Disk has files by their paths. Its methods may be called by any number of goroutines. Errors are a syscall.Errno from the
// kernel, or wrap one. Calls interrupted by a signal are repeated.
type Disk interface {
	// Open opens the file with the bytes of a datafile. flags are those of open(2). A file made by O_CREAT is accessible to its
	// owner only.
	Open(path string, flags int) (File, error)
	// Mkdir makes a folder that only its owner can access. EEXIST.
	Mkdir(path string) error
	// Unlink removes the name of a file. The file itself stays while it is open.
	Unlink(path string) error
	// Size is the size of a file, which need not be open.
	Size(path string) (int64, error)
	// OpenFolder opens a folder to sync it.
	OpenFolder(path string) (Folder, error)
	// SyncAll syncs all data and names of the file system that has this folder. After an error it is not known which of them are
	// on the disk.
	SyncAll(folder string) error
	// OpenDatabase opens the database's file. The database maps, locks, reads, writes and closes it itself. Durable commits also
	// sync it.
	OpenDatabase(path string, flags int, perm os.FileMode) (*os.File, error)
	// SyncDatabase syncs the database's file. f is the open result of OpenDatabase.
	SyncDatabase(f *os.File) error
	// Committed says that the database itself has synced its file, and that nothing was written to it since.
	Committed(f *os.File)
}

// Folder is an open folder.
type Folder interface {
	// Sync syncs the names in the folder. After an error it is not known which new names are on the disk, and the next Sync may
	// succeed although some are not.
	Sync() error
	// Close closes the folder.
	Close() error
}

// File is an open file. All methods except Close may be called by any number of goroutines. Close is called once, after all
// others.
type File interface {
	// Pread reads bytes at an offset. It may read fewer than len(p); 0 without an error is the end.
	Pread(p []byte, off int64) (int, error)
	// Pwrite writes bytes at an offset, at least one of them unless there is an error.
	Pwrite(p []byte, off int64) (int, error)
	// Truncate sets the size.
	Truncate(size int64) error
	// Size is the size.
	Size() (int64, error)
	// Sync syncs the bytes. After an error it is not known which bytes written since the last success are on the disk, and the
	// next Sync may succeed although some are not.
	Sync() error
	// File is the same file for a caller that lends it to the kernel. It is open until Close. nil: this file can be read only by
	// Pread.
	File() *os.File
	// Close closes the file. An error means that a delayed write failed.
	Close() error
}
