package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// filled makes a store with many small objects, and returns how many files it has.
func filled(t *testing.T, dir string, files int) { filledBy(t, dir, files, with(func(*Options) {})) }

func filledBy(t *testing.T, dir string, files int, opts Options) {
	s, err := Open(dir, opts)
	require.NoError(t, err)
	require.NoError(t, s.Update(func(tx *Tx) error {
		return tx.Insert(crashDir, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
	}))
	for i := range files {
		require.NoError(t, makeFile(s, nameOf("file", i)))
	}
	require.NoError(t, s.Close())
}

// TestDamage flips bits and replaces pages of the database. The result must always be an error.
func TestDamage(t *testing.T) {
	t.Parallel()
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 6))
	from := memory.Dir(t)
	filled(t, from, 120)
	good, err := os.ReadFile(filepath.Join(from, databaseName))
	require.NoError(t, err)
	pages := len(bytes.TrimRight(good, "\x00"))/4096 + 1
	good = good[:4096*pages]
	rounds := 32
	if testing.Short() {
		rounds = 10
	}
	used := 0
	for round := range rounds {
		bad := append([]byte{}, good...)
		switch round % 4 {
		case 0: // a page of zeros
			page := rng.IntN(pages)
			clear(bad[4096*page : 4096*(page+1)])
		case 1: // a page from another place
			a, b := rng.IntN(pages), rng.IntN(pages)
			copy(bad[4096*a:4096*(a+1)], good[4096*b:])
		case 2: // single bits, in used pages
			for range 20 {
				bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
			}
		case 3: // the end is missing
			bad = bad[:rng.IntN(pages)*4096+rng.IntN(2)*100]
		}
		dir := memory.Dir(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName), bad, 0o600))
		if useDamaged(t, dir) {
			used++
		}
	}
	t.Logf("%d of %d could be opened", used, rounds)
}

// TestLongKeyInBranch: a key in a branch seems to go beyond the database. bbolt's check would read outside the mapping.
func TestLongKeyInBranch(t *testing.T) {
	t.Parallel()
	from := memory.Dir(t)
	filled(t, from, 400)
	path := filepath.Join(from, databaseName)
	compact(t, path)
	bad, err := os.ReadFile(path)
	require.NoError(t, err)
	branches := 0
	for page := 2; page < len(bad)/4096; page++ {
		if b := bad[page*4096:]; binary.NativeEndian.Uint64(b) == uint64(page) && binary.NativeEndian.Uint16(b[8:]) == pageBranch {
			binary.NativeEndian.PutUint32(b[pageHeaderBytes+pageElementBytes+4:], 1<<30)
			branches++
		}
	}
	require.Positive(t, branches)
	require.NoError(t, os.WriteFile(path, bad, 0o600))
	s, err := Open(from, with(func(*Options) {}))
	require.NoError(t, err)
	require.ErrorIs(t, s.broken, syscall.EIO)
	_, err = s.Check(false)
	require.ErrorIs(t, err, syscall.EIO)
	require.ErrorIs(t, makeFile(s, "new"), syscall.EIO)
	_ = s.Close() // it is damaged
}

// TestNoWritesBesideDamage: if the database is damaged, data of files can be read, but not changed.
func TestNoWritesBesideDamage(t *testing.T) {
	w := newSumsWorld(t, 7, nil)
	for len(w.data) == 0 {
		w.change()
	}
	require.NoError(t, w.s.Close())
	flip(t, filepath.Join(w.dir, databaseName), 16*8) // in a meta page
	w.open()
	require.ErrorIs(t, w.s.broken, syscall.EIO)
	d := &Data{files: w.s.files, file: &file{h: w.h}} // like one that a server has open
	got := make([]byte, len(w.data))
	_, err := d.ReadAt(got, 0)
	require.NoError(t, err)
	require.Equal(t, w.data, got)
	_, err = d.WriteAt([]byte("x"), 0)
	require.ErrorIs(t, err, syscall.EROFS)
	require.ErrorIs(t, d.Truncate(1), syscall.EROFS)
	require.NoError(t, d.file.close())
}

