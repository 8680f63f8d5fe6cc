package filetest_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/filetest"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

var bg = context.Background()

// alone runs fn on one rank.
func alone(t *testing.T, fn func(w *mpi.Comm)) {
	mpitest.Run(t, 1, mpitest.Options{}, func(_ *testing.T, p *mpi.Process) { fn(p.World()) })
}

// write writes a file, and syncs it if asked to.
func write(t *testing.T, w *mpi.Comm, name string, b []byte, sync bool) {
	f, err := file.Open(bg, w, name, file.ModeCreate|file.ModeRdwr, nil)
	require.NoError(t, err)
	_, err = f.WriteAt(bg, 0, mpi.Slice(b))
	require.NoError(t, err)
	if sync {
		require.NoError(t, f.Sync(bg))
	}
	got := make([]byte, len(b)+1)
	st, err := f.ReadAt(bg, 0, mpi.Slice(got))
	require.NoError(t, err)
	assert.Equal(t, b, got[:st.Bytes])
}

// TestCut: what was synced is there after every loss of power, and the rest sometimes, sector by sector
// and name by name.
func TestCut(t *testing.T) {
	fs := filetest.New(t)
	old, young := slices.Repeat([]byte{1}, 1024), slices.Repeat([]byte{2}, 1024)
	alone(t, func(w *mpi.Comm) {
		d, err := file.OpenDir(bg, fs.Name(), true)
		require.NoError(t, err)
		write(t, w, file.Join(fs.Name(), "named"), old, true)
		write(t, w, file.Join(fs.Name(), "removed"), old, true)
		require.NoError(t, d.Sync(bg))
		write(t, w, file.Join(fs.Name(), "named"), young, false)
		write(t, w, file.Join(fs.Name(), "unnamed"), old, true)
		require.NoError(t, d.Delete(bg, "removed"))
		require.NoError(t, d.Close(bg))
	})
	seen := map[string]map[string]bool{"named": {}, "unnamed": {}, "removed": {}}
	for seed := range uint64(100) {
		left := fs.Cut(t, rand.New(rand.NewPCG(seed, 1)))
		for name, list := range seen {
			list[string(left.Bytes(name))] = true
		}
	}
	mixed := func(a, b []byte) string { return string(slices.Concat(a[:512], b[:512])) }
	assert.Equal(t, map[string]bool{string(old): true, string(young): true, mixed(old, young): true, mixed(young, old): true}, seen["named"])
	assert.Equal(t, map[string]bool{"": true, string(old): true}, seen["unnamed"])
	assert.Equal(t, map[string]bool{"": true, string(old): true}, seen["removed"])
	killed := fs.Killed(t)
	assert.Equal(t, []string{"named", "unnamed"}, killed.Files())
	assert.Equal(t, young, killed.Bytes("named"))
}

// TestHook: steps fail, or happen by half, on the account of the one that does them.
func TestHook(t *testing.T) {
	fs := filetest.New(t)
	var mu sync.Mutex
	var kinds []filetest.Kind
	fs.Set(func(s filetest.Step) error {
		mu.Lock()
		defer mu.Unlock()
		kinds = append(kinds, s.Kind)
		if s.Kind == filetest.Write && s.Who == "half" {
			return filetest.ErrHalf
		}
		if s.Kind == filetest.Rename {
			return unix.EROFS
		}
		return nil
	})
	alone(t, func(w *mpi.Comm) {
		f, err := file.Open(bg, w, file.Join(fs.Name(), "x"), file.ModeCreate|file.ModeWronly, nil)
		require.NoError(t, err)
		_, err = f.WriteAt(filetest.As(bg, "half"), 1, mpi.Slice([]byte("abcd")))
		require.ErrorIs(t, err, mpi.ErrIO)
		assert.Equal(t, "\x00ab", string(fs.Bytes("x")))
		require.NoError(t, f.Close(bg))
		d, err := file.OpenDir(bg, fs.Name(), false)
		require.NoError(t, err)
		require.ErrorIs(t, d.Rename(bg, "x", "y"), mpi.ErrReadOnly)
		require.NoError(t, d.Close(bg))
	})
	assert.Equal(t, []filetest.Kind{filetest.Create, filetest.Write, filetest.Sync, filetest.Close, filetest.Open, filetest.Rename, filetest.Close}, kinds)
	assert.Equal(t, len(kinds), fs.Steps())
}

// TestTwoNames: between the steps of a rename a file has two names, and removing one removes it.
func TestTwoNames(t *testing.T) {
	fs := filetest.New(t)
	fs.TwoNames = true
	fs.SetBytes("old", []byte("bytes"))
	var between *filetest.FS
	fs.Set(func(s filetest.Step) error {
		if s.Kind == filetest.Unname {
			between = fs.Killed(t)
		}
		return nil
	})
	d, err := file.OpenDir(bg, fs.Name(), false)
	require.NoError(t, err)
	require.NoError(t, d.Rename(bg, "old", "new"))
	assert.Equal(t, []string{"new"}, fs.Files())
	assert.Equal(t, []string{"new", "old"}, between.Files())

	d, err = file.OpenDir(bg, between.Name(), false)
	require.NoError(t, err)
	require.NoError(t, d.Delete(bg, "old"))
	alone(t, func(w *mpi.Comm) {
		_, err := file.Open(bg, w, file.Join(between.Name(), "new"), file.ModeRdonly, nil)
		require.ErrorIs(t, err, mpi.ErrNoSuchFile)
	})
}
