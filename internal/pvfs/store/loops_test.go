package store

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
)

const (
	loopsPage = 4096 // bytes of a page
	pageFree  = 16   // the kind of pages with the free list
)

// loopsFiles is the number of files in the databases.
func loopsFiles() int {
	if testing.Short() {
		return 80
	}
	return 200
}

// pagesOf calls f for each page of a kind, with a copy of the database and the page's offset. f may change the copy; it is restored
// before the next call.
func pagesOf(good []byte, kind uint16, f func(bad []byte, at int)) {
	bad := slices.Clone(good)
	for at := 2 * loopsPage; at+loopsPage <= len(good); at += loopsPage {
		id := binary.NativeEndian.Uint64(good[at:])
		if binary.NativeEndian.Uint16(good[at+8:]) == kind && id == uint64(at/loopsPage) {
			f(bad, at)
			copy(bad, good)
		}
	}
}

// looped reports whether a store with this database is refused because of a loop. If it is not, the page must not be in use.
func looped(t *testing.T, database []byte) bool {
	t.Helper()
	dir := memory.Dir(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName), database, 0o600))
	s, err := Open(dir, with(func(*Options) {}))
	if err == nil {
		require.NoError(t, s.Close())
		return false
	}
	require.ErrorIs(t, err, syscall.EIO)
	require.ErrorContains(t, err, "is in the tree twice")
	return true
}

// loopedWithoutLeaves is looped for a large database.
func loopedWithoutLeaves(t *testing.T, database []byte) bool {
	t.Helper()
	path := filepath.Join(memory.Dir(t), databaseName)
	require.NoError(t, os.WriteFile(path, database, 0o600))
	db, err := openDB(path, true, 0, mapAheadLess, os.OpenFile)
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	tx, err := db.Begin(false)
	require.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback()) }()
	_, err = findLoops(tx, false)
	if err != nil {
		require.ErrorContains(t, err, "is in the tree twice")
	}
	return err != nil
}

// TestLoops: a database with a loop in its tree is not opened. Any page may cause the loop. Open must not follow the loop until
// memory is full.
func TestLoops(t *testing.T) {
	t.Parallel()
	from := memory.Dir(t)
	filled(t, from, loopsFiles())
	good, err := os.ReadFile(filepath.Join(from, databaseName))
	require.NoError(t, err)
	require.False(t, looped(t, good))
	require.False(t, loopedWithoutLeaves(t, good))
	branches, leaves := 0, 0
	pagesOf(good, pageBranch, func(bad []byte, at int) {
		count := int(binary.NativeEndian.Uint16(bad[at+10:]))
		last := at + pageHeaderBytes + (count-1)*pageElementBytes
		binary.NativeEndian.PutUint64(bad[last+8:], uint64(at/loopsPage))
		if found := looped(t, bad); found {
			branches++
			require.True(t, loopedWithoutLeaves(t, bad))
		} else {
			require.False(t, loopedWithoutLeaves(t, bad))
		}
	})
	// An element that claims to be a table whose root is the page itself.
	pagesOf(good, pageLeaf, func(bad []byte, at int) {
		first := at + pageHeaderBytes
		value := first + int(binary.NativeEndian.Uint32(bad[first+4:])+binary.NativeEndian.Uint32(bad[first+8:]))
		binary.NativeEndian.PutUint32(bad[first:], elementIsBucket)
		binary.NativeEndian.PutUint64(bad[value:], uint64(at/loopsPage))
		if looped(t, bad) {
			leaves++
		}
	})
	require.Positive(t, branches, "no branch was in use: the test proves nothing")
	require.Positive(t, leaves, "no leaf was in use: the test proves nothing")
}

// TestLongPages: a page whose length goes beyond the end of the file does not take all memory. The database can still be read,
// and nothing is written.
func TestLongPages(t *testing.T) {
	t.Parallel()
	const files = 80
	from := memory.Dir(t)
	filled(t, from, files)
	good, err := os.ReadFile(filepath.Join(from, databaseName))
	require.NoError(t, err)
	found := map[uint16]int{}
	for _, kind := range []uint16{pageBranch, pageLeaf, pageFree} {
		pagesOf(good, kind, func(bad []byte, at int) {
			binary.NativeEndian.PutUint32(bad[at+12:], 1<<31)
			dir := memory.Dir(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName), bad, 0o600))
			s, err := Open(dir, with(func(*Options) {}))
			require.NoError(t, err)
			defer func() { _ = s.Close() }()
			for i := range files {
				require.NoError(t, s.View(func(tx *Tx) error { _, err := tx.Lookup(crashDir, nameOf("file", i)); return err }))
			}
			if err := makeFile(s, "new"); err != nil {
				require.ErrorIs(t, err, syscall.EIO)
				require.ErrorContains(t, err, "beyond the end")
				found[kind]++
			}
		})
	}
	for _, kind := range []uint16{pageBranch, pageLeaf, pageFree} {
		require.Positive(t, found[kind], "no page of kind %d was in use: the test proves nothing", kind)
	}
}

// TestLoopsOverStaleLeaf: a page that should be a leaf is a branch, as after a lost write, and refers to the page above it. Open
// checks for that up to verifyMax.
func TestLoopsOverStaleLeaf(t *testing.T) {
	t.Parallel()
	from := memory.Dir(t)
	filled(t, from, loopsFiles())
	good, err := os.ReadFile(filepath.Join(from, databaseName))
	require.NoError(t, err)
	found := 0
	pagesOf(good, pageBranch, func(bad []byte, at int) {
		below := int(binary.NativeEndian.Uint64(bad[at+pageHeaderBytes+8:]))
		if (below+1)*loopsPage > len(bad) || binary.NativeEndian.Uint16(bad[below*loopsPage+8:]) != pageLeaf {
			return
		}
		page := bad[below*loopsPage:]
		binary.NativeEndian.PutUint16(page[8:], pageBranch)
		binary.NativeEndian.PutUint16(page[10:], 1)
		binary.NativeEndian.PutUint64(page[pageHeaderBytes+8:], uint64(at/loopsPage))
		if looped(t, bad) {
			found++
		}
	})
	require.Positive(t, found, "no such leaf was in use: the test proves nothing")
}