// TestDamagedStoreIsRead: intact data can be read, and nothing is changed.
func TestDamagedStoreIsRead(t *testing.T) {
	const files = 120
	from := memory.Dir(t)
	filled(t, from, files)
	good, err := os.ReadFile(filepath.Join(from, databaseName))
	require.NoError(t, err)
	pages := len(bytes.TrimRight(good, "\x00"))/4096 + 1
	partly := 0
	for page := 2; page < pages; page++ {
		bad := append([]byte{}, good[:4096*pages]...)
		clear(bad[4096*page : 4096*(page+1)])
		dir := memory.Dir(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName), bad, 0o600))
		s, err := Open(dir, with(func(*Options) {}))
		if err != nil {
			require.ErrorIs(t, err, syscall.EIO)
			continue
		}
		read := 0
		for i := range files {
			err := s.View(func(tx *Tx) error { _, err := tx.Lookup(crashDir, nameOf("file", i)); return err })
			if err == nil {
				read++
			}
		}
		err = makeFile(s, "new")
		if err != nil {
			require.ErrorIs(t, err, syscall.EIO)
			if read > 0 {
				partly++
			}
		} else {
			require.Equal(t, files, read, "the page was not in use")
		}
		_ = s.Close()
		s, err = Open(dir, with(func(*Options) {})) // the store was closed, so it is free
		require.NoError(t, err)
		_ = s.Close()
	}
	require.NotZero(t, partly)
}

// useDamaged uses a store in several ways. Damage may only cause errors.
func useDamaged(t *testing.T, dir string) bool {
	s, err := Open(dir, with(func(*Options) {}))
	if err != nil {
		return false
	}
	defer func() { _ = s.Close() }()
	_, _ = s.Check(false)
	for i := range 130 {
		name := nameOf("file", i)
		err := s.View(func(tx *Tx) error {
			h, err := tx.Lookup(crashDir, name)
			if err == nil {
				_, err = tx.Get(h)
			}
			return err
		})
		assertErrno(t, err)
		if i%2 == 0 {
			err = dropFile(s, name)
		} else {
			err = makeFile(s, name)
		}
		assertErrno(t, err)
	}
	_, _ = s.Check(true)
	return true
}

func assertErrno(t *testing.T, err error) {
	if errno := syscall.Errno(0); err != nil {
		assert.ErrorAs(t, err, &errno)
	}
}

