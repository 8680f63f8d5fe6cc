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
	node *inode // with a reference, until Close and the end of the last operation
	name string // as it was opened
	flag int

	mu     sync.Mutex
	closed bool
	busy   int        // operations under way
	dir    *dirStream // of ReadDir

	seek sync.Mutex // held by who uses pos
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

// begin keeps the inode until end. It fails if the file is closed.
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

// during runs do while the file is open, and says which operation failed.
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

// readable and writable tell whether the file was opened for that.
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

// Truncate makes the file that long.
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

// Sync returns when what was written is as safe as the servers keep it.
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

// stamp gives a file whose bytes were changed its time of modification, unless somebody has set it
// since.
func (f *File) stamp(ctx context.Context) error {
	if f.writable() != nil {
		return nil // whoever wrote does it: this user may not be allowed to
	}
	f.node.mu.Lock()
	unstamped := f.node.unstamped
	f.node.mu.Unlock()
	if !unstamped {
		return nil
	}
	return f.fsys.modified(ctx, f.node)
}

// setUnstamped notes whether bytes were changed since the time of modification was set, and tells
// what was known before.
func (n *inode) setUnstamped(is bool) (was bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	was, n.unstamped = n.unstamped, is
	return was
}

// Close ends the use of the file. Operations under way come to their end.
func (f *File) Close() error { return f.CloseCtx(f.fsys.ctx) }

// CloseCtx is Close with a context. The file is closed whatever the error: the bytes that were
// written are there, but not their time.
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
		err = nil // somebody removed it
	}
	f.end()
	return pathError("close", f.name, err)
}
