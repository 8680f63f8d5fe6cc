package pvfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// TestNames: names with the address of a server, and names below mount points.
func TestNames(t *testing.T) {
	tab := filepath.Join(t.TempDir(), "pvfs2tab")
	require.NoError(t, os.WriteFile(tab, []byte(
		"tcp://a:1/fs,tcp://b:1/fs /mnt/a pvfs2 defaults 0 0\n"+
			"tcp://c:1/other /mnt/a/b pvfs2 defaults 0 0\n"), 0o600))
	t.Setenv(tabVariable, tab)
	for name, want := range map[string][2]string{
		"tcp://host:3334/pvfs2-fs/dir/file": {"tcp://host:3334/pvfs2-fs", "dir/file"},
		"via+udp://host:1/fs/x":             {"via+udp://host:1/fs", "x"},
		"/mnt/a/dir/file":                   {"tcp://a:1/fs,tcp://b:1/fs", "/dir/file"},
		"/mnt/a/b/file":                     {"tcp://c:1/other", "/file"},
		"/mnt/a/../a/./bc":                  {"tcp://a:1/fs,tcp://b:1/fs", "/bc"},
	} {
		source, path, err := split(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, [2]string{source, path}, name)
	}
	for name, class := range map[string]errclass.Class{
		"tcp://host:3334/pvfs2-fs":  errclass.BadFile,
		"tcp://host:3334/pvfs2-fs/": errclass.BadFile,
		"tcp:///fs/file":            errclass.BadFile,
		"/mnt/a":                    errclass.NoSuchFile,
		"/mnt/ab/file":              errclass.NoSuchFile,
		"/mnt/a/../file":            errclass.NoSuchFile,
		"file":                      errclass.NoSuchFile,
	} {
		_, _, err := split(name)
		assert.ErrorIs(t, err, class, name)
	}
	t.Setenv(tabVariable, tab+".missing")
	_, _, err := split("/mnt/a/file")
	assert.ErrorIs(t, err, errclass.NoSuchFile)
}

// TestPieces: long patterns are requests of their own, and other ranges share one.
func TestPieces(t *testing.T) {
	pattern := ranges.Run{Off: 1000, Len: 4, Stride: 8, Count: blocksMin}
	l := ranges.List{ranges.One(0, 10), {Off: 20, Len: 1, Stride: 3, Count: 2}, pattern, ranges.One(1<<40, 7)}
	var got []piece
	require.NoError(t, each(l, func(p piece) (bool, error) {
		got = append(got, p)
		return true, nil
	}))
	assert.Equal(t, []piece{
		{regions: []client.Region{{Off: 0, Len: 10}, {Off: 20, Len: 1}, {Off: 23, Len: 1}}, bytes: 12},
		{run: pattern, bytes: 4 * blocksMin},
		{run: ranges.One(1<<40, 7), bytes: 7},
	}, got)
	n := 0
	require.NoError(t, each(l, func(piece) (bool, error) {
		n++
		return n < 2, nil
	}))
	assert.Equal(t, 2, n, "it ends when it is told so")

	// Lists are no longer than a request may be.
	l = nil
	for i := range int64(regionsMax + 5) {
		l = append(l, ranges.One(i*(i+10), 1))
	}
	got = nil
	require.NoError(t, each(l, func(p piece) (bool, error) {
		got = append(got, p)
		return true, nil
	}))
	require.Len(t, got, 2)
	assert.EqualValues(t, []int64{regionsMax, 5}, []int64{got[0].bytes, got[1].bytes})
}
