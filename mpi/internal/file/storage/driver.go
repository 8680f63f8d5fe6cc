package storage

import (
	"context"
	"os"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Driver is one kind of storage. The names that it gets are without the prefix that leads to it.
// Errors are as those of File.
type Driver interface {
	// Open opens a file. flag is as in package os.
	Open(ctx context.Context, name string, flag int, how How) (File, error)
	// Delete removes a file.
	Delete(ctx context.Context, name string) error
	// OpenDir opens a directory. With create, it makes the last part of the name if that does not
	// exist, in a way that survives a loss of power.
	OpenDir(ctx context.Context, name string, create bool) (Dir, error)
}

// How says how a new file is made. Zero fields of the striping leave it to the file system.
type How struct {
	Perm  os.FileMode
	Unit  int64 // of striping, in bytes
	Count int   // servers
}

// A Dir is one process's access to a directory. Names are those of files in it, which CheckEntry
// accepts.
//
// Names are on stable storage after Sync. Before that, each change of a name may survive a loss of
// power or not, independently of earlier and later changes.
type Dir interface {
	// Names returns the names of all files, in any order.
	Names(ctx context.Context) ([]string, error)
	// Rename renames a file atomically: the new name never leads to a part of it. A file that has the
	// name already is replaced. If the process dies during the call, the file may have both names.
	// Then the caller must call Rename again: Delete of one name may leave the other without a file.
	Rename(ctx context.Context, from, to string) error
	// Delete removes a file.
	Delete(ctx context.Context, name string) error
	// Sync puts the names of files on stable storage, but not their bytes.
	Sync(ctx context.Context) error
	Close(ctx context.Context) error
}

// CheckEntry returns an error unless a name can be that of a file in a directory.
func CheckEntry(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return errclass.New(errclass.BadFile, "%q is not the name of a file in a directory: give one without slashes", name)
	}
	return nil
}

// drivers are those that Register was given, by their prefixes.
var drivers struct {
	sync.Mutex
	of map[string]Driver
}

// Register makes a driver the one for names with a prefix, such as "mem:".
func Register(prefix string, d Driver) {
	drivers.Lock()
	defer drivers.Unlock()
	if drivers.of == nil {
		drivers.of = map[string]Driver{}
	}
	drivers.of[prefix] = d
}

// Registered returns the driver for a name, and the rest of the name, if one was registered.
func Registered(name string) (d Driver, rest string, ok bool) {
	prefix, rest, colon := strings.Cut(name, ":")
	if !colon {
		return nil, "", false
	}
	drivers.Lock()
	defer drivers.Unlock()
	d, ok = drivers.of[prefix+":"]
	return d, rest, ok
}
