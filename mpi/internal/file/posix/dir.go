package posix

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
)

// Driver implements storage.Driver.
type Driver struct{}

// newDirPerm are the rights of a new directory, before the umask.
const newDirPerm = 0o777

// Open implements storage.Driver.
func (Driver) Open(_ context.Context, name string, flag int, how storage.How) (storage.File, error) {
	f, err := Open(name, flag, how.Perm)
	if err != nil {
		return nil, err // not a nil *File in the interface
	}
	return f, nil
}

// Delete implements storage.Driver.
func (Driver) Delete(_ context.Context, name string) error { return Delete(name) }

// OpenDir implements storage.Driver.
func (Driver) OpenDir(_ context.Context, name string, create bool) (storage.Dir, error) {
	fail := func(err error) (storage.Dir, error) { return nil, storage.Error(err, "open directory "+name) }
	if create {
		switch err := os.Mkdir(name, newDirPerm); {
		case err == nil:
			if err := syncDir(filepath.Dir(filepath.Clean(name))); err != nil {
				return fail(err)
			}
		case !errors.Is(err, fs.ErrExist):
			return fail(err)
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return fail(err)
	}
	st, err := f.Stat()
	if err == nil && !st.IsDir() {
		err = errclass.New(errclass.BadFile, "open directory %s: it is a file: name a directory", name)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return fail(err)
	}
	return &Dir{f: f}, nil
}

func syncDir(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// A Dir is an open directory. All calls but Sync use its name.
type Dir struct{ f *os.File }

func (d *Dir) fail(err error, doing string) error {
	return storage.Error(err, doing+" "+d.f.Name())
}

// Names implements storage.Dir.
func (d *Dir) Names(context.Context) ([]string, error) {
	entries, err := os.ReadDir(d.f.Name())
	if err != nil {
		return nil, d.fail(err, "list")
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Rename implements storage.Dir.
func (d *Dir) Rename(_ context.Context, from, to string) error {
	return d.fail(os.Rename(d.path(from), d.path(to)), "rename "+from+" in")
}

// Delete implements storage.Dir.
func (d *Dir) Delete(_ context.Context, name string) error { return Delete(d.path(name)) }

func (d *Dir) path(name string) string { return filepath.Join(d.f.Name(), name) }

// Sync implements storage.Dir.
func (d *Dir) Sync(context.Context) error { return d.fail(d.f.Sync(), "sync directory") }

// Close implements storage.Dir.
func (d *Dir) Close(context.Context) error { return d.fail(d.f.Close(), "close directory") }
