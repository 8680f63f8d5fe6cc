package server_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// spread are options for servers on which directories start with several dirdata objects and grow.
func spread(servers, initial, most, split int) pvfstest.Options {
	return pvfstest.Options{Servers: servers, Config: func(o *config.GenOptions) {
		o.DistrDir = config.DistrDir{Initial: initial, Max: most, Split: split}
	}}
}

// inUse counts the dirdata objects in use.
func inUse(d proto.DistDir) (n int) {
	for i := range d.Dirdata {
		n += int(d.Bitmap[i/32] >> (i % 32) & 1)
	}
	return n
}

// filled makes a directory of the root, with 20 files.
func filled(t *testing.T, u *user) (proto.Handle, proto.Attr) {
	t.Helper()
	d, err := u.mkdir(u.c.FS.Root, "d", 0o755)
	require.NoError(t, err)
	for i := range 20 {
		_, err := u.create(d, fmt.Sprint("f", i), 0o644)
		require.NoError(t, err)
	}
	a, err := u.attr(d, proto.AttrMetafile)
	require.NoError(t, err)
	return d, a
}

func TestSpreadFromTheBeginning(t *testing.T) {
	c := pvfstest.Start(t, spread(3, 2, 3, 1000))
	u := root(t, c)
	d, err := u.mkdir(c.FS.Root, "d", 0o755)
	require.NoError(t, err)
	for _, dir := range []proto.Handle{c.FS.Root, d} {
		a, err := u.attr(dir, proto.AttrMetafile)
		require.NoError(t, err)
		require.Len(t, a.DistDir.Dirdata, 3)
		require.Equal(t, []uint32{3}, a.DistDir.Bitmap)
		require.EqualValues(t, 2, a.DistDir.TreeHeight)
		owners := map[int]bool{}
		for _, h := range a.DistDir.Dirdata {
			i, _ := c.FS.Owner(h)
			owners[i] = true
		}
		require.Len(t, owners, 3)
	}
	all, err := u.list(c.FS.Root, 5)
	require.NoError(t, err)
	require.Equal(t, []string{"d", "lost+found"}, names(all))
	for i := range 20 {
		_, err := u.create(d, fmt.Sprint("f", i), 0o644)
		require.NoError(t, err)
	}
	all, err = u.list(d, 7)
	require.NoError(t, err)
	require.Len(t, all, 20)
	for _, e := range all {
		h, err := u.lookup(c.FS.Root, "d/"+e.Name)
		require.NoError(t, err)
		require.Equal(t, e.Handle, h)
	}
	require.Equal(t, proto.ENOTEMPTY, u.remove(c.FS.Root, "d"))
	_, err = u.create(d, "after", 0o644)
	require.NoError(t, err, "a directory that could not be removed works on")
	for _, e := range append(all, proto.DirEntry{Name: "after"}) {
		require.NoError(t, u.remove(d, e.Name))
	}
	require.NoError(t, u.remove(c.FS.Root, "d"))
	_, err = u.attr(d, proto.AttrCommon)
	require.Equal(t, proto.ENOENT, err)
}

// TestNoEarlyEnd: the first of several dirdata objects does not report the end of the directory if it returns as many entries as
// requested: stock clients would not ask the other objects.
func TestNoEarlyEnd(t *testing.T) {
	c := pvfstest.Start(t, spread(2, 2, 2, 1000))
	u := root(t, c)
	d, a := filled(t, u)
	h := u.header(d)
	read := func(dirdata proto.Handle, count uint32, token uint64) *proto.ReadDirResp {
		resp, err := u.to(dirdata, h, &proto.ReadDirReq{Dirdata: dirdata, FS: u.fs(), Count: count, Token: token})
		require.NoError(t, err)
		return resp.(*proto.ReadDirResp)
	}
	for i, dirdata := range a.DistDir.Dirdata {
		all := read(dirdata, 100, proto.TokenStart)
		require.EqualValues(t, proto.TokenEnd, all.Token, "fewer than asked for")
		exact := read(dirdata, uint32(len(all.Entries)), proto.TokenStart)
		require.Equal(t, all.Entries, exact.Entries)
		require.Equal(t, i > 0, exact.Token == proto.TokenEnd)
		rest := read(dirdata, 100, exact.Token)
		require.Empty(t, rest.Entries)
		require.EqualValues(t, proto.TokenEnd, rest.Token)
	}
}