// TestCheckMends damages records one by one, without the store's knowledge.
func TestCheckMends(t *testing.T) {
	t.Parallel()
	const files = 5
	put := func(table int, key, record []byte) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error { return tx.Bucket([]byte(tableNames[table])).Put(key, record) }
	}
	some := func(table int, what func(b *bolt.Bucket, key, record []byte) error) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(tableNames[table]))
			key, record := b.Cursor().First()
			return what(b, append([]byte{}, key...), append([]byte{}, record...))
		}
	}
	spoil := func(b *bolt.Bucket, key, record []byte) error {
		record[1] ^= 1
		return b.Put(key, record)
	}
	lose := func(b *bolt.Bucket, key, _ []byte) error { return b.Delete(key) }
	dirKey := handleKey(crashDir)
	for name, harm := range map[string]func(*bolt.Tx) error{
		"object spoilt":        some(tObjects, spoil),
		"object lost":          some(tObjects, lose),
		"object's key":         put(tObjects, []byte("abc"), []byte("x")),
		"count spoilt":         some(tDirs, spoil),
		"count lost":           some(tDirs, lose),
		"count wrong":          put(tDirs, dirKey, sealDir(dirKey, DirState{Count: 77})),
		"count of nothing":     put(tDirs, handleKey(9), sealDir(handleKey(9), DirState{Count: 1})),
		"entry spoilt":         some(tEntries, spoil),
		"entry lost":           some(tEntries, lose),
		"entry in a wrong row": put(tEntries, slotKey(crashDir, slotTop), sealNamed(slotKey(crashDir, slotTop), "a", handleValue(3))),
		"entry of nothing":     put(tEntries, slotKey(9, slotTop), sealNamed(slotKey(9, slotTop), "a", handleValue(3))),
		"xattr spoilt":         some(tXattrs, spoil),
		"xattr's key":          put(tXattrs, []byte("abc"), []byte("x")),
		"record spoilt":        put(tRecords, []byte("abc"), []byte("x")),
		"pool's key":           put(tPools, []byte("abc"), []byte("x")),
		"mark of the living": func(tx *bolt.Tx) error {
			key, _ := tx.Bucket([]byte(tableNames[tObjects])).Cursor().First()
			return tx.Bucket([]byte(tableNames[tDead])).Put(key, []byte{})
		},
		"dirdata lost":   func(tx *bolt.Tx) error { return tx.Bucket([]byte(tableNames[tObjects])).Delete(dirKey) },
		"dirdata spoilt": put(tObjects, dirKey, []byte("x")),
	} {
		t.Run(name, func(t *testing.T) {
			dir := memory.Dir(t)
			filled(t, dir, files)
			s := open(t, dir, with(func(*Options) {}))
			require.NoError(t, s.db.Update(harm))
			problems, err := s.Check(false)
			require.NoError(t, err)
			require.NotEmpty(t, problems)
			mended, err := s.Check(true)
			require.NoError(t, err)
			for _, p := range mended {
				assert.True(t, p.Repaired, p)
			}
			rest, err := s.Check(true) // files of lost objects appear only now
			require.NoError(t, err)
			for _, p := range rest {
				assert.True(t, p.Repaired, p)
			}
			requireClean(t, s)
			require.NoError(t, s.Close())
			s = open(t, dir, with(func(*Options) {}))
			requireClean(t, s)
		})
	}
}

func TestCheckFindsFilesWithoutObject(t *testing.T) {
	dir := memory.Dir(t)
	filled(t, dir, 2)
	s := open(t, dir, with(func(*Options) {}))
	path := s.files.path(0x1234)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("data"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, dataName, "notes"), []byte("data"), 0o600))
	problems, err := s.Check(true)
	require.NoError(t, err)
	require.Len(t, problems, 2)
	requireClean(t, s)
	b, err := os.ReadFile(filepath.Join(dir, orphansName, filepath.Base(path)))
	require.NoError(t, err)
	assert.Equal(t, "data", string(b))
}

// TestDatabaseFull: the database reaches its limit. Creates fail, nothing is lost, and removals make room again.
func TestDatabaseFull(t *testing.T) {
	dir := memory.Dir(t)
	s := open(t, dir, with(func(o *Options) { o.metaBytesMax = 128 << 10 }))
	useFull(t, s)
	require.NoError(t, s.Close())
	s = open(t, dir, with(func(*Options) {}))
	requireClean(t, s)
}

func useFull(t *testing.T, s *Store) {
	require.NoError(t, s.Update(func(tx *Tx) error {
		return tx.Insert(crashDir, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
	}))
	made := 0
	var err error
	for ; made < 100000; made++ {
		if err = makeFile(s, nameOf("file", made)); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NotZero(t, made)
	require.NoError(t, s.View(func(tx *Tx) error {
		for i := range made {
			if _, err := tx.Lookup(crashDir, nameOf("file", i)); err != nil {
				return err
			}
		}
		return nil
	}))
	for i := range made {
		require.NoError(t, dropFile(s, nameOf("file", i)), "%d of %d", i, made)
	}
	if err := dropFile(s, nameOf("file", made)); !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err) // there was no room for its data
	}
	require.NoError(t, makeFile(s, "again"))
	requireClean(t, s)
}

