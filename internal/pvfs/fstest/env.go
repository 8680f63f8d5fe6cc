package fstest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/stretchr/testify/require"
)

// An Env is the environment of a case: an empty directory of its own that all users may write.
type Env struct {
	T
	s    *Subject
	dir  string
	root *actor
}

// places counts the directories of cases in this process.
var places atomic.Int64

func newEnv(t T, s *Subject) *Env {
	t.Helper()
	e := &Env{T: t, s: s, dir: fmt.Sprintf("case-%d-%d", os.Getpid(), places.Add(1))}
	e.root = e.as(Root)
	require.NoError(e, e.root.fs.Mkdir(e.dir, 0o777), "make the directory of a case")
	require.NoError(e, e.root.fs.Chmod(e.dir, 0o777))
	return e
}

// clean removes the files of the case, unless it failed: then they stay for inspection.
func (e *Env) clean() {
	e.Helper()
	if !e.Failed() {
		require.NoError(e, removeAll(e.root.fs, e.dir), "remove what a case has left")
	}
}

// removeAll removes a tree.
func removeAll(fs FS, name string) error {
	entries, err := fs.ReadDir(name)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		below := name + "/" + entry.Name
		info, err := fs.Lstat(below)
		if err != nil {
			return err
		}
		if info.Kind == IsDir {
			err = removeAll(fs, below)
		} else {
			err = fs.Remove(below)
		}
		if err != nil {
			return err
		}
	}
	return fs.Remove(name)
}

// An actor is a user in the directory of a case.
type actor struct {
	*Env
	fs FS
}

func (e *Env) as(u User) *actor { return &actor{Env: e, fs: e.s.As(u)} }

// at is the path of a name for the file system.
func (e *Env) at(name string) string {
	if name == "." {
		return e.dir
	}
	return e.dir + "/" + name
}

// fails requires one of the given errors.
func (e *Env) fails(err error, want ...syscall.Errno) {
	e.Helper()
	require.Error(e, err, "want %v", want)
	if !slices.ContainsFunc(want, func(no syscall.Errno) bool { return errors.Is(err, no) }) {
		e.Errorf("the error is %q (%T), want one of %q", err, err, want)
		e.FailNow()
	}
}

// denied requires an error about access.
func (e *Env) denied(err error) {
	e.Helper()
	e.fails(err, syscall.EACCES, syscall.EPERM)
}

// open opens a file, and closes it at the end of the case.
func (a *actor) open(name string, flag int, mode uint32) File {
	a.Helper()
	f, err := a.fs.Open(a.at(name), flag, mode)
	require.NoError(a, err, "open %.60q", name)
	a.Cleanup(func() { _ = f.Close() })
	return f
}

// try opens a file and closes it.
func (a *actor) try(name string, flag int, mode uint32) error {
	f, err := a.fs.Open(a.at(name), flag, mode)
	if err != nil {
		return err
	}
	return f.Close()
}

