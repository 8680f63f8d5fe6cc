package client

import (
	"context"
	"io/fs"
	"sync"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A File is an open file or directory. All its methods may be called by any goroutine.
type File struct {
	fsys *FS
	node *inode // with a reference, until Close
	name string // as it was opened
	flag int

	mu     sync.Mutex
	closed bool
	pos    int64
	dir    *dirStream // of ReadDir
}

// newFile is an open file. It takes over the caller's reference to n.
func newFile(f *FS, n *inode, name string, flag int) *File {
	return &File{fsys: f, node: n, name: name, flag: flag}
}

// Name is the name that the file was opened by.
func (f *File) Name() string { return f.name }

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) {
	i, err := f.StatCtx(f.fsys.ctx)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// StatCtx is Stat with a context.
func (f *File) StatCtx(ctx context.Context) (*Info, error) {
	if err := f.check("stat"); err != nil {
		return nil, err
	}
	i, err := f.fsys.infoOf(ctx, f.node, lastPart(f.name))
	return i, pathError("stat", f.name, err)
}

// check fails if the file is closed.
func (f *File) check(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return pathError(op, f.name, fs.ErrClosed)
	}
	return nil
}

// Read reads the next bytes.
func (f *File) Read(b []byte) (int, error) {
	return 0, pathError("read", f.name, proto.ENOSYS)
}

// Close ends the use of the file.
func (f *File) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	f.mu.Unlock()
	f.fsys.put(f.node)
	return nil
}
