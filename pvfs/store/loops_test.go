package store

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLoops: a database whose tree leads back to itself is not opened, whichever page does so, instead of being followed
// until memory is full.
func TestLoops(t *testing.T) {
	const page = 4096
	from := t.TempDir()
	filled(t, from, 200)
	good, err := os.ReadFile(filepath.Join(from, databaseName))
	require.NoError(t, err)
	branches := 0
	for at := 2 * page; at+page <= len(good); at += page {
		id := binary.NativeEndian.Uint64(good[at:])
		if binary.NativeEndian.Uint16(good[at+8:]) != pageBranch || id != uint64(at/page) {
			continue
		}
		branches++
		bad := append([]byte{}, good...)
		count := int(binary.NativeEndian.Uint16(good[at+10:]))
		last := at + pageHeaderBytes + (count-1)*pageElementBytes
		binary.NativeEndian.PutUint64(bad[last+8:], id)
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName), bad, 0o600))
		s, err := Open(dir, with(func(*Options) {}))
		if err == nil {
			require.NoError(t, s.Close()) // the page is not in use
			branches--
			continue
		}
		require.ErrorIs(t, err, syscall.EIO)
		require.ErrorContains(t, err, "is in the tree twice")
	}
	require.Positive(t, branches, "no branch was in use: the test proves nothing")
}