// put makes a file, or replaces its contents.
func (a *actor) put(name string, data []byte) {
	a.Helper()
	f, err := a.fs.Open(a.at(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	require.NoError(a, err, "create %.60q", name)
	if len(data) > 0 {
		n, err := f.WriteAt(data, 0)
		require.NoError(a, err, "write %d bytes", len(data))
		require.Equal(a, len(data), n, "bytes written")
	}
	require.NoError(a, f.Close(), "close %.60q", name)
}

// get reads a whole file, and checks its size.
func (a *actor) get(name string) []byte {
	a.Helper()
	f, err := a.fs.Open(a.at(name), os.O_RDONLY, 0)
	require.NoError(a, err, "open %.60q", name)
	data, err := io.ReadAll(f)
	require.NoError(a, err, "read %.60q", name)
	info, err := f.Stat()
	require.NoError(a, err, "stat of the open %.60q", name)
	require.EqualValues(a, len(data), info.Size, "the size of %.60q is what can be read", name)
	require.NoError(a, f.Close())
	return data
}

// holds requires the contents of a file.
func (a *actor) holds(name string, want []byte) {
	a.Helper()
	a.same(want, a.get(name), 0)
	require.EqualValues(a, len(want), a.lstat(name).Size, "size of %.60q", name)
}

// same compares bytes at an offset of a file, and reports where they differ.
func (e *Env) same(want, got []byte, off int64) {
	e.Helper()
	require.Equal(e, len(want), len(got), "bytes read at %d", off)
	if bytes.Equal(want, got) {
		return
	}
	for i := range want {
		if want[i] != got[i] {
			e.Errorf("byte %d is %#02x, want %#02x", off+int64(i), got[i], want[i])
			e.FailNow()
		}
	}
}

// readAt requires the contents of a part of a file.
func (e *Env) readAt(f File, off int64, want []byte) {
	e.Helper()
	got := make([]byte, len(want))
	n, err := f.ReadAt(got, off)
	if err != nil {
		require.ErrorIs(e, err, io.EOF, "read %d bytes at %d", len(want), off)
	}
	require.Equal(e, len(want), n, "bytes read at %d", off)
	e.same(want, got, off)
}

// writeAt writes a part of a file.
func (e *Env) writeAt(f File, off int64, data []byte) {
	e.Helper()
	n, err := f.WriteAt(data, off)
	require.NoError(e, err, "write %d bytes at %d", len(data), off)
	require.Equal(e, len(data), n, "bytes written")
}

func (a *actor) mkdir(name string) {
	a.Helper()
	require.NoError(a, a.fs.Mkdir(a.at(name), 0o755), "mkdir %.60q", name)
}

func (a *actor) remove(name string) {
	a.Helper()
	require.NoError(a, a.fs.Remove(a.at(name)), "remove %.60q", name)
}

func (a *actor) rename(from, to string) {
	a.Helper()
	require.NoError(a, a.fs.Rename(a.at(from), a.at(to)), "rename %.60q to %.60q", from, to)
}

func (a *actor) symlink(target, name string) {
	a.Helper()
	require.NoError(a, a.fs.Symlink(target, a.at(name)), "symlink %.60q", name)
}

func (a *actor) chmod(name string, mode uint32) {
	a.Helper()
	require.NoError(a, a.fs.Chmod(a.at(name), mode), "chmod %.60q %o", name, mode)
}

func (a *actor) chown(name string, uid, gid int) {
	a.Helper()
	require.NoError(a, a.fs.Chown(a.at(name), uid, gid), "chown %.60q %d:%d", name, uid, gid)
}

func (a *actor) truncate(name string, size int64) {
	a.Helper()
	require.NoError(a, a.fs.Truncate(a.at(name), size), "truncate %.60q to %d", name, size)
}

func (a *actor) stat(name string) Info {
	a.Helper()
	info, err := a.fs.Stat(a.at(name))
	require.NoError(a, err, "stat %.60q", name)
	return info
}

func (a *actor) lstat(name string) Info {
	a.Helper()
	info, err := a.fs.Lstat(a.at(name))
	require.NoError(a, err, "lstat %.60q", name)
	return info
}

// absent requires that a name does not exist.
func (a *actor) absent(name string) {
	a.Helper()
	_, err := a.fs.Lstat(a.at(name))
	a.fails(err, syscall.ENOENT)
}

// list returns the names in a directory, sorted, and requires that none is repeated.
func (a *actor) list(name string) []string {
	a.Helper()
	entries, err := a.fs.ReadDir(a.at(name))
	require.NoError(a, err, "readdir %.60q", name)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	slices.Sort(names)
	require.Equal(a, len(names), len(slices.Compact(slices.Clone(names))), "a name is listed twice")
	return names
}

// textBlock is the unit of text: its bytes encode its offset.
const textBlock = 32

// text is n bytes of data. Each textBlock of it encodes its offset and the seed.
func text(seed uint64, n int) []byte {
	out := make([]byte, n+textBlock)
	var block [textBlock]byte
	for i := range block {
		block[i] = byte(seed) ^ byte(i*7) | 1
	}
	for i := 0; i < n; i += textBlock {
		v := (uint64(i) + seed<<40 + 1) * 0x9e3779b97f4a7c15
		binary.LittleEndian.PutUint64(block[:], v|0x0101010101010101)
		copy(out[i:], block[:])
	}
	return out[:n]
}
