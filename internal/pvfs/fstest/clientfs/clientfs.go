// Package clientfs connects the behaviour suite of package fstest to a mounted client. The suite itself, the model and the random
// operations are in fstest.
package clientfs

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// New returns the file system of a client's mount, below one of its directories.
func New(f *client.FS, dir string) func(fstest.User) fstest.FS {
	return func(u fstest.User) fstest.FS {
		return &view{fs: f.As(client.Identity{UID: u.UID, Groups: u.Groups}), dir: strings.TrimSuffix(dir, "/"), ctx: context.Background()}
	}
}

// view is the file system for one user.
type view struct {
	fs  *client.FS
	dir string
	ctx context.Context
}

func (v *view) at(name string) string { return v.dir + "/" + name }

// mode converts mode bits to a mode of package fs.
func mode(bits uint32) fs.FileMode {
	m := fs.FileMode(bits & 0o777)
	if bits&0o4000 != 0 {
		m |= fs.ModeSetuid
	}
	if bits&0o2000 != 0 {
		m |= fs.ModeSetgid
	}
	return m
}

func info(i *client.Info) fstest.Info {
	return fstest.Info{
		Kind: kind(i.Mode()), Mode: i.Attr.Perms, UID: i.Attr.Owner, GID: i.Attr.Group, Size: i.Size(),
		Accessed: i.AccessTime(), Modified: i.ModTime(), Change: i.ChangeTime(),
	}
}

func kind(m fs.FileMode) fstest.Kind {
	switch {
	case m.IsDir():
		return fstest.IsDir
	case m&fs.ModeSymlink != 0:
		return fstest.IsSymlink
	}
	return fstest.IsFile
}

func (v *view) Open(name string, flag int, bits uint32) (fstest.File, error) {
	f, err := v.fs.OpenFile(v.ctx, v.at(name), flag, mode(bits))
	if err != nil {
		return nil, err
	}
	return &file{File: f, ctx: v.ctx}, nil
}

func (v *view) Mkdir(name string, bits uint32) error {
	return v.fs.Mkdir(v.ctx, v.at(name), mode(bits))
}
func (v *view) Remove(name string) error             { return v.fs.Remove(v.ctx, v.at(name)) }
func (v *view) Rename(from, to string) error         { return v.fs.Rename(v.ctx, v.at(from), v.at(to)) }
func (v *view) Symlink(target, name string) error    { return v.fs.Symlink(v.ctx, target, v.at(name)) }
func (v *view) Readlink(name string) (string, error) { return v.fs.ReadLinkCtx(v.ctx, v.at(name)) }

func (v *view) Stat(name string) (fstest.Info, error) {
	i, err := v.fs.StatCtx(v.ctx, v.at(name))
	if err != nil {
		return fstest.Info{}, err
	}
	return info(i), nil
}

func (v *view) Lstat(name string) (fstest.Info, error) {
	i, err := v.fs.LstatCtx(v.ctx, v.at(name))
	if err != nil {
		return fstest.Info{}, err
	}
	return info(i), nil
}

func (v *view) ReadDir(name string) ([]fstest.Entry, error) {
	entries, err := v.fs.ReadDirCtx(v.ctx, v.at(name))
	if err != nil {
		return nil, err
	}
	out := make([]fstest.Entry, 0, len(entries))
	for _, e := range entries {
		out = append(out, fstest.Entry{Name: e.Name(), Kind: kind(e.Type())})
	}
	return out, nil
}

func (v *view) Truncate(name string, size int64) error { return v.fs.Truncate(v.ctx, v.at(name), size) }
func (v *view) Chmod(name string, bits uint32) error {
	return v.fs.Chmod(v.ctx, v.at(name), mode(bits))
}
func (v *view) Chown(name string, uid, gid int) error { return v.fs.Chown(v.ctx, v.at(name), uid, gid) }

func (v *view) Chtimes(name string, access, modified time.Time) error {
	return v.fs.Chtimes(v.ctx, v.at(name), access, modified)
}

func (v *view) Setxattr(name, key string, value []byte, flag int) error {
	return v.fs.SetXattr(v.ctx, v.at(name), key, value, flag)
}

func (v *view) Getxattr(name, key string) ([]byte, error) {
	return v.fs.GetXattr(v.ctx, v.at(name), key)
}

func (v *view) Listxattr(name string) ([]string, error) {
	keys, err := v.fs.ListXattr(v.ctx, v.at(name))
	var users []string
	for _, k := range keys {
		if strings.HasPrefix(k, "user.") {
			users = append(users, k)
		}
	}
	return users, err
}

func (v *view) Removexattr(name, key string) error { return v.fs.RemoveXattr(v.ctx, v.at(name), key) }

func (v *view) Space() (fstest.Space, error) {
	s, err := v.fs.StatFS(v.ctx)
	if err != nil {
		return fstest.Space{}, err
	}
	return fstest.Space{Total: s.Total, Free: s.Available}, nil
}

// file is an open file.
type file struct {
	*client.File
	ctx context.Context
}

func (f *file) Stat() (fstest.Info, error) {
	i, err := f.StatCtx(f.ctx)
	if err != nil {
		return fstest.Info{}, closed(err)
	}
	return info(i), nil
}

// closed adds the errno of POSIX to an error about a closed file.
func closed(err error) error {
	if errors.Is(err, fs.ErrClosed) {
		return errors.Join(syscall.EBADF, err)
	}
	return err
}
