package fstest

import (
	"io"
	"os"
	"syscall"
)

// Open opens a file of the model.
func (m *modelFS) Open(name string, flag int, mode uint32) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, no := m.open(name, flag, mode)
	if no != 0 {
		return nil, failed("open", name, no)
	}
	return &modelFile{m: m.Model, n: n, name: name, flag: flag}, nil
}

func (m *modelFS) open(name string, flag int, mode uint32) (*node, syscall.Errno) {
	exclusive := flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0
	p, no := m.find(name, !exclusive)
	switch {
	case no != 0:
		return nil, no
	case p.node == nil && flag&os.O_CREATE == 0:
		return nil, syscall.ENOENT
	case p.node == nil:
		return m.makeAt(p, IsFile, mode)
	case exclusive:
		return nil, syscall.EEXIST
	case p.node.kind == IsDir && writes(flag)|flag&os.O_CREATE != 0:
		return nil, syscall.EISDIR
	case !p.node.allows(m.user, asks(flag)):
		return nil, syscall.EACCES
	}
	if flag&os.O_TRUNC != 0 {
		p.node.data.truncate(0)
		m.touched(p.node)
	}
	return p.node, 0
}

// writes is not 0 if the flags open a file for writing.
func writes(flag int) int { return flag & (os.O_WRONLY | os.O_RDWR | os.O_TRUNC) }

// asks are the rights that opening a file needs.
func asks(flag int) uint32 {
	var ask uint32
	if flag&os.O_WRONLY == 0 {
		ask |= mayRead
	}
	if writes(flag) != 0 {
		ask |= mayWrite
	}
	return ask
}

func (m *modelFS) Truncate(name string, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, no := m.existing(name, true)
	switch {
	case no != 0:
	case n.kind == IsDir:
		no = syscall.EISDIR
	case size < 0:
		no = syscall.EINVAL
	case !n.allows(m.user, mayWrite):
		no = syscall.EACCES
	default:
		n.data.truncate(size)
		m.touched(n)
	}
	return failed("truncate", name, no)
}

// modelFile is an open file of the model.
type modelFile struct {
	m      *Model
	n      *node
	name   string
	flag   int
	at     int64
	closed bool
}

// check returns an error if the file is not open for this operation.
func (f *modelFile) check(op string, write bool) error {
	switch {
	case f.closed:
		return failed(op, f.name, syscall.EBADF)
	case write && f.flag&(os.O_WRONLY|os.O_RDWR) == 0, !write && f.flag&os.O_WRONLY != 0:
		return failed(op, f.name, syscall.EBADF)
	case f.n.kind == IsDir:
		return failed(op, f.name, syscall.EISDIR)
	}
	return nil
}

func (f *modelFile) ReadAt(b []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.readAt(b, off)
}

func (f *modelFile) readAt(b []byte, off int64) (int, error) {
	if err := f.check("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, failed("read", f.name, syscall.EINVAL)
	}
	n := f.n.data.readAt(b, off)
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *modelFile) WriteAt(b []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.writeAt(b, off)
}

func (f *modelFile) writeAt(b []byte, off int64) (int, error) {
	if err := f.check("write", true); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, failed("write", f.name, syscall.EINVAL)
	}
	if off > sizeMax-int64(len(b)) {
		return 0, failed("write", f.name, syscall.EFBIG)
	}
	if len(b) > 0 {
		f.n.data.writeAt(b, off)
		f.m.touched(f.n)
	}
	return len(b), nil
}

func (f *modelFile) Read(b []byte) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	n, err := f.readAt(b, f.at)
	f.at += int64(n)
	if n > 0 || len(b) == 0 {
		err = nil
	}
	return n, err
}

func (f *modelFile) Write(b []byte) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.flag&os.O_APPEND != 0 {
		f.at = f.n.data.size
	}
	n, err := f.writeAt(b, f.at)
	f.at += int64(n)
	return n, err
}

func (f *modelFile) Seek(off int64, whence int) (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		off += f.at
	case io.SeekEnd:
		off += f.n.data.size
	}
	if off < 0 {
		return 0, failed("seek", f.name, syscall.EINVAL)
	}
	f.at = off
	return off, nil
}

func (f *modelFile) Stat() (Info, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return Info{}, failed("stat", f.name, syscall.EBADF)
	}
	return f.n.info(), nil
}

func (f *modelFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return failed("truncate", f.name, syscall.EINVAL)
	}
	f.n.data.truncate(size)
	f.m.touched(f.n)
	return nil
}

func (f *modelFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return failed("sync", f.name, syscall.EBADF)
	}
	return nil
}

func (f *modelFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return failed("close", f.name, syscall.EBADF)
	}
	f.closed = true
	return nil
}
