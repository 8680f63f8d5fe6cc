package file

import (
	"context"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
)

// A Dir is a directory of files. The standard has no such calls: its files are opened and deleted by
// name, but neither listed nor renamed. Each process that needs a Dir opens its own; no call is
// collective. The methods may be called from any goroutine.
type Dir struct{ store storage.Dir }

// OpenDir opens a directory. Its name is like that of a file. With create, the last part of the name
// is made if it does not exist.
func OpenDir(ctx context.Context, name string, create bool) (*Dir, error) {
	d, rest, err := driverOf(name)
	if err != nil {
		return nil, err
	}
	dir, err := d.OpenDir(ctx, rest, create)
	if err != nil {
		return nil, err
	}
	return &Dir{dir}, nil
}

// Join returns the name of a file in a directory.
func Join(dir, entry string) string { return strings.TrimSuffix(dir, "/") + "/" + entry }

// Names returns the names of the files in the directory, without directories, in any order.
func (d *Dir) Names(ctx context.Context) ([]string, error) { return d.store.Names(ctx) }

// Rename renames a file atomically: the new name never leads to a part of it. A file that has the
// name already is replaced. If the process dies during the call, the file may have both names. Then
// rename it again: deleting one name may leave the other without a file.
func (d *Dir) Rename(ctx context.Context, from, to string) error {
	if err := checkEntries(from, to); err != nil {
		return err
	}
	return d.store.Rename(ctx, from, to)
}

// Delete removes a file. If there is none, the error has class ErrNoSuchFile.
func (d *Dir) Delete(ctx context.Context, entry string) error {
	if err := checkEntries(entry); err != nil {
		return err
	}
	return d.store.Delete(ctx, entry)
}

func checkEntries(entries ...string) error {
	for _, e := range entries {
		if err := storage.CheckEntry(e); err != nil {
			return err
		}
	}
	return nil
}

// Sync puts the names of the files on stable storage. Before, a loss of power may undo any of the
// changes since the last Sync, and others not. The bytes of files are synced by File.Sync.
func (d *Dir) Sync(ctx context.Context) error { return d.store.Sync(ctx) }

// Close closes the directory. It cannot be used afterwards.
func (d *Dir) Close(ctx context.Context) error { return d.store.Close(ctx) }