// TestDivide: a directory grows over its servers while many clients create files in it, and nothing is lost.
func TestDivide(t *testing.T) {
	c := pvfstest.Start(t, spread(4, 1, 4, 8))
	u := root(t, c)
	d, err := u.mkdir(c.FS.Root, "d", 0o777)
	require.NoError(t, err)
	const clients, each = 4, 25
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			own := root(t, c)
			own.turn = i
			for j := range each {
				h, err := own.create(d, fmt.Sprintf("f%d-%d", i, j), 0o644)
				if err == nil {
					_, err = own.lookup(c.FS.Root, fmt.Sprintf("d/f%d-%d", i, j))
				}
				if err != nil {
					t.Errorf("client %d, file %d, %d: %v", i, j, h, err)
					return
				}
			}
		})
	}
	wait.Wait()
	a, err := u.attr(d, proto.AttrMetafile)
	require.NoError(t, err)
	require.Equal(t, 4, inUse(a.DistDir))
	all, err := u.list(d, 5)
	require.NoError(t, err)
	require.Len(t, all, clients*each)
	sum := int64(0)
	for _, dd := range a.DistDir.Dirdata {
		b, err := u.attr(dd, proto.AttrOfDirdata)
		require.NoError(t, err)
		require.NotZero(t, b.DirentCount)
		sum += b.DirentCount
	}
	require.EqualValues(t, clients*each, sum)
	for _, e := range all {
		require.NoError(t, u.remove(d, e.Name))
	}
	require.NoError(t, u.remove(c.FS.Root, "d"))
	noRecords(t, c, "split/", "rmdir/")
}

// noRecords checks that no operation is unfinished.
func noRecords(t *testing.T, c *pvfstest.Cluster, prefixes ...string) {
	for i := range c.Len() {
		require.NoError(t, c.Store(i).View(func(tx *store.Tx) error {
			for _, p := range prefixes {
				for key := range tx.Records(p) {
					require.Empty(t, key)
				}
			}
			return nil
		}))
	}
}

// TestDivideWithoutTheOther: while the other server is down, a directory grows on this one. It is divided after the restart of
// the other.
func TestDivideWithoutTheOther(t *testing.T) {
	opts := spread(2, 1, 2, 4)
	c := pvfstest.Start(t, opts)
	u := root(t, c)
	u.turn = 1 // the directory is on server 0
	d, err := u.mkdir(c.FS.Root, "d", 0o777)
	require.NoError(t, err)
	a, err := u.attr(d, proto.AttrMetafile)
	require.NoError(t, err)
	here, _ := c.FS.Owner(a.DistDir.Dirdata[0])
	c.Stop(1 - here)
	for i := range 12 {
		u.turn = here - 1 + c.Len()
		_, err := u.create(d, fmt.Sprint("f", i), 0o644)
		require.NoError(t, err)
	}
	all, err := u.list(d, 100)
	require.NoError(t, err)
	require.Len(t, all, 12)
	c.Start(1 - here)
	c.Stop(here)
	c.Start(here) // the division is undone, and may be tried again
	require.NoError(t, c.Server(here).Ready(t.Context()))
	require.NoError(t, c.Server(1-here).Ready(t.Context()))
	_, err = u.create(d, "last", 0o644)
	require.NoError(t, err)
	a, err = u.attr(d, proto.AttrMetafile)
	require.NoError(t, err)
	require.Equal(t, 2, inUse(a.DistDir))
	all, err = u.list(d, 100)
	require.NoError(t, err)
	require.Len(t, all, 13)
	noRecords(t, c, "split/")
}

