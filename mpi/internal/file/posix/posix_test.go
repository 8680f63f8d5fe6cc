package posix

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
)

var background = context.Background()

func opened(t *testing.T, name string) *File {
	f, err := Open(name, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close(background) })
	return f
}

// TestSieving: writers of different bytes, who sieve or not, do not disturb each other, whether they
// share a File or have their own.
func TestSieving(t *testing.T) {
	const writers, each = 4, 400
	for _, shared := range []bool{true, false} {
		name := filepath.Join(t.TempDir(), "file")
		f := opened(t, name)
		var all sync.WaitGroup
		for w := range writers {
			g := f
			if !shared {
				g = opened(t, name)
			}
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 1))
				mem := make([]byte, each)
				for i := range mem {
					mem[i] = byte(w + 1)
				}
				for range 20 {
					// Some of this writer's bytes. Every fourth byte is one of them.
					n := 1 + r.IntN(each)
					l := ranges.List{{Off: int64(w), Len: 1, Stride: writers, Count: int64(n)}}
					if n == 1 {
						l = ranges.List{ranges.One(int64(w), 1)}
					}
					o := storage.Options{Sieve: storage.Choice(r.IntN(3)), BufferBytes: 4096}
					assert.NoError(t, g.Write(background, l, mem[:n], o))
				}
				l := ranges.List{{Off: int64(w), Len: 1, Stride: writers, Count: each}}
				assert.NoError(t, g.Write(background, l, mem, storage.Options{BufferBytes: 700}))
			})
		}
		all.Wait()
		got := make([]byte, writers*each)
		n, err := f.Read(background, ranges.List{ranges.One(0, writers*each)}, got, storage.Options{})
		require.NoError(t, err)
		require.EqualValues(t, len(got), n)
		for i, b := range got {
			require.EqualValues(t, i%writers+1, b, "byte %d", i)
		}
	}
}

// TestLocks: of two locks that conflict, one waits, in other files and in the same one; ctx ends
// the wait.
func TestLocks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, g := opened(t, name), opened(t, name)
	unlock, err := f.Lock(background, 0, 10, true)
	require.NoError(t, err)
	shared, err := g.Lock(background, 5, 15, true)
	require.NoError(t, err, "shared locks do not conflict")
	shared()
	for _, other := range []*File{f, g} {
		ctx, cancel := context.WithCancel(background)
		cancel()
		_, err = other.Lock(ctx, 5, 15, false)
		assert.ErrorIs(t, err, context.Canceled)
		got := make(chan error)
		go func() {
			again, err := other.Lock(background, 5, 15, false)
			if err == nil {
				defer again()
			}
			got <- err
		}()
		apart, err := other.Lock(background, 20, 30, false)
		require.NoError(t, err, "another range")
		apart()
		unlock()
		require.NoError(t, <-got)
		unlock, err = f.Lock(background, 0, 10, true)
		require.NoError(t, err)
	}
	unlock()
}

// TestNoLocks: where there are no locks, writes do not sieve, and nothing else changes.
func TestNoLocks(t *testing.T) {
	f := opened(t, filepath.Join(t.TempDir(), "file"))
	f.noLocks.Store(true)
	_, err := f.Lock(background, 0, 1, true)
	assert.ErrorIs(t, err, errclass.UnsupportedOperation)
	l := ranges.List{{Off: 0, Len: 1, Stride: 2, Count: 100}}
	mem := make([]byte, 100)
	for i := range mem {
		mem[i] = byte(i)
	}
	require.NoError(t, f.Write(background, l, mem, storage.Options{BufferBytes: 4096}))
	got := make([]byte, 100)
	n, err := f.Read(background, l, got, storage.Options{BufferBytes: 64})
	require.NoError(t, err)
	assert.EqualValues(t, 100, n)
	assert.Equal(t, mem, got)
}

// TestHostile: files that are not regular, and files that may not be opened.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, unix.Mkfifo(at("pipe"), 0o600))
	require.NoError(t, os.Symlink("loop", at("loop")))
	require.NoError(t, os.WriteFile(at("file"), []byte("bytes"), 0o600))
	for name, class := range map[string]errclass.Class{
		dir:                             errclass.BadFile,
		at("pipe"):                      errclass.BadFile,
		"/dev/null":                     errclass.BadFile,
		at("loop"):                      errclass.BadFile,
		at("file") + "/x":               errclass.BadFile,
		at("missing"):                   errclass.NoSuchFile,
		at("missing") + "/x":            errclass.NoSuchFile,
		at(string(make([]byte, 300))):   errclass.IO,
		at("long" + longName(300)):      errclass.BadFile,
		"/proc/self/mem/of/nothing/etc": errclass.BadFile,
	} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY} {
			_, err := Open(name, flag, 0o600)
			assert.ErrorIs(t, err, class, "%q", name)
		}
	}
	_, err := Open(at("file"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	assert.ErrorIs(t, err, errclass.FileExists)
	assert.ErrorIs(t, Delete(dir), errclass.BadFile)
	assert.ErrorIs(t, Delete(at("missing")), errclass.NoSuchFile)
	require.NoError(t, Delete(at("pipe")))
}

func longName(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}

// TestShrinks: a file that becomes shorter while it is read ends there.
func TestShrinks(t *testing.T) {
	f := opened(t, filepath.Join(t.TempDir(), "file"))
	require.NoError(t, f.Preallocate(background, 10_000))
	size, err := f.Size(background)
	require.NoError(t, err)
	assert.EqualValues(t, 10_000, size)
	require.NoError(t, f.Truncate(background, 1_005))
	for _, sieve := range []storage.Choice{storage.Automatic, storage.Enable, storage.Disable} {
		l := ranges.List{{Off: 0, Len: 10, Stride: 100, Count: 50}}
		n, err := f.Read(background, l, make([]byte, 500), storage.Options{Sieve: sieve, BufferBytes: 450})
		require.NoError(t, err)
		assert.EqualValues(t, 105, n)
	}
	require.NoError(t, f.Sync(background))
	assert.EqualValues(t, 1, f.Layout().Count)
}

// TestFull: a file that may not grow gives an error, and keeps its bytes.
func TestFull(t *testing.T) {
	f, err := Open("/dev/full", os.O_WRONLY, 0)
	assert.Nil(t, f)
	assert.ErrorIs(t, err, errclass.BadFile)
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte("bytes"), 0o400))
	g, err := Open(name, os.O_RDONLY, 0)
	require.NoError(t, err)
	defer func() { _ = g.Close(background) }()
	err = g.Write(background, ranges.List{ranges.One(0, 2)}, []byte("xx"), storage.Options{})
	assert.Error(t, err)
	assert.NotEqual(t, errclass.Other, errclass.Of(err))
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, "bytes", string(got))
}
