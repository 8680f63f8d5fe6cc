package pvfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A tree is a source or target of cp: a file system or the local one, at and below one name of the command line.
//
// That name is resolved as usual, through symbolic links. Names below it are resolved from its directory, and no symbolic link is
// followed: another user may have put one there since the last run, or since cp looked. The error is errLink then.
type tree interface {
	// enter opens the directory at p, a name of the command line, for operations below it. follow: p may be a symbolic link.
	enter(p place, follow bool) error
	// stat describes the object at p. With follow it follows all symbolic links; use that only to look.
	stat(p place, follow bool) (fs.FileInfo, error)
	// list returns the names in a directory, sorted.
	list(p place) ([]string, error)
	readlink(p place) (string, error)
	// open opens a file or a directory for reading. A name of the command line may be a symbolic link.
	open(p place) (file, error)
	// create makes a file; fs.ErrExist if the name exists.
	create(p place, mode fs.FileMode) (file, error)
	// overwrite empties an existing file.
	overwrite(p place) (file, error)
	mkdir(p place, mode fs.FileMode) error
	symlink(target string, p place) error
	// remove removes an object that is not a directory.
	remove(p place) error
	// about adds the name to an error.
	about(p place, err error) error
	close()
}

// A file is an open file of a tree.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
	// Chmod and Chtimes change the open file, even if its name refers to another object by now.
	Chmod(mode fs.FileMode) error
	Chtimes(when time.Time) error
}

// errNoBytes: the opened object is not a file.
var errNoBytes = errors.New("not a file")

// errLink: there is a symbolic link where none is followed.
var errLink = errors.New("a symbolic link, which is not followed")

// treeOf is the tree at a name of the command line.
func (a *App) treeOf(ctx context.Context, p place) (tree, error) {
	if p.local {
		return &localTree{}, nil
	}
	f, err := a.on(ctx, p)
	if err != nil {
		return nil, err
	}
	return &remoteTree{ctx: ctx, fs: f.WithContext(ctx)}, nil
}

// remoteTree is a mounted file system.
type remoteTree struct {
	ctx context.Context
	fs  *client.FS
	top *client.FS // the directory on the command line; nil until enter
}

func (t *remoteTree) enter(p place, follow bool) (err error) {
	switch {
	case t.top != nil:
	case follow:
		t.top, err = t.fs.Below(t.ctx, p.path)
	default:
		err = t.in(p, func(view *client.FS, name string) (err error) {
			t.top, err = view.Below(t.ctx, name)
			return err
		})
	}
	return err
}

// at returns a view that follows no symbolic links, and a name in it.
func (t *remoteTree) at(p place) (*client.FS, string, error) {
	switch {
	case p.rel != "":
		return t.top, p.rel, nil
	case t.top != nil:
		return t.top, ".", nil
	}
	dir := parent(p.path)
	view, err := t.fs.Below(t.ctx, dir)
	return view, strings.TrimPrefix(p.path[len(dir):], "/"), err
}

// in calls do for a name in a view that follows no symbolic links. Errors have the whole path.
func (t *remoteTree) in(p place, do func(view *client.FS, name string) error) error {
	view, name, err := t.at(p)
	if err == nil {
		err = do(view, name)
	}
	if errors.Is(err, proto.ELOOP) {
		return &fs.PathError{Op: "open", Path: p.path, Err: errLink}
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return &fs.PathError{Op: path.Op, Path: p.path, Err: path.Err}
	case errors.As(err, &link):
		return &os.LinkError{Op: link.Op, Old: link.Old, New: p.path, Err: link.Err}
	}
	return err
}

func (t *remoteTree) stat(p place, follow bool) (fs.FileInfo, error) {
	var info *client.Info
	var err error
	if follow {
		info, err = t.fs.StatCtx(t.ctx, p.path)
	} else {
		err = t.in(p, func(view *client.FS, name string) (err error) {
			info, err = view.LstatCtx(t.ctx, name)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return info, nil
}

func (t *remoteTree) list(p place) (names []string, err error) {
	err = t.in(p, func(view *client.FS, name string) error {
		// Unlike ReadNames, this also gets the attributes that cp needs next.
		entries, err := view.ReadDirCtx(t.ctx, name)
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return err
	})
	return names, err
}

func (t *remoteTree) readlink(p place) (target string, err error) {
	err = t.in(p, func(view *client.FS, name string) (err error) {
		target, err = view.ReadLinkCtx(t.ctx, name)
		return err
	})
	return target, err
}

func (t *remoteTree) mkdir(p place, mode fs.FileMode) error {
	return t.in(p, func(view *client.FS, name string) error { return view.Mkdir(t.ctx, name, mode) })
}

func (t *remoteTree) symlink(target string, p place) error {
	return t.in(p, func(view *client.FS, name string) error { return view.Symlink(t.ctx, target, name) })
}

func (t *remoteTree) remove(p place) error {
	return t.in(p, func(view *client.FS, name string) error { return view.Unlink(t.ctx, name) })
}

func (t *remoteTree) open(p place) (file, error) {
	if p.rel == "" && t.top == nil {
		return openFile(t.ctx, t.fs, p.path, os.O_RDONLY, 0, client.Striping{})
	}
	return t.openFile(p, os.O_RDONLY, 0)
}

func (t *remoteTree) create(p place, mode fs.FileMode) (file, error) {
	return t.openFile(p, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

func (t *remoteTree) overwrite(p place) (file, error) {
	return t.openFile(p, os.O_RDWR|os.O_TRUNC, 0)
}

func (t *remoteTree) openFile(p place, flag int, mode fs.FileMode) (f file, err error) {
	err = t.in(p, func(view *client.FS, name string) (err error) {
		f, err = openFile(t.ctx, view, name, flag, mode, client.Striping{})
		return err
	})
	return f, err
}

func (t *remoteTree) about(p place, err error) error { return about(t.fs, p, err) }
func (t *remoteTree) close()                         {}

// remoteFile is an open file of a file system.
type remoteFile struct {
	*client.File
	ctx context.Context
	fs  *client.FS
}

func (f remoteFile) Chmod(mode fs.FileMode) error { return f.fs.ChmodFile(f.ctx, f.File, mode) }
func (f remoteFile) Chtimes(when time.Time) error { return f.fs.ChtimesFile(f.ctx, f.File, when, when) }

// openFile opens a file of a file system.
func openFile(ctx context.Context, fsys *client.FS, name string, flag int, mode fs.FileMode, how client.Striping) (file, error) {
	fsys = fsys.WithContext(ctx)
	f, err := fsys.OpenStriped(ctx, name, flag, mode, how)
	if err != nil {
		return nil, err
	}
	return remoteFile{f, ctx, fsys}, nil
}
