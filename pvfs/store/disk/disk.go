// Package disk is what a store asks of the disk below it: the seam at which a test puts something
// between the store and its files. OS is the machine's own disk; package disktest has one whose calls
// fail by plan.
//
// Not behind the seam are the reserve, which holds nothing, and what Check does with files that belong
// to nothing.
package disk

import "os"

// Disk has files by their paths. Its methods may be called by many goroutines at once. Errors are a
// syscall.Errno as the kernel gives it, or wrap one; a call that a signal interrupted was made again.
type Disk interface {
	// Open opens the file with the bytes of a datafile. flags are those of open(2); a file that
	// O_CREAT makes is the owner's alone.
	Open(path string, flags int) (File, error)
	// Mkdir makes a folder that is the owner's alone. EEXIST: it is there.
	Mkdir(path string) error
	// Unlink removes the name of a file, which stays as long as it is open.
	Unlink(path string) error
	// Size is the size of a file that need not be open.
	Size(path string) (int64, error)
	// OpenFolder opens a folder to sync it.
	OpenFolder(path string) (Folder, error)
	// SyncAll puts all that was written to the file system that has this folder on the disk, and the names in it. After an error nobody
	// knows what of it is there.
	SyncAll(folder string) error
	// OpenDatabase opens the database's file, which the database then maps, locks, reads, writes and
	// closes by itself. When it commits durably it syncs it as well.
	OpenDatabase(path string, flags int, perm os.FileMode) (*os.File, error)
	// SyncDatabase puts what was written to it on the disk. f is what OpenDatabase returned, open.
	SyncDatabase(f *os.File) error
	// Committed says that the database synced its file by itself, and that nobody has written to it since.
	Committed(f *os.File)
}

// Folder is an open folder.
type Folder interface {
	// Sync puts the names in it on the disk. After an error nobody knows which of the new ones are there,
	// and the next Sync may succeed although some are not.
	Sync() error
	// Close gives the folder back.
	Close() error
}

// File is an open file. All methods but Close may be called by many goroutines at once; Close is called
// once, after all others.
type File interface {
	// Pread reads bytes from a place. It may read fewer than fit; 0 of them and no error is the end.
	Pread(p []byte, off int64) (int, error)
	// Pwrite writes bytes to a place, at least one of them unless there is an error.
	Pwrite(p []byte, off int64) (int, error)
	// Truncate sets the size.
	Truncate(size int64) error
	// Size is the size.
	Size() (int64, error)
	// Sync puts the bytes on the disk. After an error nobody knows which of those that were written
	// since the last success are there, and the next Sync may succeed although some are not.
	Sync() error
	// File is the same file for a caller that lends it to the kernel. It is open until Close. nil: this
	// one can only be read by Pread.
	File() *os.File
	// Close gives the file back. An error is one of a write that was put off.
	Close() error
}
