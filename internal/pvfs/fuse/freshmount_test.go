package fuse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// TestReadAfterClose: a read through an open descriptor returns the data that another mount has written and closed. Size and
// mtime do not show the change: all writes have the same size, and many are in the same second.
func TestReadAfterClose(t *testing.T) {
	const rounds = 12
	for _, keep := range []time.Duration{-1, 20 * time.Millisecond} {
		t.Run(keep.String(), func(t *testing.T) {
			times, kept := client.Options{AttrTime: keep, SizeTime: keep, NameTime: keep}, fuse.Options{EntryTime: keep, AttrTime: keep}
			b := start(t, setup{client: times, mount: kept})
			other := b.again(t, times, kept)
			require.NoError(t, os.WriteFile(filepath.Join(b.work, "f"), []byte("round 00"), 0o644))
			open, err := os.Open(filepath.Join(b.work, "f"))
			require.NoError(t, err)
			defer open.Close()
			reads := func(want string) bool {
				got := make([]byte, len(want))
				_, err := open.ReadAt(got, 0)
				require.NoError(t, err)
				return string(got) == want
			}
			require.True(t, reads("round 00"))
			for i := range rounds {
				want := fmt.Sprintf("round %02d", i+1)
				overwrite(t, filepath.Join(other.work, "f"), want)
				if keep < 0 {
					assert.True(t, reads(want), want)
				} else {
					assert.Eventually(t, func() bool { return reads(want) }, far, 10*time.Millisecond, want)
				}
			}
		})
	}
}

// overwrite writes over the first bytes of a file, and closes it.
func overwrite(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
