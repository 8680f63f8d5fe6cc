package fuse

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

var (
	_ gofs.NodeOpener   = (*node)(nil)
	_ gofs.NodeCreater  = (*node)(nil)
	_ gofs.FileReader   = (*file)(nil)
	_ gofs.FileWriter   = (*file)(nil)
	_ gofs.FileFlusher  = (*file)(nil)
	_ gofs.FileFsyncer  = (*file)(nil)
	_ gofs.FileReleaser = (*file)(nil)
)

// A file is an open one.
type file struct {
	n    *node
	m    *Mount
	view *client.FS // for who opened it
	flag int        // how; without what matters at that moment only

	dirty atomic.Bool // written to since the last flush
	mu    sync.RWMutex
	f     *client.File // replaced by a flush
}

// The flags of open that the client is told. Where an append goes, the kernel decides.
const (
	openFlags  = syscall.O_ACCMODE | os.O_SYNC
	startFlags = os.O_TRUNC | os.O_EXCL
)

func (n *node) opened(view *client.FS, f *client.File, flags uint32) *file {
	h := &file{n: n, m: n.m, view: view, flag: int(flags) & openFlags, f: f}
	n.m.add(h)
	return h
}

// Open opens the file for who asks.
func (n *node) Open(request context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	c, end, e := n.begin(request)
	if e != 0 {
		return nil, 0, e
	}
	defer end()
	f, err := c.fs.OpenFile(c, c.path, int(flags)&(openFlags|os.O_TRUNC), 0)
	if err != nil {
		return nil, 0, errno(err)
	}
	return n.opened(c.fs, f, flags), 0, 0
}

// Create makes a file and opens it.
func (n *node) Create(request context.Context, name string, flags, mode uint32, out *gofuse.EntryOut) (*gofs.Inode, gofs.FileHandle, uint32, syscall.Errno) {
	if len(name) > proto.MaxName {
		return nil, nil, 0, syscall.ENAMETOOLONG
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return nil, nil, 0, e
	}
	defer end()
	f, err := c.fs.OpenFile(c, c.below(name), int(flags)&(openFlags|startFlags)|os.O_CREATE, modeOf(mode))
	if err != nil {
		return nil, nil, 0, errno(err)
	}
	info, err := f.StatCtx(c)
	if err != nil {
		f.Close()
		return nil, nil, 0, errno(err)
	}
	child := n.child(request, info, out)
	return child, child.Operations().(*node).opened(c.fs, f, flags), 0, 0
}

// use runs do on the open file of the client.
func (f *file) use(request context.Context, do func(ctx context.Context, f *client.File) error) syscall.Errno {
	ctx, end := patient(request)
	defer end()
	f.mu.RLock()
	defer f.mu.RUnlock()
	return errno(do(ctx, f.f))
}

func (f *file) writable() bool { return f.flag&syscall.O_ACCMODE != os.O_RDONLY }

// stat and truncate are for the node's attributes.
func (f *file) stat(ctx context.Context) (*client.Info, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.f.StatCtx(ctx)
}

func (f *file) truncate(ctx context.Context, size int64) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.f.TruncateCtx(ctx, size)
}

// Read reads.
func (f *file) Read(request context.Context, dest []byte, off int64) (gofuse.ReadResult, syscall.Errno) {
	n := 0
	e := f.use(request, func(ctx context.Context, cf *client.File) (err error) {
		n, err = cf.ReadAtCtx(ctx, dest, off)
		if err == io.EOF {
			err = nil
		}
		return err
	})
	if e != 0 {
		return nil, e
	}
	return gofuse.ReadResultData(dest[:n]), 0
}

// Write writes.
func (f *file) Write(request context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	n := 0
	f.dirty.Store(true)
	e := f.use(request, func(ctx context.Context, cf *client.File) (err error) {
		n, err = cf.WriteAtCtx(ctx, data, off)
		return err
	})
	return uint32(n), e
}

// Fsync returns when what was written is as safe as the servers keep it.
func (f *file) Fsync(request context.Context, _ uint32) syscall.Errno {
	return f.use(request, func(ctx context.Context, cf *client.File) error { return cf.SyncCtx(ctx) })
}

// Flush runs when a descriptor is closed; others may be left. A file that was written to gets its time of modification
// now: Release comes later than the program's close returns.
func (f *file) Flush(request context.Context) syscall.Errno {
	if !f.dirty.Swap(false) {
		return 0
	}
	ctx, end := patient(request)
	defer end()
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh := f.again(ctx)
	if fresh == nil {
		return 0 // it gets its time by Release
	}
	old := f.f
	f.f = fresh
	return errno(old.CloseCtx(ctx))
}

// again opens the same file once more, as it is the client's Close that sets the time. nil: it cannot be opened, or its
// name is not its own any more.
func (f *file) again(ctx context.Context) *client.File {
	path, ok := f.n.path()
	if !ok {
		return nil
	}
	fresh, err := f.view.OpenFile(ctx, path, f.flag, 0)
	if err != nil {
		return nil
	}
	if info, err := fresh.StatCtx(ctx); err != nil || uint64(info.Handle) != f.n.StableAttr().Ino {
		fresh.Close()
		return nil
	}
	return fresh
}

// Release ends the use of the file.
func (f *file) Release(context.Context) syscall.Errno {
	if !f.m.remove(f) {
		return 0 // the end of the mount did
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return errno(f.f.CloseCtx(context.Background()))
}
