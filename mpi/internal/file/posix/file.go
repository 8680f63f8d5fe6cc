// Package posix stores files in the file systems of the operating system. It implements
// storage.File.
//
// move.go reads and writes ranges; many small ones are sieved (internal/sieve). A write that sieves
// also writes the bytes between its ranges, so that it must not happen at the same time as another
// process's write to these. lock.go has the locks by which all writes see to that, and which make
// accesses atomic.
package posix

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
)

// A File is an open file.
type File struct {
	f        *os.File
	conn     syscall.RawConn // of f
	readable bool            // the descriptor can be read, which sieved writes need
	block    int64
	own      table       // locks among the goroutines of this process
	noLocks  atomic.Bool // the file system has no locks

	mu    sync.Mutex
	spare []byte // the last buffer that was used to sieve; guarded by mu
}

// Open opens a regular file. flag is as in package os. A file that is only for writing is also
// opened for reading if the user may, because sieved writes read.
func Open(name string, flag int, perm os.FileMode) (*File, error) {
	fail := func(err error) (*File, error) { return nil, storage.Error(err, "open "+name) }
	// O_NONBLOCK: neither a pipe nor a device keeps the call from returning.
	flag |= unix.O_CLOEXEC | unix.O_NONBLOCK
	wider := flag
	if flag&(os.O_WRONLY|os.O_RDWR) == os.O_WRONLY {
		wider = flag&^os.O_WRONLY | os.O_RDWR
	}
	fd, err := open(name, wider, perm)
	if err != nil && wider != flag {
		wider = flag
		fd, err = open(name, flag, perm)
	}
	if err != nil {
		return fail(err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		if err = errNotRegular(name); st.Mode&unix.S_IFMT == unix.S_IFDIR {
			err = unix.EISDIR
		}
	}
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		_ = unix.Close(fd) // nothing was written
		return fail(err)
	}
	f := os.NewFile(uintptr(fd), name)
	conn, err := f.SyscallConn()
	if err != nil {
		_ = f.Close()
		return fail(err)
	}
	return &File{f: f, conn: conn, readable: wider&os.O_WRONLY == 0, block: max(int64(st.Blksize), 1)}, nil
}

func errNotRegular(name string) error {
	return errclass.New(errclass.BadFile, "open %s: it is a pipe, a socket or a device: name a regular file", name)
}

func open(name string, flag int, perm os.FileMode) (fd int, err error) {
	for {
		fd, err = unix.Open(name, flag, uint32(perm.Perm()))
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// Delete removes a file.
func Delete(name string) error {
	var st unix.Stat_t
	err := unix.Lstat(name, &st)
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		err = unix.EISDIR
	}
	if err == nil {
		err = unix.Unlink(name)
	}
	return storage.Error(err, "delete "+name)
}

func (f *File) fail(err error, doing string) error {
	return storage.Error(err, doing+" "+f.f.Name())
}

// Size implements storage.File.
func (f *File) Size(context.Context) (int64, error) {
	st, err := f.f.Stat()
	if err != nil {
		return 0, f.fail(err, "find the size of")
	}
	return st.Size(), nil
}

// Truncate implements storage.File.
func (f *File) Truncate(_ context.Context, size int64) error {
	return f.fail(f.f.Truncate(size), "set the size of")
}

// Preallocate implements storage.File. A file system that cannot allocate gets a file of the size.
func (f *File) Preallocate(ctx context.Context, size int64) error {
	if size == 0 {
		return nil
	}
	err := error(unix.EINTR)
	for err == unix.EINTR {
		err = unix.Fallocate(int(f.f.Fd()), 0, 0, size)
	}
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		have, err := f.Size(ctx)
		if err == nil && have < size {
			err = f.Truncate(ctx, size)
		}
		return err
	}
	return f.fail(err, "allocate room for")
}

// Sync implements storage.File.
func (f *File) Sync(context.Context) error { return f.fail(f.f.Sync(), "sync") }

// Close implements storage.File.
func (f *File) Close(context.Context) error { return f.fail(f.f.Close(), "close") }

// Layout implements storage.File.
func (f *File) Layout() storage.Layout { return storage.Layout{Unit: f.block, Count: 1} }

// buffer returns memory to sieve with, which recycle takes back.
func (f *File) buffer(n int64) []byte {
	f.mu.Lock()
	b := f.spare
	f.spare = nil
	f.mu.Unlock()
	if int64(cap(b)) < n {
		b = make([]byte, n)
	}
	return b[:n]
}

func (f *File) recycle(b []byte) {
	f.mu.Lock()
	f.spare = b
	f.mu.Unlock()
}
