package fstest_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
)

func (x *flawedFS) ReadDir(name string) (entries []fstest.Entry, err error) {
	err = x.on(name, x.f == everybodyLists, func(f fstest.FS, name string) error {
		entries, err = f.ReadDir(name)
		return err
	})
	switch {
	case x.f == listsFewer && len(entries) > 512:
		entries = entries[:512]
	case x.f == listsTwice && len(entries) > 1:
		entries = append(entries, entries[0])
	case x.f == listsDots && err == nil:
		entries = append(entries, fstest.Entry{Name: "."}, fstest.Entry{Name: ".."})
	case x.f == everythingIsAFile:
		for i := range entries {
			entries[i].Kind = fstest.IsFile
		}
	}
	return entries, err
}

func (x *flawedFS) Truncate(name string, size int64) error {
	switch {
	case x.f == truncatesNothing:
		return nil
	case x.f == negativeIsZero:
		size = max(size, 0)
	case x.f == keepsOldBytes:
		x.keep(name, size)
	case x.f == truncatesToStrips && size > 65536:
		size = (size + 65535) / 65536 * 65536
	case x.f == hasShortSizes:
		size = int64(uint32(size))
	}
	return x.on(name, x.f == everybodyWrites, func(f fstest.FS, name string) error { return f.Truncate(name, size) })
}

// keep stores the bytes that a truncation removes.
func (x *flawedFS) keep(name string, size int64) {
	f, err := x.w.root.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return
	}
	if data, err := io.ReadAll(f); err == nil && int64(len(data)) > size {
		x.w.mu.Lock()
		x.w.old[name] = data
		x.w.mu.Unlock()
	}
	_ = f.Close()
}

func (x *flawedFS) Chmod(name string, mode uint32) error {
	switch {
	case x.f == ignoresMode && strings.Contains(name, "/"):
		return nil
	case x.f == dropsSetGID:
		mode &= 0o777
	}
	err := x.on(name, x.f == everybodyChmods, func(f fstest.FS, name string) error { return f.Chmod(name, mode) })
	if err == nil && x.f == chmodMovesTime {
		now := time.Now()
		_ = x.w.root.Chtimes(name, now, now)
	}
	return err
}

func (x *flawedFS) Chown(name string, uid, gid int) error {
	asRoot := x.f == everybodyChowns
	if info, err := x.w.root.Stat(name); x.f == ownersGiveAway && err == nil {
		asRoot = info.UID == x.user.UID
	}
	if x.f == groupsAreFixed {
		gid = -1
	}
	return x.on(name, asRoot, func(f fstest.FS, name string) error { return f.Chown(name, uid, gid) })
}

func (x *flawedFS) Chtimes(name string, access, modified time.Time) error {
	switch x.f {
	case setsNoTimes:
		access, modified = time.Time{}, time.Time{}
	case setsBothTimes:
		if access.IsZero() {
			access = time.Now()
		}
		if modified.IsZero() {
			modified = time.Now()
		}
	}
	return x.on(name, x.f == everybodyChtimes, func(f fstest.FS, name string) error { return f.Chtimes(name, access, modified) })
}

func (x *flawedFS) Setxattr(name, key string, value []byte, flag int) error {
	switch x.f {
	case limitsXattrs:
		value = value[:min(len(value), 255)]
	case xattrsAreStrings:
		value, _, _ = bytes.Cut(value, []byte{0})
	case ignoresXattrFlags:
		flag = 0
	case takesLargeXattrs:
		value, key = value[:min(len(value), 8192)], key[:min(len(key), 255)]
	case xattrsAppend:
		if old, err := x.w.root.Getxattr(name, key); err == nil {
			value = append(old, value...)
		}
	case keepsXattrs:
		if x.w.xattrs[name] == nil {
			x.w.xattrs[name] = map[string][]byte{}
		}
		x.w.xattrs[name][key] = value
	}
	return x.on(name, x.f == everybodySetsXattrs, func(f fstest.FS, name string) error { return f.Setxattr(name, key, value, flag) })
}

func (x *flawedFS) Getxattr(name, key string) (value []byte, err error) {
	err = x.on(name, x.f == everybodySearches, func(f fstest.FS, name string) error {
		value, err = f.Getxattr(name, key)
		return err
	})
	if x.f == absentXattrsAreEmpty && errors.Is(err, syscall.ENODATA) {
		return nil, nil
	}
	return value, err
}

func (x *flawedFS) Listxattr(name string) (keys []string, err error) {
	err = x.on(name, x.f == everybodySearches, func(f fstest.FS, name string) error {
		keys, err = f.Listxattr(name)
		return err
	})
	if x.f == listsFewXattrs {
		keys = keys[:min(len(keys), 16)]
	}
	return keys, err
}

func (x *flawedFS) Removexattr(name, key string) error {
	return x.on(name, x.f == everybodySetsXattrs, func(f fstest.FS, name string) error { return f.Removexattr(name, key) })
}

func (x *flawedFS) Space() (fstest.Space, error) {
	if x.f == hasNoSpace {
		return fstest.Space{Total: 5, Free: 6}, nil
	}
	return x.FS.Space()
}

