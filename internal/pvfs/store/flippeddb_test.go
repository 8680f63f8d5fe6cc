package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
)

// contents are all names, objects and extended attributes of a store made by filled, as text. It reads them by key and by scan,
// and leaves out what it does not find. The error is the first of a read.
func contents(s *Store, files int) (all map[string]string, err error) {
	all = make(map[string]string)
	return all, s.View(func(tx *Tx) error {
		for i := range files {
			name := nameOf("file", i)
			h, err := tx.Lookup(crashDir, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			o, err := tx.Get(h)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("object %d: %w", h, err)
			}
			all[name] = fmt.Sprintf("%d %+v", h, o)
		}
		n := 0
		for e, err := range tx.AllEntries(crashDir) {
			if err != nil {
				return err
			}
			n++
			all["entry "+e.Name] = fmt.Sprint(e.Handle)
		}
		all["entries"] = fmt.Sprint(n)
		return nil
	})
}

// compact rewrites a database so that no page is unused.
func compact(t *testing.T, path string) {
	t.Helper()
	src, err := bolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	dst, err := bolt.Open(path+".compact", 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, bolt.Compact(dst, src, 0))
	require.NoError(t, errors.Join(src.Close(), dst.Close(), os.Rename(path+".compact", path)))
}

// TestFlippedBitsInDatabase: a bit is flipped. Then the database is refused, or each read returns the written data or an error,
// or a scrub finds it. A flipped bit in an unused place is harmless.
func TestFlippedBitsInDatabase(t *testing.T) {
	t.Parallel()
	const files = 120
	from := memory.Dir(t)
	filledBy(t, from, files, with(func(o *Options) {
		o.Random, o.Clock = rand.NewChaCha8([32]byte{23}), func() time.Time { return time.Unix(1e9, 0) }
	}))
	compact(t, filepath.Join(from, databaseName))
	good, err := os.ReadFile(filepath.Join(from, databaseName))
	require.NoError(t, err)
	used := len(bytes.TrimRight(good, "\x00"))
	s, err := Open(from, with(func(*Options) {}))
	require.NoError(t, err)
	want, err := contents(s, files)
	require.NoError(t, err)
	require.Len(t, want, 2*files+1)
	require.NoError(t, s.Close())

	flips := flipsFull
	if testing.Short() {
		flips = 250
	}
	rng := rand.New(rand.NewPCG(1, 23))
	found := []int{19 * 8, 57767*8 + 5} // a meta page, after which an older state was served; a table in a leaf that referred to itself, after which memory ran out
	var refused, failed, scrubbed, harmless int
	for i := range flips {
		dir := memory.Dir(t)
		bad := append([]byte{}, good...)
		bit := rng.IntN(used * 8)
		if i < len(found) {
			bit = found[i]
		}
		bad[bit/8] ^= 1 << (bit % 8)
		require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName), bad, 0o600))
		what := fmt.Sprintf("flip %d: bit %d of byte %d", i, bit%8, bit/8)
		s, err := Open(dir, with(func(*Options) {}))
		if err != nil {
			require.ErrorIs(t, err, syscall.EIO, what)
			refused++
			require.NoError(t, os.RemoveAll(dir))
			continue
		}
		got, err := contents(s, files)
		damaged := 0
		scrub := s.Scrub(context.Background(), ScrubOptions{Found: func(d Damage) {
			require.Zero(t, d.Datafile, what)
			damaged++
		}})
		switch {
		case err != nil:
			require.ErrorIs(t, err, syscall.EIO, what)
			failed++
		case damaged > 0 || scrub != nil || s.broken != nil:
			scrubbed++
		default:
			require.Equal(t, want, got, what)
			harmless++
		}
		for key, value := range got {
			if key != "entries" {
				require.Equal(t, want[key], value, "%s: what is read is what was written, or an error", what)
			}
		}
		_ = s.Close() // it may be damaged
		require.NoError(t, os.RemoveAll(dir))
	}
	t.Logf("%d flips: %d not opened, %d found by a read, %d by a scrub, %d harmless", flips, refused, failed, scrubbed, harmless)
	require.Positive(t, failed+scrubbed)
}
