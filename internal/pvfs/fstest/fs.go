package fstest

import (
	"io"
	"time"
)

// FS is a file system for one user. Names are relative to the directory of the suite, with slashes and without a leading one; "."
// is that directory itself. Flags are those of package os. Modes are the nine access bits, 02000 and 04000.
//
// errors.Is must match errors with the syscall.Errno that POSIX requires. The methods may be called by several goroutines.
type FS interface {
	// Open opens a file, and creates it with os.O_CREATE. It follows symbolic links.
	Open(name string, flag int, mode uint32) (File, error)
	Mkdir(name string, mode uint32) error
	// Remove removes a file, a symbolic link or an empty directory.
	Remove(name string) error
	Rename(from, to string) error
	Symlink(target, name string) error
	Readlink(name string) (string, error)
	Stat(name string) (Info, error)
	Lstat(name string) (Info, error)
	// ReadDir returns the names in a directory in any order, without "." and "..".
	ReadDir(name string) ([]Entry, error)
	// Truncate, Chmod, Chown, Chtimes and the methods for extended attributes follow symbolic links.
	Truncate(name string, size int64) error
	Chmod(name string, mode uint32) error
	// Chown leaves an id unchanged that is -1.
	Chown(name string, uid, gid int) error
	// Chtimes leaves a time unchanged that is zero.
	Chtimes(name string, access, modified time.Time) error
	// Setxattr creates or replaces with flag 0, only creates with XattrCreate, and only replaces with XattrReplace. Keys begin
	// with "user.".
	Setxattr(name, key string, value []byte, flag int) error
	Getxattr(name, key string) ([]byte, error)
	// Listxattr returns the keys that begin with "user.", in any order.
	Listxattr(name string) ([]string, error)
	Removexattr(name, key string) error
	Space() (Space, error)
}

// The flags of Setxattr.
const (
	XattrCreate  = 1
	XattrReplace = 2
)

// File is an open file.
type File interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (Info, error)
	Truncate(size int64) error
	Sync() error
}

// Kind is the type of an object.
type Kind string

// The kinds there are.
const (
	IsFile    Kind = "file"
	IsDir     Kind = "directory"
	IsSymlink Kind = "symlink"
)

// Info describes an object. Size is the size of a file in bytes, or the length of a symlink's target. It is ignored for a
// directory.
type Info struct {
	Kind                       Kind
	Mode                       uint32
	UID, GID                   uint32
	Size                       int64
	Accessed, Modified, Change time.Time
}

// Entry is a name in a directory. Kind may be empty if the listing does not have it.
type Entry struct {
	Name string
	Kind Kind
}

// Space is the space of a file system, in bytes.
type Space struct{ Total, Free int64 }

// User is the user of a call. New files get the first group.
type User struct {
	UID    uint32
	Groups []uint32
}

// Root has all rights.
var Root = User{UID: 0, Groups: []uint32{0}}
