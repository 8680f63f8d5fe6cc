package disk

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// OS is the machine's own disk.
var OS Disk = machine{}

// Modes of new files and folders: accessible to their owner only.
const (
	filePerm   = 0o600
	folderPerm = 0o700
)

type machine struct{}

// again repeats a call until no signal interrupts it.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func (machine) Open(path string, flags int) (File, error) {
	for {
		switch fd, err := unix.Open(path, flags|unix.O_CLOEXEC, filePerm); err {
		case nil:
			return &file{fd: fd, path: path}, nil
		case unix.EINTR:
		default:
			return nil, err
		}
	}
}

func (machine) Mkdir(path string) error {
	return again(func() error { return unix.Mkdir(path, folderPerm) })
}

func (machine) Unlink(path string) error {
	return again(func() error { return unix.Unlink(path) })
}

func (machine) Size(path string) (int64, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return st.Size, err
}

func (machine) OpenFolder(path string) (Folder, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (machine) SyncAll(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(again(func() error { return unix.Syncfs(int(f.Fd())) }), f.Close())
}

func (machine) OpenDatabase(path string, flags int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flags, perm)
}

func (machine) SyncDatabase(f *os.File) error {
	return again(func() error { return unix.Fdatasync(int(f.Fd())) })
}

func (machine) Committed(*os.File) {}

// A file is a descriptor. After File was called, its os.File owns it.
type file struct {
	fd   int
	path string

	mu   sync.Mutex
	lent *os.File
}

func (f *file) Pread(p []byte, off int64) (int, error) {
	for {
		if n, err := unix.Pread(f.fd, p, off); err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (f *file) Pwrite(p []byte, off int64) (int, error) {
	for {
		if n, err := unix.Pwrite(f.fd, p, off); err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (f *file) Truncate(size int64) error {
	return again(func() error { return unix.Ftruncate(f.fd, size) })
}

func (f *file) Size() (int64, error) {
	var st unix.Stat_t
	err := unix.Fstat(f.fd, &st)
	return st.Size, err
}

func (f *file) Sync() error {
	return again(func() error { return unix.Fdatasync(f.fd) })
}

func (f *file) File() *os.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lent == nil {
		f.lent = os.NewFile(uintptr(f.fd), f.path)
	}
	return f.lent
}

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lent != nil {
		return f.lent.Close()
	}
	// The descriptor is closed even if a signal interrupted the call.
	if err := unix.Close(f.fd); err != unix.EINTR {
		return err
	}
	return nil
}