// TestFullDisk does the same with a real file system of a few megabytes.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	need.Unless(t, need.Mount, syscall.Mount("none", dir, "tmpfs", 0, "size=3m"))
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	s, err := Open(filepath.Join(dir, "s"), with(func(*Options) {}))
	require.NoError(t, err)
	useFull(t, s)
	// Now with data of datafiles.
	h := create(t, s, DataSpace, proto.TypeDatafile)
	_, err = s.WriteAt(h, make([]byte, 4<<20), 0)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.Delete(h) }))
	require.NoError(t, makeFile(s, "and again"))
	require.NoError(t, s.Close())
	s, err = Open(filepath.Join(dir, "s"), with(func(*Options) {}))
	require.NoError(t, err)
	requireClean(t, s)
	require.NoError(t, s.Close())

	// And with a disk that cannot be written at all.
	require.NoError(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""), "a closed store holds nothing open")
	_, err = Open(filepath.Join(dir, "s"), with(func(*Options) {}))
	require.ErrorIs(t, err, syscall.EROFS)
	_, err = Open(filepath.Join(dir, "new"), with(func(*Options) {}))
	require.ErrorIs(t, err, syscall.EROFS)
	s, err = Open(filepath.Join(dir, "s"), Options{ReadOnly: true})
	require.NoError(t, err, "but read")
	requireClean(t, s)
	require.NoError(t, s.View(func(tx *Tx) error {
		e, err := tx.Lookup(crashDir, "again")
		if err != nil {
			return err
		}
		o, err := tx.Get(e)
		require.NoError(t, err)
		d, err := s.OpenData(o.Datafiles[0])
		require.NoError(t, err)
		buf := make([]byte, 9)
		n, err := d.ReadAt(buf, 0)
		assert.Equal(t, "again", string(buf[:n]))
		_, werr := d.WriteAt([]byte("x"), 0)
		require.Error(t, werr)
		return errors.Join(err, d.Close())
	}))
	require.NoError(t, s.Close())
}

// TestDiskFullOfNames: the removal of names makes room for names, although the database's file does not shrink.
func TestDiskFullOfNames(t *testing.T) {
	dir := t.TempDir()
	size := "size=10m"
	if testing.Short() {
		size = "size=5m"
	}
	need.Unless(t, need.Mount, syscall.Mount("none", dir, "tmpfs", 0, size))
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	s, err := Open(filepath.Join(dir, "s"), with(func(*Options) {}))
	require.NoError(t, err)
	require.NoError(t, s.Update(func(tx *Tx) error {
		return tx.Insert(crashDir, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
	}))
	const batch = 500
	change := func(i int, f func(tx *Tx, name string, h proto.Handle) error) error {
		return s.Update(func(tx *Tx) error {
			for j := i * batch; j < (i+1)*batch; j++ {
				if err := f(tx, fmt.Sprintf("%0200d", j), proto.Handle(j+1)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	link := func(tx *Tx, name string, h proto.Handle) error { return tx.Link(crashDir, name, h) }
	made := 0
	for err = error(nil); err == nil; made++ {
		require.Less(t, made, 1000)
		err = change(made, link)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	made--
	for i := range made {
		require.NoError(t, change(i, func(tx *Tx, name string, _ proto.Handle) error { _, err := tx.Unlink(crashDir, name); return err }))
	}
	available, _, err := s.Space()
	require.NoError(t, err)
	require.Less(t, available, int64(2*reserveBytes), "the disk is as full as it was")
	for i := range made / 4 {
		require.NoError(t, change(i, link))
	}
	requireClean(t, s)
	require.NoError(t, s.Close())
}

func BenchmarkStore(b *testing.B) {
	for _, durable := range []bool{true, false} {
		for _, clients := range []int{1, 16} {
			name := map[bool]string{true: "durable", false: "nosync"}[durable]
			b.Run(fmt.Sprintf("%s/%d", name, clients), func(b *testing.B) { benchmark(b, durable, clients) })
		}
	}
}
