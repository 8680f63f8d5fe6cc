package fuse

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

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
	_ gofs.FileLseeker  = (*file)(nil)
)

// A file is an open file.
type file struct {
	n      *node
	m      *Mount
	f      *client.File // opened for the caller of open
	append bool
	write  bool

	dirty atomic.Bool    // written since the last flush
	lent  sync.WaitGroup // see borrow
}

// Flags of open that are passed to the client: always, and when a file is created or truncated.
const (
	openFlags  = syscall.O_ACCMODE | os.O_SYNC | os.O_APPEND
	startFlags = os.O_TRUNC | os.O_EXCL
)

// opened returns an open file and its flags for the kernel. Appended data go to the present end of the file, which the kernel may
// not know: another client may have appended, too. So the kernel must not cache the data at its own offset.
func (n *node) opened(f *client.File, flags uint32) (*file, uint32) {
	h := &file{n: n, m: n.m, f: f, append: flags&syscall.O_APPEND != 0, write: flags&syscall.O_ACCMODE != syscall.O_RDONLY}
	n.m.add(h)
	if h.append && h.write {
		return h, gofuse.FOPEN_DIRECT_IO
	}
	return h, 0
}

// Open opens the file for the caller. It sees what another client has written and closed. ESTALE: the name refers to another file
// by now, and the kernel looks it up again.
func (n *node) Open(request context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	c, end, e := n.begin(request)
	if e != 0 {
		return nil, 0, e
	}
	defer end()
	if flags&syscall.O_TRUNC != 0 {
		if e := n.beforeWrite(request, nil); e != 0 {
			return nil, 0, e
		}
	}
	f, err := c.fs.OpenFresh(c, c.path, int(flags)&(openFlags|os.O_TRUNC))
	switch e := errno(err); {
	case e == syscall.ENOENT, e == 0 && uint64(f.Handle()) != n.StableAttr().Ino:
		if f != nil {
			_ = f.CloseCtx(c) // nothing was written
		}
		return nil, 0, syscall.ESTALE
	case e != 0:
		return nil, 0, e
	}
	if flags&syscall.O_TRUNC != 0 {
		n.change()
	}
	if info, err := f.StatCtx(c); err == nil {
		n.setID.Store(hasIDs(info))
		if n.pages.see(versionOf(info), time.Now()) {
			n.NotifyContent(-1, 0) // the kernel drops its attributes; it drops its data at every open
		}
	}
	h, how := n.opened(f, flags)
	return h, how, 0
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
	below := child.Operations().(*node)
	n.change()
	below.change()
	h, how := below.opened(f, flags)
	return child, h, how, 0
}

// Read reads.
func (f *file) Read(request context.Context, dest []byte, off int64) (gofuse.ReadResult, syscall.Errno) {
	ctx, end := patient(request)
	defer end()
	n, err := f.f.ReadAtCtx(ctx, dest, off)
	if err != nil && err != io.EOF {
		return nil, errno(err)
	}
	return gofuse.ReadResultData(dest[:n]), 0
}

// Write writes, at the end of the file if that was opened with O_APPEND.
func (f *file) Write(request context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	ctx, end := patient(request)
	defer end()
	if e := f.n.beforeWrite(request, f); e != 0 {
		return 0, e
	}
	f.dirty.Store(true)
	defer f.n.change()
	if !f.append {
		n, err := f.f.WriteAtCtx(ctx, data, off)
		return uint32(n), errno(err)
	}
	n, err := f.f.WriteCtx(ctx, data)
	if end, e := f.f.Seek(0, io.SeekCurrent); e == nil {
		f.n.NotifyContent(min(off, end-int64(n)), 0) // other open files may have cached the page where the file ended
	}
	return uint32(n), errno(err)
}

// Lseek finds data and holes. Holes are not reported: a file is data up to its end.
func (f *file) Lseek(request context.Context, off uint64, whence uint32) (uint64, syscall.Errno) {
	ctx, end := patient(request)
	defer end()
	info, err := f.f.StatCtx(ctx)
	if err != nil {
		return 0, errno(err)
	}
	switch size := uint64(max(info.Size(), 0)); {
	case off >= size:
		return 0, syscall.ENXIO
	case whence == unix.SEEK_DATA:
		return off, 0
	case whence == unix.SEEK_HOLE:
		return size, 0
	}
	return 0, syscall.EINVAL
}

// Fsync flushes the written data to the disks of the servers.
func (f *file) Fsync(request context.Context, _ uint32) syscall.Errno {
	ctx, end := patient(request)
	defer end()
	defer f.n.change()
	return errno(f.f.SyncCtx(ctx))
}

// Flush runs when a descriptor is closed; others may stay open. It updates the mtime of a written file now, because Release runs
// only after the program's close has returned.
func (f *file) Flush(request context.Context) syscall.Errno {
	if !f.dirty.Swap(false) {
		return 0
	}
	ctx, end := patient(request)
	defer end()
	defer f.n.change()
	e := errno(f.f.StampCtx(ctx))
	if e == syscall.ENOENT {
		return 0 // another client removed the file
	}
	return e
}

// Release closes the file.
func (f *file) Release(context.Context) syscall.Errno {
	if !f.m.remove(f) {
		return 0 // the mount has closed it
	}
	f.lent.Wait()
	return errno(f.f.CloseCtx(context.Background()))
}
