package fuse_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// again mounts the same file system again with another client.
func (b *bench) again(t *testing.T, opt client.Options, how fuse.Options) *bench {
	t.Helper()
	other := &bench{source: b.source, fs: b.client(t, opt), dir: place(t)}
	var err error
	other.mount, err = fuse.New(context.Background(), other.fs, other.dir, how)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.mount.Close()) })
	other.work = other.dir + "/tree"
	return other
}

// TestAppendInTurn: two mounts that append in turn overwrite nothing, however old their cached file size is.
func TestAppendInTurn(t *testing.T) {
	long := fuse.Options{EntryTime: time.Hour, AttrTime: time.Hour}
	b := start(t, setup{mount: long})
	other := b.again(t, client.Options{}, long)
	var files []*os.File
	for _, m := range []*bench{b, other} {
		f, err := os.OpenFile(filepath.Join(m.work, "log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		require.NoError(t, err)
		defer f.Close()
		files = append(files, f)
	}
	var want strings.Builder
	for i := range 20 {
		line := fmt.Sprintf("line %d of %d\n", i, i%2)
		want.WriteString(line)
		n, err := files[i%2].WriteString(line)
		require.NoError(t, err)
		assert.Equal(t, len(line), n)
	}
	got, err := os.ReadFile(filepath.Join(b.work, "log"))
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(got))
}

// TestAppendWhileRead: a program with the file open through the same mount sees the appended data, also in mapped memory.
func TestAppendWhileRead(t *testing.T) {
	b := start(t, setup{})
	path := filepath.Join(b.work, "log")
	w, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	require.NoError(t, err)
	defer w.Close()
	r, err := os.Open(path)
	require.NoError(t, err)
	defer r.Close()
	var want []byte
	for i := range 30 {
		line := bytes.Repeat([]byte{byte('a' + i)}, 1000)
		want = append(want, line...)
		_, err := w.Write(line)
		require.NoError(t, err)
		got := make([]byte, len(want)+100)
		n, _ := r.ReadAt(got, 0)
		require.Equal(t, string(want), string(got[:n]), "after %d", i)
	}
	got := make([]byte, len(want))
	_, err = w.ReadAt(got, 0)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	require.NoError(t, mapped(path, want))
}

// mapped compares a file with its mapped memory. The file must not be written meanwhile.
func mapped(path string, want []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	// This process serves the page faults of the mapping, and must not wait for itself. MAP_POPULATE loads the pages in a system
	// call.
	mem, err := unix.Mmap(int(f.Fd()), 0, len(want), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(mem) }()
	if !bytes.Equal(mem, want) {
		return fmt.Errorf("%d bytes are mapped, and others than those that were written", len(mem))
	}
	return nil
}

// TestAppendTogether: writers on one machine do not overwrite each other.
func TestAppendTogether(t *testing.T) {
	b := start(t, setup{})
	path := filepath.Join(b.work, "log")
	const writers, lines = 6, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
			if !assert.NoError(t, err) {
				return
			}
			defer f.Close()
			for i := range lines {
				_, err := fmt.Fprintf(f, "%02d %03d\n", w, i)
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	next := map[string]int{}
	for line := range strings.Lines(string(got)) {
		who, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		assert.Equal(t, fmt.Sprintf("%03d", next[who]), what, "the lines of one writer are in order")
		next[who]++
	}
	assert.Len(t, next, writers)
	assert.Len(t, got, writers*lines*7)
}
