package disktest

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
)

// TestVolatile: synced data exists after each power loss. Other data exists sometimes, sector by sector and name by name.
func TestVolatile(t *testing.T) {
	top := t.TempDir()
	path := func(name string) string { return filepath.Join(top, name) }
	require.NoError(t, os.WriteFile(path("before"), []byte("before"), 0o600))
	d, err := NewVolatile(top)
	require.NoError(t, err)
	folder, err := d.OpenFolder(top)
	require.NoError(t, err)

	write := func(name string, flags int, b []byte, sync bool) {
		f, err := d.Open(path(name), unix.O_RDWR|flags)
		require.NoError(t, err)
		_, err = f.Pwrite(b, 0)
		require.NoError(t, err)
		if sync {
			require.NoError(t, f.Sync())
		}
		require.NoError(t, f.Close())
	}
	old, young := slices.Repeat([]byte{1}, 2*sectorBytes), slices.Repeat([]byte{2}, 2*sectorBytes)
	write("named", unix.O_CREAT, old, true)
	require.NoError(t, folder.Sync())
	write("named", 0, young, false)
	write("unnamed", unix.O_CREAT, old, true)
	require.NoError(t, d.Unlink(path("before")))

	seen := map[string]map[string]bool{}
	for seed := range uint64(100) {
		left := t.TempDir()
		require.NoError(t, d.Cut(rand.New(rand.NewPCG(seed, 1)), left))
		for _, name := range []string{"named", "unnamed", "before"} {
			b, err := os.ReadFile(filepath.Join(left, name))
			if err != nil {
				require.ErrorIs(t, err, os.ErrNotExist)
			}
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][string(b)] = true
		}
	}
	mixed := slices.Concat(old[:sectorBytes], young[:sectorBytes])
	require.Equal(t, map[string]bool{
		string(old): true, string(young): true, string(mixed): true, string(slices.Concat(young[:sectorBytes], old[:sectorBytes])): true,
	}, seen["named"])
	require.Equal(t, map[string]bool{"": true, string(old): true}, seen["unnamed"])
	require.Equal(t, map[string]bool{"": true, "before": true}, seen["before"])
	require.NoError(t, folder.Close())
}

// TestPlan: a call fails, moves fewer bytes, or takes effect and fails, as the plan says.
func TestPlan(t *testing.T) {
	top := t.TempDir()
	below, err := NewVolatile(top)
	require.NoError(t, err)
	d := &Disk{Below: below}
	path := filepath.Join(top, "file")
	f, err := d.Open(path, unix.O_RDWR|unix.O_CREAT)
	require.NoError(t, err)
	folder, err := d.OpenFolder(top)
	require.NoError(t, err)
	plan := func(of Op, err error) {
		d.Set(func(op Op, _ string) error {
			if op == of {
				return err
			}
			return nil
		})
	}
	moves := func(n int, err error) func(int, error) {
		return func(got int, failed error) {
			t.Helper()
			require.ErrorIs(t, failed, err)
			require.Equal(t, n, got)
		}
	}
	plan(Write, ErrShort)
	moves(2, nil)(f.Pwrite([]byte("abc"), 0))
	moves(1, nil)(f.Pwrite([]byte("c"), 2))
	plan(Read, ErrShort)
	moves(2, nil)(f.Pread(make([]byte, 3), 0))
	plan(Write, unix.ENOSPC)
	moves(0, unix.ENOSPC)(f.Pwrite([]byte("d"), 3))

	plan(Sync, unix.EIO)
	require.ErrorIs(t, f.Sync(), unix.EIO)
	require.Empty(t, below.files[path].synced.data)
	plan(Synced, unix.EIO)
	require.ErrorIs(t, f.Sync(), unix.EIO)
	require.Equal(t, "abc", string(below.files[path].synced.data))
	require.ErrorIs(t, folder.Sync(), unix.EIO)
	require.True(t, below.files[path].named)

	d.Set(nil)
	moves(1, nil)(f.Pwrite([]byte("d"), 3))
	require.NoError(t, f.Sync())
	require.NoError(t, errors.Join(folder.Close(), f.Close()))
}

// TestCommitted: data that the database itself synced is on the disk.
func TestCommitted(t *testing.T) {
	top := t.TempDir()
	below, err := NewVolatile(top)
	require.NoError(t, err)
	var d disk.Disk = &Disk{Below: below}
	f, err := d.OpenDatabase(filepath.Join(top, "db"), os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString("page")
	require.NoError(t, err)
	require.Empty(t, below.files[f.Name()].synced.data)
	d.Committed(f)
	require.Equal(t, "page", string(below.files[f.Name()].synced.data))
	require.NoError(t, f.Close())
}
