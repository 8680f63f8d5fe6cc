package pvfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// A tree is where cp takes files from or puts them: a file system or the local one. Names are
// the paths of places.
type tree interface {
	stat(name string, follow bool) (fs.FileInfo, error)
	list(name string) ([]fs.DirEntry, error)
	readlink(name string) (string, error)
	open(name string) (file, error)
	// create makes a file, or empties the one that is there.
	create(name string, mode fs.FileMode) (file, error)
	mkdir(name string, mode fs.FileMode) error
	symlink(target, name string) error
	remove(name string) error
	chmod(name string, mode fs.FileMode) error
	chtimes(name string, when time.Time) error
	// about says which name an error is about.
	about(p place, err error) error
}

// A file is an open one of a tree.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
}

// errNoBytes: what was opened has none.
var errNoBytes = errors.New("not a file")

// treeOf is the tree that a place is in.
func (a *App) treeOf(ctx context.Context, p place) (tree, error) {
	if p.local {
		return localTree{}, nil
	}
	f, err := a.on(ctx, p)
	if err != nil {
		return nil, err
	}
	return remoteTree{ctx, f.WithContext(ctx)}, nil
}

// remoteTree is a mounted file system.
type remoteTree struct {
	ctx context.Context
	fs  *client.FS
}

func (t remoteTree) stat(name string, follow bool) (fs.FileInfo, error) {
	var i *client.Info
	var err error
	if follow {
		i, err = t.fs.StatCtx(t.ctx, name)
	} else {
		i, err = t.fs.LstatCtx(t.ctx, name)
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

func (t remoteTree) list(name string) ([]fs.DirEntry, error)   { return t.fs.ReadDirCtx(t.ctx, name) }
func (t remoteTree) readlink(name string) (string, error)      { return t.fs.ReadLinkCtx(t.ctx, name) }
func (t remoteTree) mkdir(name string, mode fs.FileMode) error { return t.fs.Mkdir(t.ctx, name, mode) }
func (t remoteTree) symlink(target, name string) error         { return t.fs.Symlink(t.ctx, target, name) }
func (t remoteTree) remove(name string) error                  { return t.fs.Remove(t.ctx, name) }
func (t remoteTree) chmod(name string, mode fs.FileMode) error { return t.fs.Chmod(t.ctx, name, mode) }
func (t remoteTree) about(p place, err error) error            { return about(t.fs, p, err) }

func (t remoteTree) chtimes(name string, when time.Time) error {
	return t.fs.Chtimes(t.ctx, name, when, when)
}

func (t remoteTree) open(name string) (file, error) {
	return t.openFile(name, os.O_RDONLY, 0)
}

func (t remoteTree) create(name string, mode fs.FileMode) (file, error) {
	return t.openFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode)
}

func (t remoteTree) openFile(name string, flag int, mode fs.FileMode) (file, error) {
	return openFile(t.ctx, t.fs, name, flag, mode, client.Striping{})
}

// openFile opens a file of a file system.
func openFile(ctx context.Context, fsys *client.FS, name string, flag int, mode fs.FileMode, how client.Striping) (file, error) {
	f, err := fsys.WithContext(ctx).OpenStriped(ctx, name, flag, mode, how)
	if err != nil {
		return nil, err
	}
	open, ok := any(f).(file)
	if !ok {
		return nil, errors.Join(errNoBytes, f.Close())
	}
	return open, nil
}

// localTree is the local file system.
type localTree struct{}

func (localTree) stat(name string, follow bool) (fs.FileInfo, error) {
	if follow {
		return os.Stat(name)
	}
	return os.Lstat(name)
}

func (localTree) list(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (localTree) readlink(name string) (string, error)      { return os.Readlink(name) }
func (localTree) open(name string) (file, error)            { return opened(os.Open(name)) }
func (localTree) mkdir(name string, mode fs.FileMode) error { return os.Mkdir(name, mode) }
func (localTree) symlink(target, name string) error         { return os.Symlink(target, name) }
func (localTree) remove(name string) error                  { return os.Remove(name) }
func (localTree) chmod(name string, mode fs.FileMode) error { return os.Chmod(name, mode) }
func (localTree) chtimes(name string, when time.Time) error { return os.Chtimes(name, when, when) }
func (localTree) about(_ place, err error) error            { return err }

func (localTree) create(name string, mode fs.FileMode) (file, error) {
	return opened(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode))
}

func opened(f *os.File, err error) (file, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
