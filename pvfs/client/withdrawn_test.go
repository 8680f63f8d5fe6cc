package client_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// TestOpenFilesAfterChmod: a file that was open when its mode changed stays usable. On other mounts only the owner can still use
// it, unless the servers do not sign.
func TestOpenFilesAfterChmod(t *testing.T) {
	for _, unsigned := range []bool{false, true} {
		c := pvfstest.Start(t, pvfstest.Options{Unsigned: unsigned, Config: func(g *config.GenOptions) { g.NoStuffing = true }})
		f := mount(t, c, client.Options{})
		require.NoError(t, f.Mkdir(ctx, "/d", 0o777))
		require.NoError(t, f.Chmod(ctx, "/d", 0o777))
		owner, same := f.As(client.Identity{UID: 5, Groups: []uint32{5}}), f.As(client.Identity{UID: 6, Groups: []uint32{6}})
		other := mount(t, c, client.Options{}).As(client.Identity{UID: 6, Groups: []uint32{6}})
		changes := mount(t, c, client.Options{}).As(client.Identity{UID: 5, Groups: []uint32{5}})
		mine, err := owner.OpenFile(ctx, "/d/f", os.O_RDWR|os.O_CREATE, 0o666)
		require.NoError(t, err)
		theirs, err := other.OpenFile(ctx, "/d/f", os.O_RDWR, 0)
		require.NoError(t, err)
		beside, err := same.OpenFile(ctx, "/d/f", os.O_RDWR, 0)
		require.NoError(t, err)
		b := make([]byte, 200_000)
		_, err = theirs.WriteAt(b, 0)
		require.NoError(t, err)

		for i := range 4 {
			who := owner
			if i > 1 {
				who = changes
			}
			require.NoError(t, who.Chmod(ctx, "/d/f", 0))
			_, err = beside.WriteAt(b, 0)
			require.NoError(t, err)
			_, err = mine.WriteAt(b, 0)
			require.NoError(t, err)
			_, err = mine.ReadAt(b, 0)
			require.NoError(t, err)
			_, err = theirs.WriteAt(b, 0)
			if unsigned {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, fs.ErrPermission)
			}
			require.NoError(t, who.Chmod(ctx, "/d/f", 0o666))
			_, err = theirs.WriteAt(b, 0)
			require.NoError(t, err, "it may be written again")
		}
		require.NoError(t, mine.Close())
		require.NoError(t, theirs.Close())
		require.NoError(t, beside.Close())
	}
}

// TestOpenFilesThatGrow: an open file whose mode was changed is also usable on servers to which it has grown since.
func TestOpenFilesThatGrow(t *testing.T) {
	f := mount(t, pvfstest.Start(t, pvfstest.Options{}), client.Options{})
	require.NoError(t, f.Chmod(ctx, "/", 0o777))
	owner, other := f.As(client.Identity{UID: 5, Groups: []uint32{5}}), f.As(client.Identity{UID: 6, Groups: []uint32{6}})
	mine, err := owner.OpenFile(ctx, "/f", os.O_RDWR|os.O_CREATE, 0o666)
	require.NoError(t, err)
	require.NoError(t, owner.Chmod(ctx, "/f", 0o666))
	theirs, err := other.OpenFile(ctx, "/f", os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, owner.Chmod(ctx, "/f", 0))
	b := make([]byte, 500_000)
	roots, err := f.OpenFile(ctx, "/f", os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = roots.WriteAt(b, 0)
	require.NoError(t, err)
	for _, file := range []*client.File{mine, theirs} {
		_, err = file.ReadAt(b, 0)
		require.NoError(t, err)
		_, err = file.WriteAt(b, 0)
		require.NoError(t, err)
	}
	for _, file := range []*client.File{mine, theirs, roots} {
		require.NoError(t, file.Close())
	}
}