// flawedFile is an open file of a flawed file system.
type flawedFile struct {
	fstest.File
	x      *flawedFS
	name   string
	flag   int
	closed bool
}

// again opens the file again by its name.
func (f *flawedFile) again() (fstest.File, error) {
	return f.x.FS.Open(f.name, f.flag&^(os.O_CREATE|os.O_EXCL|os.O_TRUNC), 0)
}

func (f *flawedFile) gone() bool {
	f.x.w.mu.Lock()
	defer f.x.w.mu.Unlock()
	return f.x.f == unlinkedGoes && f.x.w.removed[f.name]
}

func (f *flawedFile) ReadAt(b []byte, off int64) (int, error) {
	switch {
	case f.gone():
		return 0, syscall.ENOENT
	case f.x.f == opensByName:
		g, err := f.again()
		if err != nil {
			return 0, err
		}
		defer func() { _ = g.Close() }()
		return g.ReadAt(b, off)
	case f.x.f == negativeIsZero:
		off = max(off, 0)
	case f.x.f == hasShortSizes:
		off = int64(uint32(off))
	case f.x.f == closesNothing && f.closed:
		return len(b), nil
	}
	n, err := f.File.ReadAt(b, off)
	if f.x.f == readsBehindTheEnd && n < len(b) {
		return len(b), nil
	}
	if f.x.f == readsZeros {
		clear(b)
	}
	return n, f.errs(err)
}

// errs changes an error, except io.EOF.
func (f *flawedFile) errs(err error) error {
	if errors.Is(err, io.EOF) {
		return err
	}
	return f.x.errs(err)
}

func (f *flawedFile) WriteAt(b []byte, off int64) (int, error) {
	done := len(b)
	switch {
	case f.gone():
		return 0, syscall.ENOENT
	case f.x.f == opensByName:
		g, err := f.again()
		if err != nil {
			return 0, err
		}
		defer func() { _ = g.Close() }()
		return g.WriteAt(b, off)
	case f.x.f == negativeIsZero:
		off = max(off, 0)
	case f.x.f == hasShortSizes:
		off = int64(uint32(off))
	case f.x.f == sizesWrap && off > 1<<62:
		return len(b), nil
	case f.x.f == losesWrites:
		return len(b), nil
	case f.x.f == losesTheMiddle && len(b) > 16344 && len(b) <= 16384:
		b = b[:16344]
	case f.x.f == closesNothing && f.closed:
		return len(b), nil
	case f.x.f == emptyWritesGrow && len(b) == 0:
		_, err := f.File.WriteAt([]byte{0}, off)
		return 0, err
	}
	if err := f.spoilGap(off); err != nil {
		return 0, err
	}
	before, _ := f.File.Stat()
	if f.x.f == losesStripBorder {
		b = slices.Clone(b)
		for i := range b {
			if at := off + int64(i); at%65536 == 0 && at > 0 {
				b[i] = 0
			}
		}
	}
	n, err := f.File.WriteAt(b, off)
	if f.x.f == writesKeepTime {
		_ = f.x.w.root.Chtimes(f.name, time.Time{}, before.Modified)
	}
	if err == nil {
		n = done
	}
	return n, f.errs(err)
}

// spoilGap fills the hole that a write beyond the end leaves.
func (f *flawedFile) spoilGap(off int64) error {
	info, err := f.File.Stat()
	gap := off - info.Size
	if err != nil || gap <= 0 || gap > 1<<22 {
		return nil
	}
	switch f.x.f {
	case keepsOldBytes:
		f.x.w.mu.Lock()
		old := f.x.w.old[f.name]
		f.x.w.mu.Unlock()
		if int64(len(old)) > info.Size {
			_, err = f.File.WriteAt(old[info.Size:min(off, int64(len(old)))], info.Size)
		}
	case holesHaveGarbage:
		_, err = f.File.WriteAt(bytes.Repeat([]byte("x"), int(gap)), info.Size)
	}
	return err
}

func (f *flawedFile) Truncate(size int64) error {
	if f.x.f == keepsOldBytes {
		f.x.keep(f.name, size)
	}
	if f.x.f == truncatesNothing {
		return nil
	}
	return f.errs(f.File.Truncate(size))
}

func (f *flawedFile) Seek(off int64, whence int) (int64, error) {
	if f.x.f == ignoresWhence {
		whence = io.SeekStart
	}
	return f.File.Seek(max(off, map[bool]int64{true: 0, false: -1 << 62}[f.x.f == negativeIsZero]), whence)
}

func (f *flawedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	if f.x.f == readsZeros {
		clear(b[:n])
	}
	if f.x.f == readsStandStill {
		_, _ = f.File.Seek(0, io.SeekStart)
		return n, io.EOF
	}
	return n, err
}

func (f *flawedFile) Stat() (fstest.Info, error) {
	info, err := f.File.Stat()
	return f.x.info(info), err
}

func (f *flawedFile) Sync() error {
	if f.x.f == syncFails {
		return syscall.EIO
	}
	return f.File.Sync()
}

func (f *flawedFile) Close() error {
	if f.x.f == closesNothing && f.closed {
		return nil
	}
	f.closed = true
	return f.errs(f.File.Close())
}
