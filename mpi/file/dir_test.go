package file_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/file"
)

// TestDir: a directory is made, and its files are listed, renamed and removed.
func TestDir(t *testing.T) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			name := p.make(t)("dir")
			_, err := file.OpenDir(background, name, false)
			require.ErrorIs(t, err, mpi.ErrNoSuchFile)
			d, err := file.OpenDir(background, name, true)
			require.NoError(t, err)
			list := func() []string {
				names, err := d.Names(background)
				require.NoError(t, err)
				slices.Sort(names)
				return names
			}
			assert.Empty(t, list())
			sub, err := file.OpenDir(background, file.Join(name, "sub"), true)
			require.NoError(t, err)
			require.NoError(t, sub.Close(background))
			ranks(t, 1, func(t *testing.T, w *mpi.Comm) {
				for _, one := range []string{"a", "b"} {
					open(t, w, file.Join(name, one), file.ModeCreate|file.ModeWronly, nil, func(f *file.File) {
						_, err := f.WriteAt(background, 0, buf([]byte(one)))
						require.NoError(t, err)
					})
				}
			})
			assert.Equal(t, []string{"a", "b"}, list(), "without directories")
			require.NoError(t, d.Rename(background, "a", "c"))
			assert.Equal(t, []string{"b", "c"}, list())
			require.NoError(t, d.Rename(background, "b", "c"), "it is replaced")
			require.ErrorIs(t, d.Rename(background, "b", "d"), mpi.ErrNoSuchFile)
			assert.Equal(t, []string{"c"}, list())
			require.NoError(t, d.Sync(background))
			ranks(t, 1, func(t *testing.T, w *mpi.Comm) {
				open(t, w, file.Join(name+"/", "c"), file.ModeRdonly, nil, func(f *file.File) {
					got := make([]byte, 2)
					st, err := f.ReadAt(background, 0, buf(got))
					require.NoError(t, err)
					assert.Equal(t, "b", string(got[:st.Bytes]))
				})
			})
			for _, bad := range []string{"", ".", "..", "sub/x", "x\x00"} {
				require.ErrorIs(t, d.Delete(background, bad), mpi.ErrBadFile, "%q", bad)
				require.ErrorIs(t, d.Rename(background, "c", bad), mpi.ErrBadFile, "%q", bad)
			}
			_, err = file.OpenDir(background, file.Join(name, "c"), true)
			require.ErrorIs(t, err, mpi.ErrBadFile, "it is a file")
			again, err := file.OpenDir(background, name, true)
			require.NoError(t, err, "it exists")
			require.NoError(t, again.Delete(background, "c"))
			require.ErrorIs(t, again.Delete(background, "c"), mpi.ErrNoSuchFile)
			require.NoError(t, again.Close(background))
			assert.Empty(t, list())
			require.NoError(t, d.Close(background))
		})
	}
	_, err := file.OpenDir(background, "", true)
	require.ErrorIs(t, err, mpi.ErrBadFile)
}
