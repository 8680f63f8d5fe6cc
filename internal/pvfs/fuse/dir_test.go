package fuse_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// fill makes symlinks, 0000 and so on, in one transaction of the directory's server.
func (b *bench) fill(t *testing.T, count int) {
	t.Helper()
	links := make([]string, count)
	for i := range links {
		links[i] = fmt.Sprintf("%04d", i)
	}
	b.cluster.Symlinks("tree", "nowhere", links...)
}

// names reads a directory to its end, step entries at a time.
func names(t *testing.T, f *os.File, step int) (all []string) {
	t.Helper()
	for {
		some, err := f.Readdirnames(step)
		all = append(all, some...)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
	}
}

// begun opens the directory and reads one name. It returns the one of the two given names that was not read, because names come
// in any order.
func (b *bench) begun(t *testing.T, one, another string) (f *os.File, unread string) {
	t.Helper()
	f, err := os.Open(b.work)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	some, err := f.Readdirnames(1)
	require.NoError(t, err)
	if slices.Contains(some, one) {
		return f, another
	}
	return f, one
}

// TestLargeDirectory lists more entries than the mount keeps, or than fit into one call of the kernel, twice.
func TestLargeDirectory(t *testing.T) {
	b := start(t, setup{})
	const count = 1100
	b.fill(t, count)
	f, err := os.Open(b.work)
	require.NoError(t, err)
	defer f.Close()
	first := names(t, f, 100)
	assert.Len(t, first, count)
	unique := map[string]bool{}
	for _, name := range first {
		unique[name] = true
	}
	assert.Len(t, unique, count, "each once")
	_, err = f.Seek(0, io.SeekStart)
	require.NoError(t, err)
	all, err := f.ReadDir(-1)
	require.NoError(t, err)
	for i, e := range all {
		assert.Equal(t, first[i], e.Name())
		assert.Equal(t, os.ModeSymlink, e.Type())
	}
}

// TestSeekInDirectory goes back and forth by offsets, as seekdir does.
func TestSeekInDirectory(t *testing.T) {
	b := start(t, setup{})
	const count = 1100
	b.fill(t, count)
	fd, err := unix.Open(b.work, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	all := entries(t, fd)
	require.Len(t, all, count+2)
	for _, i := range []int{0, 1, 2, 700, 650, 3, count, 513, 512, 1024} {
		_, err := unix.Seek(fd, all[i].off, unix.SEEK_SET)
		require.NoError(t, err)
		got := entries(t, fd)
		require.NotEmpty(t, got)
		assert.Equal(t, all[i+1].name, got[0].name, "behind entry %d", i)
	}
}

// TestChangedWhileListed: if an entry changes after the mount has read it and before the kernel asks for it, the kernel gets the
// new state.
func TestChangedWhileListed(t *testing.T) {
	b := start(t, setup{mount: fuse.Options{EntryTime: time.Hour, AttrTime: time.Hour}})
	const count = 500
	b.fill(t, count-1)
	for _, name := range []string{"9998", "9999"} {
		require.NoError(t, os.WriteFile(filepath.Join(b.work, name), []byte("one"), 0o600))
	}
	f, unread := b.begun(t, "9999", "9998")
	last := filepath.Join(b.work, unread)
	require.NoError(t, os.WriteFile(last, []byte("three"), 0o600))
	require.NoError(t, os.Chmod(last, 0o640))
	require.NoError(t, os.Remove(filepath.Join(b.work, "0498")))
	names(t, f, 1000)
	info, err := os.Lstat(last)
	require.NoError(t, err)
	assert.EqualValues(t, 5, info.Size())
	assert.Equal(t, os.FileMode(0o640), info.Mode())
	_, err = os.Lstat(filepath.Join(b.work, "0498"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestListedSlowly: a program that reads a directory slowly sees another client's changes.
func TestListedSlowly(t *testing.T) {
	const keep = 20 * time.Millisecond
	off := client.Options{AttrTime: -1, SizeTime: -1, NameTime: -1}
	b := start(t, setup{client: off, mount: fuse.Options{EntryTime: keep, AttrTime: keep}})
	const count = 500
	b.fill(t, count)
	for _, name := range []string{"9998", "9999"} {
		require.NoError(t, os.WriteFile(filepath.Join(b.work, name), nil, 0o600))
	}
	other := b.client(t, off)
	f, unread := b.begun(t, "9999", "9998")
	last := filepath.Join(b.work, unread)
	time.Sleep(keep * 3 / 2)
	require.NoError(t, other.Chmod(context.Background(), "/tree/"+unread, 0o640))
	names(t, f, 1000)
	info, err := os.Lstat(last)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode())
}

// TestDirectoryThatFails: after an error in the middle of a directory, a second read leaves nothing out.
func TestDirectoryThatFails(t *testing.T) {
	b := start(t, setup{client: client.Options{RetryLimit: -1, Timeout: far}})
	const count = 1100
	b.fill(t, count)
	f, err := os.Open(b.work)
	require.NoError(t, err)
	defer f.Close()
	all, err := f.Readdirnames(1)
	require.NoError(t, err)
	for i := range b.cluster.Len() {
		b.cluster.Stop(i)
	}
	for err == nil {
		var some []string
		some, err = f.Readdirnames(50)
		all = append(all, some...)
	}
	require.NotErrorIs(t, err, io.EOF, "the servers are gone")
	require.Less(t, len(all), count)
	for i := range b.cluster.Len() {
		b.cluster.Start(i)
	}
	require.Eventually(t, func() bool {
		some, err := f.Readdirnames(-1)
		all = append(all, some...)
		return err == nil
	}, far, 10*time.Millisecond)
	unique := map[string]bool{}
	for _, name := range all {
		unique[name] = true
	}
	assert.Equal(t, count, len(unique))
	assert.Equal(t, count, len(all))
}

// An entry is an entry of getdents64: its name, and the offset of the next one.
type entry struct {
	name string
	off  int64
}

// entries reads a directory from its position to its end.
func entries(t *testing.T, fd int) (all []entry) {
	t.Helper()
	buf := make([]byte, 4096)
	for {
		n, err := unix.Getdents(fd, buf)
		require.NoError(t, err)
		if n == 0 {
			return all
		}
		for b := buf[:n]; len(b) > 0; {
			length := binary.NativeEndian.Uint16(b[16:])
			name, _, _ := bytes.Cut(b[19:length], []byte{0})
			all = append(all, entry{string(name), int64(binary.NativeEndian.Uint64(b[8:]))})
			b = b[length:]
		}
	}
}
