// Package pvfs stores files in a parallel file system, through package pvfs/client. It implements
// storage.File. Many ranges are one request to each server (move.go), so nothing is sieved. Servers
// have no locks.
//
// name.go finds the file system in a name.
package pvfs

import (
	"context"
	"errors"
	"os"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A File is an open file, with a mount of its own.
type File struct {
	fs     *client.FS
	f      *client.File
	name   string
	layout storage.Layout
}

// Striping is how a new file is spread over servers. Zero fields leave it to the file system.
type Striping struct {
	Unit  int64 // bytes
	Count int   // servers
}

// Open opens a file. The name is without "pvfs:"; flag is as in package os.
func Open(ctx context.Context, name string, flag int, perm os.FileMode, how Striping) (*File, error) {
	fail := func(err error) (*File, error) { return nil, storage.Error(err, "open pvfs:"+name) }
	fs, path, err := mount(ctx, name)
	if err != nil {
		return fail(err)
	}
	s := client.Striping{Datafiles: how.Count}
	if how.Unit > 0 {
		s.Dist = stripe.Default(proto.DistStripe)
		s.Dist.StripSize = how.Unit
	}
	f, err := fs.OpenStriped(ctx, path, flag, perm, s)
	if err != nil {
		_ = fs.Close() // nothing was written
		return fail(err)
	}
	info, err := f.StatCtx(ctx)
	if err == nil && info.IsDir() {
		err = errclass.New(errclass.BadFile, "open pvfs:%s: it is a directory: name a file", name)
	}
	if err != nil {
		_, _ = f.CloseCtx(ctx), fs.Close() // nothing was written
		return fail(err)
	}
	return &File{fs: fs, f: f, name: name, layout: layoutOf(info)}, nil
}

func layoutOf(info *client.Info) storage.Layout {
	l := storage.Layout{Unit: info.BlockSize(), Count: 1}
	if m, err := stripe.Of(info.Attr.Dist); err == nil && m.StripSize() > 0 {
		l.Unit = m.StripSize()
		l.Count = max(1, len(info.Attr.Datafiles))
	}
	l.Unit = max(l.Unit, 1)
	return l
}

// Delete removes a file.
func Delete(ctx context.Context, name string) error {
	fs, path, err := mount(ctx, name)
	if err == nil {
		err = errors.Join(fs.Unlink(ctx, path), fs.Close())
	}
	return storage.Error(err, "delete pvfs:"+name)
}

func (f *File) fail(err error, doing string) error {
	return storage.Error(err, doing+" pvfs:"+f.name)
}

// Size implements storage.File.
func (f *File) Size(ctx context.Context) (int64, error) {
	info, err := f.f.StatCtx(ctx)
	if err != nil {
		return 0, f.fail(err, "find the size of")
	}
	return info.Size(), nil
}

// Truncate implements storage.File.
func (f *File) Truncate(ctx context.Context, size int64) error {
	return f.fail(f.f.TruncateCtx(ctx, size), "set the size of")
}

// Preallocate implements storage.File. Servers cannot reserve room, so this only makes the file
// longer.
func (f *File) Preallocate(ctx context.Context, size int64) error {
	have, err := f.Size(ctx)
	if err == nil && have < size {
		err = f.Truncate(ctx, size)
	}
	return err
}

// Sync implements storage.File.
func (f *File) Sync(ctx context.Context) error { return f.fail(f.f.SyncCtx(ctx), "sync") }

// Close implements storage.File.
func (f *File) Close(ctx context.Context) error {
	return f.fail(errors.Join(f.f.CloseCtx(ctx), f.fs.Close()), "close")
}

// Layout implements storage.File.
func (f *File) Layout() storage.Layout { return f.layout }
