package pvfs

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// Driver implements storage.Driver.
type Driver struct{}

// newDirPerm are the rights of a new directory, before the umask.
const newDirPerm = 0o777

// Open implements storage.Driver.
func (Driver) Open(ctx context.Context, name string, flag int, how storage.How) (storage.File, error) {
	f, err := Open(ctx, name, flag, how.Perm, Striping{Unit: how.Unit, Count: how.Count})
	if err != nil {
		return nil, err // not a nil *File in the interface
	}
	return f, nil
}

// Delete implements storage.Driver.
func (Driver) Delete(ctx context.Context, name string) error { return Delete(ctx, name) }

// OpenDir implements storage.Driver.
func (Driver) OpenDir(ctx context.Context, name string, create bool) (storage.Dir, error) {
	f, at, err := mount(ctx, name)
	if err != nil {
		return nil, storage.Error(err, "open directory pvfs:"+name)
	}
	d := &Dir{fs: f, path: at, name: name}
	if err := d.open(ctx, create); err != nil {
		_ = f.Close() // it holds nothing
		return nil, d.fail(err, "open directory")
	}
	return d, nil
}

// A Dir is a directory, with a mount of its own.
type Dir struct {
	fs   *client.FS
	path string // in the file system
	name string // without "pvfs:"
}

func (d *Dir) open(ctx context.Context, create bool) error {
	if create {
		switch err := d.fs.Mkdir(ctx, d.path, newDirPerm); {
		case err == nil:
			if err := d.fs.Sync(ctx, d.path); err != nil {
				return err
			}
			if err := d.fs.Sync(ctx, path.Dir(path.Clean("/"+d.path))); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	info, err := d.fs.StatCtx(ctx, d.path)
	if err == nil && !info.IsDir() {
		err = errclass.New(errclass.BadFile, "open directory pvfs:%s: it is a file: name a directory", d.name)
	}
	return err
}

func (d *Dir) fail(err error, doing string) error {
	return storage.Error(err, doing+" pvfs:"+d.name)
}

// Names implements storage.Dir.
func (d *Dir) Names(ctx context.Context) ([]string, error) {
	entries, err := d.fs.ReadDirCtx(ctx, d.path)
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
func (d *Dir) Rename(ctx context.Context, from, to string) error {
	return d.fail(d.fs.Rename(ctx, d.in(from), d.in(to)), "rename "+from+" in")
}

// Delete implements storage.Dir.
func (d *Dir) Delete(ctx context.Context, name string) error {
	return d.fail(d.fs.Unlink(ctx, d.in(name)), "delete "+name+" in")
}

func (d *Dir) in(name string) string { return path.Join(d.path, name) }

// Sync implements storage.Dir.
func (d *Dir) Sync(ctx context.Context) error {
	return d.fail(d.fs.Sync(ctx, d.path), "sync directory")
}

// Close implements storage.Dir.
func (d *Dir) Close(context.Context) error { return d.fail(d.fs.Close(), "close directory") }