// TestAfterACrash: operations that the records show as unfinished are undone or finished at the next start.
func TestAfterACrash(t *testing.T) {
	c := pvfstest.Start(t, spread(2, 1, 2, 1000))
	u := root(t, c)
	d, a := filled(t, u)
	from, to := a.DistDir.Dirdata[0], a.DistDir.Dirdata[1]
	here, _ := c.FS.Owner(from)
	there := 1 - here
	before, err := u.list(d, 100)
	require.NoError(t, err)
	again := func() {
		c.Stop(here)
		c.Start(here)
		require.NoError(t, c.Server(here).Ready(t.Context()))
		noRecords(t, c, "split/", "rmdir/")
		after, err := u.list(d, 100)
		require.NoError(t, err)
		require.Equal(t, before, after)
		for _, e := range before {
			h, err := u.lookup(c.FS.Root, "d/"+e.Name)
			require.NoError(t, err)
			require.Equal(t, e.Handle, h)
		}
	}
	mark := func(key string, v []byte) {
		require.NoError(t, c.Store(here).Update(func(tx *store.Tx) error { return tx.SetRecord(key, v) }))
	}
	split := fmt.Sprintf("split/%016x", uint64(from))
	owner := func(state byte) []byte {
		b := []byte{state}
		for i := 56; i >= 0; i -= 8 {
			b = append(b, byte(d>>i))
		}
		return b
	}

	// The other object had copies and was in use.
	var next proto.DistDir
	require.NoError(t, c.Store(there).Update(func(tx *store.Tx) error {
		o, err := tx.Get(to)
		if err != nil {
			return err
		}
		o.DistDir.Bitmap = []uint32{3}
		next = o.DistDir
		for _, e := range before {
			if dirdata(next, e.Name) == to {
				if err := tx.Link(to, e.Name, e.Handle); err != nil {
					return err
				}
			}
		}
		return tx.Put(to, o)
	}))
	mark(split, owner(1))
	again()
	b, err := u.attr(to, proto.AttrOfDirdata)
	require.NoError(t, err)
	require.Zero(t, b.DirentCount)

	// The directory was about to be removed.
	require.NoError(t, c.Store(there).Update(func(tx *store.Tx) error {
		o, err := tx.Get(to)
		if err == nil {
			o.DistDir.TreeHeight = -1
			err = tx.Put(to, o)
		}
		return err
	}))
	mark(fmt.Sprintf("rmdir/%016x", uint64(d)), []byte{1})
	again()

	// The entries had moved, but the directory's record did not say so yet.
	require.NoError(t, c.Store(there).Update(func(tx *store.Tx) error {
		o, err := tx.Get(to)
		if err != nil {
			return err
		}
		require.EqualValues(t, 1, o.DistDir.TreeHeight)
		o.DistDir.Bitmap = []uint32{3}
		for _, e := range before {
			if dirdata(next, e.Name) == to {
				if err := tx.Link(to, e.Name, e.Handle); err != nil {
					return err
				}
			}
		}
		return tx.Put(to, o)
	}))
	require.NoError(t, c.Store(here).Update(func(tx *store.Tx) error {
		o, err := tx.Get(from)
		if err != nil {
			return err
		}
		o.DistDir.Bitmap = []uint32{3}
		for _, e := range before {
			if dirdata(next, e.Name) == to {
				if _, err := tx.Unlink(from, e.Name); err != nil {
					return err
				}
			}
		}
		if err := tx.SetRecord(split, owner(2)); err != nil {
			return err
		}
		return tx.Put(from, o)
	}))
	again()
	a, err = u.attr(d, proto.AttrMetafile)
	require.NoError(t, err)
	require.Equal(t, 2, inUse(a.DistDir))
}

// TestRemoveAgainstCreate: one request removes a directory while another creates a file in it. One of them wins, and nothing is
// left of the other.
func TestRemoveAgainstCreate(t *testing.T) {
	for _, opts := range []pvfstest.Options{spread(2, 1, 1, 100), spread(2, 2, 2, 100)} {
		c := pvfstest.Start(t, opts)
		u := root(t, c)
		for round := range 8 {
			name := fmt.Sprint("d", round)
			d, err := u.mkdir(c.FS.Root, name, 0o777)
			require.NoError(t, err)
			headers := u.header(d)
			a, err := u.attr(d, proto.AttrMetafile)
			require.NoError(t, err)
			f, err := u.create(c.FS.Root, name+"f", 0o644)
			require.NoError(t, err)
			var removed, created error
			var wait sync.WaitGroup
			wait.Go(func() { removed = root(t, c).remove(c.FS.Root, name) })
			wait.Go(func() {
				at := dirdata(a.DistDir, "x")
				_, created = root(t, c).to(at, headers, &proto.CrDirentReq{Cred: u.cred, Name: "x", New: f, Dir: d, Dirdata: at, FS: u.fs()})
			})
			wait.Wait()
			all, err := u.list(c.FS.Root, 100)
			require.NoError(t, err)
			if removed == nil {
				require.NotContains(t, names(all), name)
				require.Error(t, created)
				_, err = u.attr(d, proto.AttrCommon)
				require.Equal(t, proto.ENOENT, err)
				continue
			}
			require.Equal(t, proto.ENOTEMPTY, removed)
			require.NoError(t, created)
			got, err := u.lookup(c.FS.Root, name+"/x")
			require.NoError(t, err)
			require.Equal(t, f, got)
		}
		noRecords(t, c, "rmdir/")
	}
}
