package server_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestRootsGroupIsSquashed: who has root's group, wherever it stands among its groups, reads nothing by it if root is squashed.
func TestRootsGroupIsSquashed(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	f, err := root(t, c).create(c.FS.Root, "f", 0o640)
	require.NoError(t, err)
	for _, groups := range [][]uint32{{0}, {0, 5}, {5, 0}, {5}} {
		for _, squash := range []bool{false, true} {
			c.Reload(func(fs *config.Config) {
				if squash {
					fs.Export.RootSquash = networks(t, "*")
				}
			})
			a, err := from(t, c, newUser(t, c, stranger, groups...)).attr(f, proto.AttrMetafile)
			require.NoError(t, err)
			may := a.Capability.Mask&proto.MayRead != 0
			require.Equal(t, !squash && slices.Contains(groups, 0), may, "groups %v, squashed %v", groups, squash)
		}
	}
}

// TestTheRootIsNotForEverybody: a stranger makes nothing in a new file system's root directory, and moves nothing there.
func TestTheRootIsNotForEverybody(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: servers, ClosedRoot: true})
		r, s := root(t, c), newUser(t, c, stranger, stranger)
		a, err := r.attr(c.FS.Root, proto.AttrCommon)
		require.NoError(t, err)
		require.EqualValues(t, 0o755, a.Perms)
		require.EqualValues(t, os.Geteuid(), a.Owner)
		_, err = r.mkdir(c.FS.Root, "etc", 0o700)
		require.NoError(t, err)
		_, err = s.mkdir(c.FS.Root, "own", 0o755)
		require.Equal(t, proto.EACCES, err)
		_, err = s.unlink(c.FS.Root, "etc")
		require.Equal(t, proto.EACCES, err)
		lost, err := r.lookup(c.FS.Root, "lost+found")
		require.NoError(t, err)
		_, err = s.mkdir(lost, "own", 0o755)
		require.Equal(t, proto.EACCES, err)
	}
}
