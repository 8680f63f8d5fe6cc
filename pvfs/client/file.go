package client

import (
	"context"
	"io/fs"
	"os"
	"sync"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A File is an open file or directory. All its methods may be called by any goroutine.
type File struct {
	fsys *FS
	node *inode // one reference, until Close and the end of the last operation
	name string // as it was opened
	flag int

	mu     sync.Mutex
	closed bool
	busy   int        // operations under way
	dir    *dirStream // of ReadDir

	seek sync.Mutex // held while pos is in use
	pos  int64
}

// newFile is an open file. It takes over the caller's reference to n.
func newFile(f *FS, n *inode, name string, flag int) *File {
	return &File{fsys: f, node: n, name: name, flag: flag}
}

// Name is the name that the file was opened by.
func (f *File) Name() string { return f.name }

// Handle is the object that is open.
func (f *File) Handle() proto.Handle { return f.node.handle }

// begin keeps the inode in use until end. It fails if the file is closed.
func (f *File) begin() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.busy++
	return nil
}

func (f *File) end() {
	f.mu.Lock()
	f.busy--
	last := f.closed && f.busy == 0
	f.mu.Unlock()
	if last {
		f.fsys.dropHold(f.node, rightsOf(f.flag))
		f.fsys.put(f.node)
	}
}

// during runs do while the file is open, and adds the operation to the error.
func (f *File) during(op string, do func() error) error {
	err := f.begin()
	if err == nil {
		err = do()
		f.end()
	}
	return pathError(op, f.name, err)
}

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) {
	i, err := f.StatCtx(f.fsys.ctx)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// StatCtx is Stat with a context.
func (f *File) StatCtx(ctx context.Context) (info *Info, err error) {
	err = f.during("stat", func() error {
		info, err = f.fsys.infoOf(ctx, f.node, lastPart(f.name))
		return err
	})
	return info, err
}

// readable and writable check that the file was opened for that.
func (f *File) readable() error {
	if f.flag&(os.O_WRONLY|os.O_RDWR) == os.O_WRONLY {
		return proto.EBADF
	}
	return nil
}

func (f *File) writable() error {
	if f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return proto.EBADF
	}
	return nil
}

// Truncate sets the length of the file.
func (f *File) Truncate(size int64) error { return f.TruncateCtx(f.fsys.ctx, size) }

// TruncateCtx is Truncate with a context.
func (f *File) TruncateCtx(ctx context.Context, size int64) error {
	return f.during("truncate", func() error {
		if f.writable() != nil || size < 0 {
			return proto.EINVAL
		}
		return f.fsys.truncate(ctx, f.node, size)
	})
}

// Sync makes the servers put all written bytes on their disks.
func (f *File) Sync() error { return f.SyncCtx(f.fsys.ctx) }

// SyncCtx is Sync with a context.
func (f *File) SyncCtx(ctx context.Context) error {
	return f.during("sync", func() error { return f.sync(ctx) })
}

func (f *File) sync(ctx context.Context) error {
	if err := f.stamp(ctx); err != nil {
		return err
	}
	return f.fsys.flush(ctx, f.node)
}

// stamp updates mtime if the data changed after mtime was last set.
func (f *File) stamp(ctx context.Context) error {
	if f.writable() != nil {
		return nil // the writing user does it; this user may not be allowed to
	}
	f.node.mu.Lock()
	unstamped := f.node.unstamped
	f.node.mu.Unlock()
	if !unstamped {
		return nil
	}
	return f.fsys.modified(ctx, f.node)
}

// setUnstamped sets whether data changed after mtime was last set, and returns the previous value.
func (n *inode) setUnstamped(is bool) (was bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	was, n.unstamped = n.unstamped, is
	return was
}

// Close closes the file. Operations under way complete.
func (f *File) Close() error { return f.CloseCtx(f.fsys.ctx) }

// CloseCtx is Close with a context. The file is closed even if there is an error: the bytes are written then, but mtime is not
// updated.
func (f *File) CloseCtx(ctx context.Context) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	f.busy++
	f.mu.Unlock()
	err := f.stamp(ctx)
	if status(err) == proto.ENOENT {
		err = nil // the file was removed
	}
	f.end()
	return pathError("close", f.name, err)
}
