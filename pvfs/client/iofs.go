package client

import (
	"io/fs"
	"os"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The interfaces of io/fs. Names must satisfy fs.ValidPath. Symlinks on the way are followed.
var (
	_ fs.FS          = (*FS)(nil)
	_ fs.StatFS      = (*FS)(nil)
	_ fs.ReadDirFS   = (*FS)(nil)
	_ fs.ReadLinkFS  = (*FS)(nil)
	_ fs.ReadDirFile = (*File)(nil)
	_ fs.FileInfo    = (*Info)(nil)
)

// valid refuses names that are not valid in io/fs.
func valid(op, name string) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: proto.EINVAL}
	}
	return nil
}

// Open opens a file or directory for reading.
func (f *FS) Open(name string) (fs.File, error) {
	if err := valid("open", name); err != nil {
		return nil, err
	}
	file, err := f.OpenFile(f.ctx, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Stat describes the object at name.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	if err := valid("stat", name); err != nil {
		return nil, err
	}
	i, err := f.StatCtx(f.ctx, name)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// Lstat describes the object at name. It does not follow a symlink.
func (f *FS) Lstat(name string) (fs.FileInfo, error) {
	if err := valid("lstat", name); err != nil {
		return nil, err
	}
	i, err := f.LstatCtx(f.ctx, name)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// ReadLink returns the target of a symlink.
func (f *FS) ReadLink(name string) (string, error) {
	if err := valid("readlink", name); err != nil {
		return "", err
	}
	return f.ReadLinkCtx(f.ctx, name)
}

// ReadDir reads a directory, sorted by name.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := valid("readdir", name); err != nil {
		return nil, err
	}
	return f.ReadDirCtx(f.ctx, name)
}
