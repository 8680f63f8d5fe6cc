package store

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
	}
	goleak.VerifyTestMain(m)
}

var ranges = Options{
	Meta: []proto.Extent{{First: 3, Last: 1 << 61}},
	Data: []proto.Extent{{First: 1<<61 + 1, Last: 1 << 62}},
}

// with returns the tests' options after a change.
func with(f func(o *Options)) Options {
	o := ranges
	o.NoSyncMeta = true
	f(&o)
	return o
}

func open(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	s, err := Open(dir, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func fresh(t testing.TB) *Store { return open(t, memory.Dir(t), with(func(*Options) {})) }

func create(t testing.TB, s *Store, space Space, typ proto.ObjType) (h proto.Handle) {
	t.Helper()
	require.NoError(t, s.Update(func(tx *Tx) (err error) {
		h, err = tx.Create(space, Object{Attr: proto.Attr{Type: typ, Mask: proto.AttrCommon}})
		return err
	}))
	return h
}

func requireClean(t testing.TB, s *Store) {
	t.Helper()
	problems, err := s.Check(false)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestObjectsAreCounted(t *testing.T) {
	s := fresh(t)
	create(t, s, MetaSpace, proto.TypeMetafile)
	create(t, s, MetaSpace, proto.TypeDirectory)
	create(t, s, DataSpace, proto.TypeDatafile)
	st := s.Stats()
	assert.EqualValues(t, 1, st.Objects[proto.TypeDatafile])
	assert.EqualValues(t, 1, st.DataHandlesUsed)
	assert.EqualValues(t, 2, st.MetaHandlesUsed)
	assert.EqualValues(t, 1<<61-2, st.MetaHandles)
	requireClean(t, s)
}

func TestHandlesAreUsedAgainAfterAllOthers(t *testing.T) {
	dir := memory.Dir(t)
	small := with(func(o *Options) { o.Meta, o.Data = nil, []proto.Extent{{First: 0, Last: 4}, {First: 10, Last: 11}} })
	s := open(t, dir, small)
	var got []proto.Handle
	for range 4 {
		got = append(got, create(t, s, DataSpace, proto.TypeDatafile))
	}
	assert.Equal(t, []proto.Handle{11, 10, 4, 3}, got)
	require.NoError(t, s.Update(func(tx *Tx) error { return tx.Delete(4) }))
	require.NoError(t, s.Close())
	s = open(t, dir, small)
	assert.Equal(t, proto.Handle(2), create(t, s, DataSpace, proto.TypeDatafile))
	assert.Equal(t, proto.Handle(1), create(t, s, DataSpace, proto.TypeDatafile))
	assert.Equal(t, proto.Handle(4), create(t, s, DataSpace, proto.TypeDatafile))
	err := s.Update(func(tx *Tx) error {
		_, err := tx.Create(DataSpace, Object{Attr: proto.Attr{Type: proto.TypeDatafile}})
		return err
	})
	require.ErrorIs(t, err, syscall.ENOSPC)
	err = s.Update(func(tx *Tx) error {
		_, err := tx.Create(MetaSpace, Object{Attr: proto.Attr{Type: proto.TypeMetafile}})
		return err
	})
	require.ErrorIs(t, err, syscall.ENOSPC, "no range at all")
	requireClean(t, s)
}

func TestRangesMayChange(t *testing.T) {
	dir := memory.Dir(t)
	s := open(t, dir, ranges)
	h := create(t, s, MetaSpace, proto.TypeMetafile)
	require.NoError(t, s.Close())
	s = open(t, dir, Options{})
	next := create(t, s, MetaSpace, proto.TypeMetafile)
	assert.Less(t, next, h, "as before")
	require.NoError(t, s.Close())
	s = open(t, dir, Options{Meta: []proto.Extent{{First: 3, Last: h}}})
	assert.EqualValues(t, 2, s.Stats().MetaHandlesUsed, "counted anew")
	other := create(t, s, MetaSpace, proto.TypeMetafile)
	assert.Less(t, other, h)
	assert.NotEqual(t, next, other)
	requireClean(t, s)
	_, err := Open(memory.Dir(t), Options{Meta: []proto.Extent{{First: 9, Last: 3}}})
	require.ErrorIs(t, err, syscall.EINVAL)
}

func TestErrors(t *testing.T) {
	s := fresh(t)
	file, dir := create(t, s, MetaSpace, proto.TypeMetafile), create(t, s, MetaSpace, proto.TypeDirdata)
	data := create(t, s, DataSpace, proto.TypeDatafile)
	long := string(make([]byte, 256))
	for name, c := range map[string]struct {
		want error
		f    func(tx *Tx) error
	}{
		"get":           {fs.ErrNotExist, func(tx *Tx) error { _, err := tx.Get(1); return err }},
		"put":           {fs.ErrNotExist, func(tx *Tx) error { return tx.Put(1, Object{}) }},
		"put type":      {syscall.EINVAL, func(tx *Tx) error { return tx.Put(data, Object{Attr: proto.Attr{Type: 1}}) }},
		"delete":        {fs.ErrNotExist, func(tx *Tx) error { return tx.Delete(1) }},
		"insert":        {fs.ErrExist, func(tx *Tx) error { return tx.Insert(file, Object{Attr: proto.Attr{Type: 1}}) }},
		"insert zero":   {syscall.EINVAL, func(tx *Tx) error { return tx.Insert(0, Object{Attr: proto.Attr{Type: 1}}) }},
		"insert type":   {syscall.EINVAL, func(tx *Tx) error { return tx.Insert(9, Object{Attr: proto.Attr{Type: 3}}) }},
		"link nowhere":  {fs.ErrNotExist, func(tx *Tx) error { return tx.Link(1, "a", file) }},
		"link in file":  {syscall.ENOTDIR, func(tx *Tx) error { return tx.Link(file, "a", file) }},
		"link empty":    {syscall.EINVAL, func(tx *Tx) error { return tx.Link(dir, "", file) }},
		"link dot":      {syscall.EINVAL, func(tx *Tx) error { return tx.Link(dir, "..", file) }},
		"link slash":    {syscall.EINVAL, func(tx *Tx) error { return tx.Link(dir, "a/b", file) }},
		"link zero":     {syscall.EINVAL, func(tx *Tx) error { return tx.Link(dir, "a\x00b", file) }},
		"link long":     {syscall.ENAMETOOLONG, func(tx *Tx) error { return tx.Link(dir, long, file) }},
		"link twice":    {fs.ErrExist, func(tx *Tx) error { return errors.Join(tx.Link(dir, "a", 5), tx.Link(dir, "a", 6)) }},
		"unlink":        {fs.ErrNotExist, func(tx *Tx) error { _, err := tx.Unlink(dir, "no"); return err }},
		"relink":        {fs.ErrNotExist, func(tx *Tx) error { _, err := tx.Relink(dir, "no", 5); return err }},
		"lookup":        {fs.ErrNotExist, func(tx *Tx) error { _, err := tx.Lookup(dir, "no"); return err }},
		"not empty":     {syscall.ENOTEMPTY, func(tx *Tx) error { return errors.Join(tx.Link(dir, "a", 5), tx.Delete(dir)) }},
		"entries":       {fs.ErrNotExist, func(tx *Tx) error { _, _, err := tx.Entries(1, 0, 5); return err }},
		"entries token": {syscall.EINVAL, func(tx *Tx) error { _, _, err := tx.Entries(dir, 77, 5); return err }},
		"entries big":   {syscall.EINVAL, func(tx *Tx) error { _, _, err := tx.Entries(dir, 1<<48|1<<47, 5); return err }},
		"xattr":         {syscall.ENODATA, func(tx *Tx) error { _, err := tx.Xattr(file, "user.x"); return err }},
		"xattr nobody":  {fs.ErrNotExist, func(tx *Tx) error { return tx.SetXattr(1, "user.x", nil, 0) }},
		"xattr new":     {syscall.ENODATA, func(tx *Tx) error { return tx.SetXattr(file, "user.x", nil, XattrReplace) }},
		"xattr big":     {syscall.EINVAL, func(tx *Tx) error { return tx.SetXattr(file, "user.x", make([]byte, 8193), 0) }},
		"del xattr":     {syscall.ENODATA, func(tx *Tx) error { return tx.DelXattr(file, "user.x") }},
		"record":        {syscall.EINVAL, func(tx *Tx) error { return tx.SetRecord("", []byte("x")) }},
		"pool":          {syscall.EINVAL, func(tx *Tx) error { return tx.PoolPut("a\x00b", 1) }},
		"insert dead": {syscall.EBUSY, func(tx *Tx) error {
			return errors.Join(tx.Delete(data), tx.Insert(data, Object{Attr: proto.Attr{Type: 2}}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.Stats()
			require.ErrorIs(t, s.Update(c.f), c.want)
			after := s.Stats()
			assert.Equal(t, before, after)
			require.Error(t, s.View(c.f), "and no change in a View")
		})
	}
	requireClean(t, s)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.View(func(*Tx) error { return nil }), fs.ErrClosed)
	require.ErrorIs(t, s.Update(func(*Tx) error { return nil }), fs.ErrClosed)
	_, err := s.ReadAt(data, nil, 0)
	require.ErrorIs(t, err, fs.ErrClosed)
	require.NoError(t, s.Close(), "twice")
}

// TestNamesOfOneHash puts all names into one slot, the worst case.
func TestNamesOfOneHash(t *testing.T) {
	s := fresh(t)
	s.slotMask = 0
	d := create(t, s, MetaSpace, proto.TypeDirdata)
	link := func(name string, h proto.Handle) error {
		return s.Update(func(tx *Tx) error { return tx.Link(d, name, h) })
	}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for i, name := range names {
		require.NoError(t, link(name, proto.Handle(i)))
	}
	require.ErrorIs(t, link("i", 9), syscall.ENOSPC)
	require.ErrorIs(t, link("h", 9), fs.ErrExist)
	require.NoError(t, s.Update(func(tx *Tx) error { _, err := tx.Unlink(d, "c"); return err }))
	require.ErrorIs(t, link("h", 9), fs.ErrExist, "behind the gap")
	require.NoError(t, link("i", 9))
	require.NoError(t, s.View(func(tx *Tx) error {
		var got []string
		for token := uint64(proto.TokenStart); token != proto.TokenEnd; {
			entries, next, err := tx.Entries(d, token, 1)
			require.NoError(t, err)
			require.Len(t, entries, 1, "never more than asked for")
			got, token = append(got, entries[0].Name), next
		}
		assert.Equal(t, []string{"a", "b", "i", "d", "e", "f", "g", "h"}, got)
		entries, next, err := tx.Entries(d, 1<<48-1, 10)
		assert.NoError(t, err)
		assert.Empty(t, entries, "nothing is behind the last token")
		assert.EqualValues(t, proto.TokenEnd, next)
		return nil
	}))
	requireClean(t, s)
}

// TestScanWhileEntriesComeAndGo: an entry that exists throughout is returned once.
func TestScanWhileEntriesComeAndGo(t *testing.T) {
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	s := fresh(t)
	s.slotMask = 0xff // so that some have the same hash
	d := create(t, s, MetaSpace, proto.TypeDirdata)
	var stay []string
	require.NoError(t, s.Update(func(tx *Tx) error {
		for i := range 300 {
			name := nameOf("stay", i)
			switch err := tx.Link(d, name, proto.Handle(i+1)); {
			case err == nil:
				stay = append(stay, name)
			case !errors.Is(err, syscall.ENOSPC): // nine names with one hash; that depends on the store's salt
				return err
			}
		}
		return nil
	}))
	require.Greater(t, len(stay), 200)
	seen := map[string]int{}
	come := 0
	for token := uint64(0); token != proto.TokenEnd; {
		require.NoError(t, s.View(func(tx *Tx) error {
			entries, next, err := tx.Entries(d, token, 1+rng.IntN(20))
			require.NoError(t, err)
			require.Less(t, next, uint64(1)<<48)
			for _, e := range entries {
				seen[e.Name]++
			}
			token = next
			return nil
		}))
		require.NoError(t, s.Update(func(tx *Tx) error {
			for range 5 {
				come++
				if err := tx.Link(d, nameOf("come", come), 1); err != nil && !errors.Is(err, syscall.ENOSPC) {
					return err
				}
			}
			_, err := tx.Unlink(d, nameOf("come", 1+rng.IntN(come)))
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		}))
	}
	for _, name := range stay {
		require.Equal(t, 1, seen[name])
	}
}

func TestUpdatesShareTransactions(t *testing.T) {
	s := open(t, memory.Dir(t), ranges)
	d := create(t, s, MetaSpace, proto.TypeDirdata)
	// The first update waits until all others are queued, so they are one group.
	const clients = 16
	begun, hold := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.NoError(t, s.Update(func(*Tx) error {
			close(begun)
			<-hold
			return nil
		}))
	})
	<-begun
	before := s.Stats()
	var failed atomic.Int64
	for i := range clients {
		wg.Go(func() {
			err := s.Update(func(tx *Tx) error {
				h, err := tx.Create(MetaSpace, Object{Attr: proto.Attr{Type: proto.TypeMetafile}})
				if err != nil {
					return err
				}
				if err := tx.SetXattr(h, "user.a", []byte("b"), 0); err != nil {
					return err
				}
				return tx.Link(d, nameOf("name", i/2), h) // every second one is too late
			})
			if errors.Is(err, fs.ErrExist) {
				failed.Add(1)
			} else {
				assert.NoError(t, err)
			}
		})
	}
	for waiting := 0; waiting < clients; {
		s.queueMu.Lock()
		waiting = len(s.queue)
		s.queueMu.Unlock()
	}
	close(hold)
	wg.Wait()
	after := s.Stats()
	assert.EqualValues(t, clients/2, failed.Load())
	assert.EqualValues(t, 1, after.Commits-before.Commits)
	assert.EqualValues(t, clients/2, after.Objects[proto.TypeMetafile], "those that failed left nothing")
	assert.EqualValues(t, clients/2, after.Entries)
	requireClean(t, s)
}

func TestPanicInAnUpdateIsItsOwn(t *testing.T) {
	s := fresh(t)
	begun, hold := make(chan bool), make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.NoError(t, s.Update(func(*Tx) error { close(begun); <-hold; return nil }))
	})
	<-begun
	for i := range 8 {
		wg.Go(func() {
			err := s.Update(func(tx *Tx) error {
				_, err := tx.Create(MetaSpace, Object{Attr: proto.Attr{Type: proto.TypeMetafile}})
				if i == 3 {
					panic("a damaged page")
				}
				return err
			})
			if i == 3 {
				assert.ErrorIs(t, err, syscall.EIO)
			} else {
				assert.NoError(t, err)
			}
		})
	}
	for waiting := 0; waiting < 8; {
		s.queueMu.Lock()
		waiting = len(s.queue)
		s.queueMu.Unlock()
	}
	close(hold)
	wg.Wait()
	assert.EqualValues(t, 7, s.Stats().Objects[proto.TypeMetafile])
	require.ErrorIs(t, s.View(func(*Tx) error { panic("another one") }), syscall.EIO)
	requireClean(t, s)
}

