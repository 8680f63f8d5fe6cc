package fuse_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
)

// view is a directory for one user, through system calls.
type view struct {
	dir  string
	user fstest.User
}

// as runs a system call as the user. In the kernel, threads have users.
func (v *view) as(do func() error) error {
	if v.user.UID == 0 {
		return do()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become(v.user)
	defer become(fstest.Root)
	return do()
}

// become changes the file-system user of the thread.
func become(u fstest.User) {
	groups := append([]uint32{}, u.Groups...)
	unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), address(groups), 0)
	unix.RawSyscall(unix.SYS_SETFSGID, uintptr(groups[0]), 0, 0)
	unix.RawSyscall(unix.SYS_SETFSUID, uintptr(u.UID), 0, 0)
}

// at keeps dots, which filepath.Join does not.
func (v *view) at(name string) string { return v.dir + "/" + name }

// modeOf converts mode bits to a mode of package os.
func modeOf(bits uint32) os.FileMode {
	m := os.FileMode(bits & 0o777)
	if bits&0o4000 != 0 {
		m |= os.ModeSetuid
	}
	if bits&0o2000 != 0 {
		m |= os.ModeSetgid
	}
	return m
}

func (v *view) Open(name string, flag int, bits uint32) (f fstest.File, err error) {
	err = v.as(func() error {
		of, err := os.OpenFile(v.at(name), flag, modeOf(bits))
		f = &file{of, v}
		return err
	})
	return f, err
}

func (v *view) Mkdir(name string, bits uint32) error {
	return v.as(func() error { return os.Mkdir(v.at(name), modeOf(bits)) })
}

// Remove is like os.Remove, but does not guess a second time what was wrong.
func (v *view) Remove(name string) error {
	return v.as(func() error {
		err := unix.Unlink(v.at(name))
		if err == unix.EISDIR {
			err = unix.Rmdir(v.at(name))
		}
		return err
	})
}

func (v *view) Rename(from, to string) error {
	return v.as(func() error { return unix.Rename(v.at(from), v.at(to)) })
}

func (v *view) Symlink(target, name string) error {
	return v.as(func() error { return os.Symlink(target, v.at(name)) })
}

func (v *view) Readlink(name string) (target string, err error) {
	err = v.as(func() error { target, err = os.Readlink(v.at(name)); return err })
	return target, err
}

func (v *view) Stat(name string) (i fstest.Info, err error) {
	err = v.as(func() error {
		var st unix.Stat_t
		err := unix.Stat(v.at(name), &st)
		i = infoOf(&st)
		return err
	})
	return i, err
}

func (v *view) Lstat(name string) (i fstest.Info, err error) {
	err = v.as(func() error {
		var st unix.Stat_t
		err := unix.Lstat(v.at(name), &st)
		i = infoOf(&st)
		return err
	})
	return i, err
}

func infoOf(st *unix.Stat_t) fstest.Info {
	kind := fstest.IsFile
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		kind = fstest.IsDir
	case unix.S_IFLNK:
		kind = fstest.IsSymlink
	}
	return fstest.Info{
		Kind: kind, Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid, Size: st.Size,
		Accessed: time.Unix(st.Atim.Unix()), Modified: time.Unix(st.Mtim.Unix()), Change: time.Unix(st.Ctim.Unix()),
	}
}

func (v *view) ReadDir(name string) (out []fstest.Entry, err error) {
	err = v.as(func() error {
		entries, err := os.ReadDir(v.at(name))
		for _, e := range entries {
			kind := fstest.IsFile
			switch {
			case e.IsDir():
				kind = fstest.IsDir
			case e.Type() == os.ModeSymlink:
				kind = fstest.IsSymlink
			}
			out = append(out, fstest.Entry{Name: e.Name(), Kind: kind})
		}
		return err
	})
	return out, err
}

func (v *view) Truncate(name string, size int64) error {
	return v.as(func() error { return os.Truncate(v.at(name), size) })
}

func (v *view) Chmod(name string, bits uint32) error {
	return v.as(func() error { return os.Chmod(v.at(name), modeOf(bits)) })
}

func (v *view) Chown(name string, uid, gid int) error {
	return v.as(func() error { return os.Chown(v.at(name), uid, gid) })
}

func (v *view) Chtimes(name string, access, modified time.Time) error {
	return v.as(func() error { return os.Chtimes(v.at(name), access, modified) })
}

func (v *view) Setxattr(name, key string, value []byte, flag int) error {
	return v.as(func() error { return unix.Setxattr(v.at(name), key, value, flag) })
}

func (v *view) Getxattr(name, key string) (value []byte, err error) {
	err = v.as(func() error {
		value = make([]byte, 1<<16)
		n, err := unix.Getxattr(v.at(name), key, value)
		value = value[:max(n, 0)]
		return err
	})
	return value, err
}

func (v *view) Listxattr(name string) (keys []string, err error) {
	err = v.as(func() error {
		list := make([]byte, 1<<16)
		n, err := unix.Listxattr(v.at(name), list)
		for key := range strings.SplitSeq(string(list[:max(n, 0)]), "\x00") {
			if strings.HasPrefix(key, "user.") {
				keys = append(keys, key)
			}
		}
		return err
	})
	return keys, err
}

func (v *view) Removexattr(name, key string) error {
	return v.as(func() error { return unix.Removexattr(v.at(name), key) })
}

func (v *view) Space() (s fstest.Space, err error) {
	err = v.as(func() error {
		var st unix.Statfs_t
		err := unix.Statfs(v.dir, &st)
		s = fstest.Space{Total: int64(st.Blocks) * st.Bsize, Free: int64(st.Bavail) * st.Bsize}
		return err
	})
	return s, err
}

// file is an open file, used as the user that opened it.
type file struct {
	*os.File
	v *view
}

func (f *file) Write(b []byte) (n int, err error) {
	err = f.v.as(func() error { n, err = f.File.Write(b); return closed(err) })
	return n, err
}

func (f *file) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.v.as(func() error { n, err = f.File.WriteAt(b, off); return closed(err) })
	return n, err
}

func (f *file) Truncate(size int64) error {
	return f.v.as(func() error { return closed(f.File.Truncate(size)) })
}

func (f *file) Stat() (fstest.Info, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return fstest.Info{}, syscall.EBADF
	}
	var st unix.Stat_t
	if e := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) }); e != nil {
		return fstest.Info{}, syscall.EBADF
	}
	return infoOf(&st), err
}

// closed adds the errno of POSIX to an error about a closed file.
func closed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return errors.Join(syscall.EBADF, err)
	}
	return err
}

func address(groups []uint32) uintptr { return uintptr(unsafe.Pointer(&groups[0])) }
