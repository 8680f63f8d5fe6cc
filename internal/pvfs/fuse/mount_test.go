package fuse_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse/fusetest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// TestRefused tries operations that the protocol does not have.
func TestRefused(t *testing.T) {
	b := start(t, setup{})
	at := func(name string) string { return filepath.Join(b.work, name) }
	require.NoError(t, os.WriteFile(at("f"), []byte("bytes"), 0o644))
	require.NoError(t, os.WriteFile(at("g"), []byte("others"), 0o644))
	assert.ErrorIs(t, os.Link(at("f"), at("h")), syscall.EPERM)
	assert.ErrorIs(t, unix.Mkfifo(at("p"), 0o644), syscall.EPERM)
	assert.ErrorIs(t, unix.Chmod(at("f"), 0o1755), syscall.EINVAL)
	assert.ErrorIs(t, unix.Setxattr(at("f"), "trusted.x", []byte("1"), 0), syscall.EOPNOTSUPP)
	assert.ErrorIs(t, unix.Setxattr(at("f"), "user.x", make([]byte, 60_000), 0), syscall.E2BIG)
	assert.ErrorIs(t, unix.Renameat2(unix.AT_FDCWD, at("f"), unix.AT_FDCWD, at("g"), unix.RENAME_EXCHANGE), syscall.EINVAL)
	assert.ErrorIs(t, unix.Renameat2(unix.AT_FDCWD, at("f"), unix.AT_FDCWD, at("g"), unix.RENAME_NOREPLACE), syscall.EEXIST)
	assert.NoError(t, unix.Renameat2(unix.AT_FDCWD, at("f"), unix.AT_FDCWD, at("h"), unix.RENAME_NOREPLACE))
	got, err := os.ReadFile(at("h"))
	require.NoError(t, err)
	assert.Equal(t, "bytes", string(got))
	require.NoError(t, unix.Mknod(at("n"), unix.S_IFREG|0o640, 0))
	info, err := os.Stat(at("n"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode())
}

// TestSeenByOthers: another client sees changes through the mount, and the mount sees those of the client after the caches have
// expired.
func TestSeenByOthers(t *testing.T) {
	off := client.Options{AttrTime: -1, SizeTime: -1, NameTime: -1}
	b := start(t, setup{client: off, mount: fuse.Options{EntryTime: -1, AttrTime: -1}})
	other := b.client(t, off)
	ctx := context.Background()
	require.NoError(t, os.MkdirAll(filepath.Join(b.work, "a/b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(b.work, "a/b/f"), []byte("one"), 0o644))
	got, err := other.WithContext(ctx).Open("tree/a/b/f")
	require.NoError(t, err)
	info, err := got.Stat()
	require.NoError(t, err)
	assert.EqualValues(t, 3, info.Size())
	require.NoError(t, got.Close())

	require.NoError(t, other.Rename(ctx, "/tree/a/b", "/tree/c"))
	f, err := other.OpenFile(ctx, "/tree/c/f", os.O_WRONLY|os.O_TRUNC, 0)
	require.NoError(t, err)
	_, err = f.Write([]byte("twice"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	bytes, err := os.ReadFile(filepath.Join(b.work, "c/f"))
	require.NoError(t, err)
	assert.Equal(t, "twice", string(bytes))
	_, err = os.Stat(filepath.Join(b.work, "a/b/f"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestOpenAfterClose: an open finds the data that another mount has written and closed before, however long attributes are
// cached. It also finds a new file that has replaced the old one.
func TestOpenAfterClose(t *testing.T) {
	long := fuse.Options{EntryTime: 2 * time.Second, AttrTime: time.Hour}
	b := start(t, setup{mount: long, client: client.Options{AttrTime: time.Hour, SizeTime: time.Hour, NameTime: time.Hour}})
	other := b.again(t, client.Options{}, long)
	mine, theirs := filepath.Join(b.work, "f"), filepath.Join(other.work, "f")
	for i, text := range []string{"one", "seven", "two"} {
		require.NoError(t, os.WriteFile(theirs, []byte(text), 0o644))
		got, err := os.ReadFile(mine)
		require.NoError(t, err)
		assert.Equal(t, text, string(got), "%d", i)
		info, err := os.Stat(mine)
		require.NoError(t, err)
		assert.EqualValues(t, len(text), info.Size())
	}
	f, err := os.Open(mine)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Remove(theirs))
	require.NoError(t, os.WriteFile(theirs, []byte("another file"), 0o644))
	got, err := os.ReadFile(mine)
	require.NoError(t, err)
	assert.Equal(t, "another file", string(got))
}

// TestQuiet: successful operations are not logged.
func TestQuiet(t *testing.T) {
	var log bytes.Buffer
	b := start(t, setup{mount: fuse.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}})
	path := filepath.Join(b.work, "f")
	want := bytes.Repeat([]byte("sixteen bytes..."), 4<<20/16)
	require.NoError(t, os.WriteFile(path, want, 0o644))
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
	require.NoError(t, err)
	got := make([]byte, len(want))
	_, err = io.ReadFull(f, got)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.True(t, bytes.Equal(want, got))
	require.NoError(t, b.mount.Close())
	assert.Empty(t, log.String())
}

// TestTouch: a user with the right to write a file may set its times only to now.
func TestTouch(t *testing.T) {
	need.AsRoot(t)
	b := start(t, setup{})
	path := filepath.Join(b.work, "f")
	require.NoError(t, os.WriteFile(path, nil, 0o666))
	long := time.Unix(1000, 0)
	require.NoError(t, os.Chtimes(path, long, long))
	other := &view{dir: b.work, user: fstest.User{UID: 1001, Groups: []uint32{1001}}}
	touch := func() error {
		return other.as(func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, path, nil, 0) })
	}
	assert.ErrorIs(t, other.Chtimes("f", long, long), syscall.EPERM)
	require.NoError(t, touch())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), info.ModTime(), far)
	st := info.Sys().(*syscall.Stat_t)
	assert.WithinDuration(t, time.Now(), time.Unix(st.Atim.Unix()), far)
	require.NoError(t, os.Chmod(path, 0o644))
	assert.ErrorIs(t, touch(), syscall.EACCES)
}

// TestUnlinked: an open file exists without its name, until the mount ends.
func TestUnlinked(t *testing.T) {
	b := start(t, setup{mount: fuse.Options{EntryTime: -1, AttrTime: -1}})
	before := objects(t, b.fs)
	path := filepath.Join(b.work, "f")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Write([]byte("still here"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	entries, err := os.ReadDir(b.work)
	require.NoError(t, err)
	assert.Empty(t, entries, "it goes without a hidden name")
	got := make([]byte, 10)
	_, err = f.ReadAt(got, 0)
	require.NoError(t, err)
	assert.Equal(t, "still here", string(got))
	require.NoError(t, f.Truncate(5))
	require.NoError(t, f.Chmod(0o600))
	if os.Geteuid() == 0 {
		require.NoError(t, f.Chown(5, 6))
	}
	times := []unix.Timeval{{Sec: 70}, {Sec: 80}}
	require.NoError(t, unix.Futimes(int(f.Fd()), times))
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &st))
	assert.EqualValues(t, 5, st.Size)
	assert.EqualValues(t, unix.S_IFREG|0o600, st.Mode)
	if os.Geteuid() == 0 {
		assert.EqualValues(t, 5, st.Uid)
		assert.EqualValues(t, 6, st.Gid)
	}
	assert.EqualValues(t, 70, st.Atim.Sec)
	assert.EqualValues(t, 80, st.Mtim.Sec)
	end, err := f.Seek(0, unix.SEEK_HOLE)
	require.NoError(t, err)
	assert.EqualValues(t, 5, end, "it is data up to its end")

	require.NoError(t, b.mount.Close(), "although the file is open")
	assert.False(t, mountedOn(t, b.dir))
	assert.Equal(t, before, objects(t, b.client(t, client.Options{})), "objects on the servers")
}

// objects is the number of objects.
func objects(t *testing.T, f *client.FS) uint64 {
	t.Helper()
	s, err := f.StatFS(context.Background())
	require.NoError(t, err)
	return s.HandlesTotal - s.HandlesAvailable
}

// TestConcurrent runs many programs at a time, each with a file of its own and all in one directory.
func TestConcurrent(t *testing.T) {
	b := start(t, setup{cluster: pvfstest.Options{Method: pvfstest.TCP}})
	const workers, rounds = 8, 8
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() { assert.NoError(t, work(b.work, w, rounds)) })
	}
	all.Wait()
	entries, err := os.ReadDir(b.work)
	require.NoError(t, err)
	assert.Len(t, entries, workers)
}

// work makes, fills, renames, reads and removes files.
func work(dir string, w, rounds int) error {
	last := filepath.Join(dir, fmt.Sprintf("last%d", w))
	for i := range rounds {
		path := filepath.Join(dir, fmt.Sprintf("%d-%d", w, i))
		want := make([]byte, 10_000*(w+1))
		for j := range want {
			want[j] = byte(w + i + j)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			return err
		}
		if _, err := os.ReadDir(dir); err != nil {
			return err
		}
		if err := os.Rename(path, last); err != nil {
			return err
		}
		got, err := os.ReadFile(last)
		if err != nil {
			return err
		}
		if string(got) != string(want) {
			return fmt.Errorf("%s has other bytes than were written", last)
		}
	}
	return nil
}

// TestServersGone: without servers operations fail, and after their restart they succeed.
func TestServersGone(t *testing.T) {
	b := start(t, setup{
		cluster: pvfstest.Options{Method: pvfstest.TCP},
		client:  client.Options{Timeout: far, FlowTimeout: far, RetryLimit: -1, AttrTime: -1, SizeTime: -1, NameTime: -1},
		mount:   fuse.Options{EntryTime: -1, AttrTime: -1},
	})
	path := filepath.Join(b.work, "f")
	require.NoError(t, os.WriteFile(path, []byte("bytes"), 0o644))
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_SYNC, 0)
	require.NoError(t, err)
	for i := range b.cluster.Len() {
		b.cluster.Stop(i)
	}
	ended := make(chan error, 1)
	go func() {
		var none []error
		note := func(what string, err error) {
			if err == nil {
				none = append(none, errors.New(what+" succeeded"))
			}
		}
		_, err := os.Stat(path)
		note("stat", err)
		_, err = f.WriteAt([]byte("x"), 0)
		note("write", err)
		_, err = os.ReadDir(b.work)
		note("readdir", err)
		note("mkdir", os.Mkdir(filepath.Join(b.work, "d"), 0o755))
		_ = f.Close()
		ended <- errors.Join(none...)
	}()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(far):
		t.Fatal("a system call hangs")
	}
	for i := range b.cluster.Len() {
		b.cluster.Start(i)
	}
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, far, 10*time.Millisecond)
}

// TestUnmountedByOthers: Done is closed, and Close has nothing to do.
func TestUnmountedByOthers(t *testing.T) {
	b := start(t, setup{})
	require.NoError(t, fuse.Detach(b.dir))
	select {
	case <-b.mount.Done():
	case <-time.After(far):
		t.Fatal("the mount does not end")
	}
	require.NoError(t, b.mount.Close())
}

// TestBadDirectory: an unsuitable mount point gives a clear error.
func TestBadDirectory(t *testing.T) {
	fusetest.Need(t)
	f := (&bench{source: pvfstest.Start(t, pvfstest.Options{}).Source()}).client(t, client.Options{})
	_, err := fuse.New(context.Background(), f, filepath.Join(t.TempDir(), "none"), fuse.Options{})
	assert.ErrorIs(t, err, os.ErrNotExist)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = fuse.New(context.Background(), f, file, fuse.Options{})
	assert.ErrorContains(t, err, "is not a directory")
}