func TestRecordsAndPools(t *testing.T) {
	dir := memory.Dir(t)
	s := open(t, dir, ranges)
	require.NoError(t, s.Update(func(tx *Tx) error {
		return errors.Join(tx.SetRecord("root", []byte{1, 2}), tx.SetRecord("split/5", []byte{}), tx.SetRecord("split/6", []byte("x")),
			tx.PoolPut("b/1", 7, 9, 8), tx.PoolPut("b/16", 3))
	}))
	require.NoError(t, s.Update(func(tx *Tx) error {
		got, err := tx.PoolTake("b/1", 2)
		assert.Equal(t, []proto.Handle{7, 8}, got)
		return errors.Join(err, tx.SetRecord("split/6", nil))
	}))
	require.NoError(t, s.Close())
	s = open(t, dir, ranges)
	require.NoError(t, s.View(func(tx *Tx) error {
		v, err := tx.Record("root")
		assert.Equal(t, []byte{1, 2}, v)
		none, err2 := tx.Record("none")
		assert.Nil(t, none)
		empty, err3 := tx.Record("split/5")
		assert.NotNil(t, empty)
		n, err4 := tx.PoolLen("b/1")
		assert.Equal(t, 1, n)
		var keys []string
		for key := range tx.Records("split/") {
			keys = append(keys, key)
		}
		assert.Equal(t, []string{"split/5"}, keys)
		for between, want := range map[[2]string]int{
			{"root", "split/5"}: 2, {"root", "root"}: 1, {"roo", "split/4"}: 1, {"rop", "split/4"}: 0, {"split/5", "split/5"}: 1, {"split/6", "t"}: 0,
			{"t", "a"}: 0,
		} {
			found := 0
			for key := range tx.RecordsBetween(between[0], between[1]) {
				assert.True(t, between[0] <= key && key <= between[1])
				found++
			}
			assert.Equal(t, want, found, "%q", between)
		}
		pools := map[proto.Handle]string{}
		for pool, h := range tx.Pools() {
			pools[h] = pool
		}
		assert.Equal(t, map[proto.Handle]string{9: "b/1", 3: "b/16"}, pools)
		return errors.Join(err, err2, err3, err4)
	}))
	requireClean(t, s)
}

func TestSecondProcess(t *testing.T) {
	dir := memory.Dir(t)
	s := open(t, dir, ranges)
	_, err := Open(dir, ranges)
	require.ErrorIs(t, err, syscall.EBUSY)
	assert.ErrorContains(t, err, "another process has it open")
	_, err = Open(dir, Options{ReadOnly: true})
	require.ErrorIs(t, err, syscall.EBUSY)
	require.NoError(t, s.Close())
	a := open(t, dir, Options{ReadOnly: true})
	b := open(t, dir, Options{ReadOnly: true})
	requireClean(t, a)
	requireClean(t, b)
	require.ErrorIs(t, a.Update(func(*Tx) error { return nil }), syscall.EROFS)
	_, err = Open(dir, ranges)
	require.ErrorIs(t, err, syscall.EBUSY)
}

func TestNoStore(t *testing.T) {
	dir := filepath.Join(memory.Dir(t), "none")
	_, err := Open(dir, Options{ReadOnly: true})
	require.ErrorIs(t, err, fs.ErrNotExist)
	file := filepath.Join(memory.Dir(t), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(file, Options{})
	require.ErrorIs(t, err, syscall.ENOTDIR)
}
