package client

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// count is the number of objects, without the root and its dirdata object.
func (k *fake) count() int { return len(k.objects) - 2 }

func TestFailedCreateLeavesNothing(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "d/")
	before := k.count()
	k.fail = func(req proto.Request, h *proto.Header) (bool, error) {
		if req.Op() == proto.OpCrDirent {
			return false, proto.ENOSPC
		}
		return false, nil
	}
	_, err := f.OpenFile(ctx, "d/f", os.O_CREATE, 0o644)
	assert.ErrorIs(t, err, syscall.ENOSPC)
	assert.ErrorIs(t, f.Mkdir(ctx, "d/e", 0o755), syscall.ENOSPC)
	assert.ErrorIs(t, f.Symlink(ctx, "x", "d/l"), syscall.ENOSPC)
	assert.Equal(t, before, k.count())
}

func TestCreateRace(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "other")
	there := k.objects[10]
	once := true
	k.fail = func(req proto.Request, h *proto.Header) (bool, error) {
		if r, ok := req.(*proto.CrDirentReq); ok && once {
			once = false // another client is faster, once
			d := k.objects[there.attr.DistDir.Dirdata[0]]
			d.entries[r.Name] = d.entries["other"]
		}
		return false, nil
	}
	before := k.count()
	file, err := f.OpenFile(ctx, "f", os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Equal(t, before, k.count())
}

func TestDividedDirectory(t *testing.T) {
	k, f := newFake(t, Options{})
	k.buckets = 4
	makeTree(t, f, "d/")
	var want []string
	for i := range 60 {
		name := fmt.Sprintf("n%02d", i)
		makeTree(t, f, "d/"+name)
		want = append(want, name)
	}
	names, err := f.ReadNames(ctx, "d")
	require.NoError(t, err)
	assert.Equal(t, want, names)

	// Another server divides a directory while the client uses it: the first two of four objects were in use.
	root := k.objects[10]
	old := root.attr.DistDir.Dirdata
	k.spread(10, 0)
	all := root.attr.DistDir
	all.Dirdata = append(slices.Clone(old), all.Dirdata[1:]...)
	root.attr.DistDir = all
	for name, h := range k.objects[old[0]].entries {
		i, _ := bucket(&all, name)
		delete(k.objects[old[0]].entries, name)
		k.objects[all.Dirdata[i]].entries[name] = h
	}
	makeTree(t, f, "a", "b", "c", "e", "g/")
	names, err = f.ReadNames(ctx, "/")
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c", "d", "e", "g"}, names)
	require.NoError(t, f.RemoveAll(ctx, "d"))
	for _, name := range []string{"a", "b", "c", "e", "g"} {
		require.NoError(t, f.Remove(ctx, name))
	}
}

func TestBuckets(t *testing.T) {
	// From a capture: of name1 to name12, these are in the second of two buckets.
	d := &proto.DistDir{TreeHeight: 1, Bitmap: []uint32{3}, Dirdata: []proto.Handle{1, 2}}
	var second []int
	for i := 1; i <= 12; i++ {
		if b, ok := bucket(d, fmt.Sprintf("name%d", i)); ok && b == 1 {
			second = append(second, i)
		}
	}
	assert.Equal(t, []int{1, 4, 8, 11}, second)
	_, ok := bucket(&proto.DistDir{TreeHeight: 1 << 30, Bitmap: []uint32{0}, Dirdata: []proto.Handle{1}}, "x")
	assert.False(t, ok)
}

func TestReadDir(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "d/", "d/dir/", "d/l->f")
	for i := range 100 {
		makeTree(t, f, fmt.Sprintf("d/f%03d", i))
	}
	infos, err := f.ReadDirPlus(ctx, "d")
	require.NoError(t, err)
	require.Len(t, infos, 102)
	assert.Equal(t, "dir", infos[0].Name())
	assert.Equal(t, fs.ModeSymlink|0o777, infos[101].Mode())
	k.take()
	list, err := f.ReadDir("d")
	require.NoError(t, err)
	assert.NotContains(t, k.take(), "ATTR", "all is known already")
	info, err := list[5].Info()
	require.NoError(t, err)
	assert.Equal(t, "f004", info.Name())

	file, err := f.Open("d")
	require.NoError(t, err)
	dir := file.(fs.ReadDirFile)
	var names []string
	for {
		some, err := dir.ReadDir(7)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		for _, e := range some {
			names = append(names, e.Name())
		}
	}
	assert.Len(t, names, 102)
	require.NoError(t, file.Close())
	_, err = f.ReadDir("d/f001")
	assert.ErrorIs(t, err, proto.ENOTDIR)

	seen := 0
	for _, err := range f.Entries(ctx, "d") {
		require.NoError(t, err)
		if seen++; seen == 5 {
			break
		}
	}
	for _, err := range f.Entries(ctx, "nothing") {
		assert.ErrorIs(t, err, fs.ErrNotExist)
	}
}

// TestReadDirPlusInPieces reads parts of a directory in turn with and without attributes.
func TestReadDirPlusInPieces(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "d/", "d/l->f")
	for i := range 99 {
		makeTree(t, f, fmt.Sprintf("d/f%03d", i))
	}
	d, err := f.OpenFile(ctx, "d", os.O_RDONLY, 0)
	require.NoError(t, err)
	bare, err := d.ReadDirCtx(ctx, 10)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, e := range bare {
		names[e.Name()] = true
	}
	k.take()
	for {
		infos, err := d.ReadDirPlusCtx(ctx, 7)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		assert.LessOrEqual(t, len(infos), 7)
		for _, i := range infos {
			assert.False(t, names[i.Name()], "%s comes twice", i.Name())
			names[i.Name()] = true
			assert.NotEqual(t, proto.TypeNone, i.Attr.Type)
		}
	}
	assert.Len(t, names, 100)
	assert.Less(t, strings.Count(" "+k.take(), " GETATTR"), 5, "the entries are not asked for one by one")
	d.RewindDir()
	infos, err := d.ReadDirPlusCtx(ctx, -1)
	require.NoError(t, err)
	assert.Len(t, infos, 100)
	require.NoError(t, d.Close())
}

// TestOpenFresh opens files that another client has changed or replaced.
func TestOpenFresh(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "f", "g")
	file, err := f.OpenFile(ctx, "f", os.O_RDONLY, 0)
	require.NoError(t, err)
	old := file.Handle()
	k.objects[old].attr.Perms = 0o604
	same, err := f.OpenFresh(ctx, "f", os.O_RDONLY)
	require.NoError(t, err)
	assert.Equal(t, old, same.Handle())
	i, err := same.StatCtx(ctx)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o604), i.Mode())
	require.NoError(t, same.Close())
	require.NoError(t, file.Close())

	root := k.objects[k.objects[10].attr.DistDir.Dirdata[0]]
	root.entries["f"] = root.entries["g"]
	delete(k.objects, old)
	other, err := f.OpenFresh(ctx, "f", os.O_RDWR)
	require.NoError(t, err)
	assert.Equal(t, root.entries["g"], other.Handle())
	require.NoError(t, other.Close())
	_, err = f.OpenFresh(ctx, "none", os.O_RDWR)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// TestOpenWithoutName sets attributes of an open file that has no name any more.
func TestOpenWithoutName(t *testing.T) {
	k, f := newFake(t, Options{})
	file, err := f.OpenFile(ctx, "f", os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	file.node.setUnstamped(true)
	require.NoError(t, file.StampCtx(ctx))
	assert.NotEmpty(t, k.take())
	require.NoError(t, file.StampCtx(ctx))
	assert.Empty(t, k.take(), "its time is set already")
	file.node.setUnstamped(true)
	require.NoError(t, f.Unlink(ctx, "f"))
	require.NoError(t, f.ChmodFile(ctx, file, 0o640))
	require.NoError(t, f.ChownFile(ctx, file, 5, 6))
	require.NoError(t, f.ChtimesFile(ctx, file, time.Unix(70, 0), time.Unix(80, 0)))
	k.take()
	require.NoError(t, file.StampCtx(ctx))
	assert.Empty(t, k.take(), "somebody set a time after it was written")
	i, err := file.StatCtx(ctx)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o640), i.Mode())
	assert.EqualValues(t, 5, i.Attr.Owner)
	assert.EqualValues(t, 6, i.Attr.Group)
	assert.EqualValues(t, 80, i.ModTime().Unix())
	assert.EqualValues(t, 70, i.AccessTime().Unix())
	require.NoError(t, file.Close())
	assert.ErrorIs(t, f.ChmodFile(ctx, file, 0o600), fs.ErrClosed)
	assert.ErrorIs(t, file.StampCtx(ctx), fs.ErrClosed)
}

func TestRemove(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "d/", "d/e/", "d/e/f", "l->d")
	assert.ErrorIs(t, f.Remove(ctx, "d"), syscall.ENOTEMPTY)
	assert.ErrorIs(t, f.Unlink(ctx, "d"), syscall.EISDIR)
	assert.ErrorIs(t, f.Rmdir(ctx, "l"), syscall.ENOTDIR)
	assert.ErrorIs(t, f.Remove(ctx, "x"), fs.ErrNotExist)
	assert.ErrorIs(t, f.Remove(ctx, "/"), syscall.EBUSY)
	assert.ErrorIs(t, f.Remove(ctx, "d/.."), syscall.EINVAL)
	require.NoError(t, f.Unlink(ctx, "l"))
	_, err := f.StatCtx(ctx, "d/e/f")
	require.NoError(t, err)
	require.NoError(t, f.RemoveAll(ctx, "d"))
	require.NoError(t, f.RemoveAll(ctx, "d"))
	assert.Zero(t, k.count())

	k.take()
	makeTree(t, f, "f")
	k.take()
	require.NoError(t, f.Remove(ctx, "f"))
	assert.Equal(t, "GETATTR RMDIRENT TREE_REMOVE", k.take(), "two trips")
}

func TestRemoveOpen(t *testing.T) {
	k, f := newFake(t, Options{})
	file, err := f.Create(ctx, "f")
	require.NoError(t, err)
	before := k.count()
	require.NoError(t, f.Remove(ctx, "f"))
	_, err = f.StatCtx(ctx, "f")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, before, k.count(), "the object is there as long as it is open")
	_, err = file.Stat()
	assert.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Zero(t, k.count())

	makeTree(t, f, "g")
	file, err = f.Create(ctx, "f")
	require.NoError(t, err)
	require.NoError(t, f.Rename(ctx, "g", "f"))
	require.NoError(t, file.Close())
	assert.Equal(t, 2, k.count())
}

func TestRmdirRace(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "d/", "x")
	k.fail = func(req proto.Request, h *proto.Header) (bool, error) {
		if req.Op() == proto.OpRemove {
			return false, proto.ENOTEMPTY // another client made a file in it
		}
		return false, nil
	}
	assert.ErrorIs(t, f.Remove(ctx, "d"), syscall.ENOTEMPTY)
	_, err := f.StatCtx(ctx, "d")
	assert.NoError(t, err, "the name is back")
}

func TestRename(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "f", "g", "d/", "d/e/", "d/e/f", "empty/", "l->f")
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{"x", "y", syscall.ENOENT},
		{"f", "x/y", syscall.ENOENT},
		{"f", "g/y", syscall.ENOTDIR},
		{"f", "d", syscall.EISDIR},
		{"d", "f", syscall.ENOTDIR},
		{"empty", "d", syscall.ENOTEMPTY},
		{"d", "d/e/x", syscall.EINVAL},
		{"d/e/f", "d/e", syscall.EISDIR},
		{"d/e", "d", syscall.ENOTEMPTY},
		{"f", "g/", syscall.ENOTDIR},
		{"f", "new/", syscall.ENOTDIR},
		{"/", "x", syscall.EBUSY},
		{"d/.", "x", syscall.EINVAL},
		{"f", "/", syscall.EBUSY},
		{"f", "f", nil},
		{"d", "d", nil},
		{"f", "h", nil},
		{"h", "g", nil},
		{"d", "empty", nil},
		{"empty/e", "e2/", nil},
		{"l", "g", nil},
	} {
		err := f.Rename(ctx, c.from, c.to)
		if c.want == nil {
			assert.NoError(t, err, "%s to %s", c.from, c.to)
			continue
		}
		assert.ErrorIs(t, err, c.want, "%s to %s", c.from, c.to)
		var le *os.LinkError
		assert.ErrorAs(t, err, &le)
	}
	names, err := f.ReadNames(ctx, "/")
	require.NoError(t, err)
	assert.Equal(t, []string{"e2", "empty", "g"}, names)
	_, err = f.StatCtx(ctx, "e2/f")
	assert.NoError(t, err)
	require.NoError(t, f.RemoveAll(ctx, "e2"))
	require.NoError(t, f.Remove(ctx, "empty"))
	require.NoError(t, f.Remove(ctx, "g"))
	assert.Zero(t, k.count(), "what was replaced is gone")
}

func TestRenameUndone(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "f", "g")
	was, err := f.StatCtx(ctx, "g")
	require.NoError(t, err)
	k.fail = func(req proto.Request, h *proto.Header) (bool, error) {
		if r, ok := req.(*proto.RmDirentReq); ok && r.Name == "f" {
			return false, proto.EIO
		}
		return false, nil
	}
	assert.ErrorIs(t, f.Rename(ctx, "f", "new"), syscall.EIO)
	assert.ErrorIs(t, f.Rename(ctx, "f", "g"), syscall.EIO)
	names, err := f.ReadNames(ctx, "/")
	require.NoError(t, err)
	assert.Equal(t, []string{"f", "g"}, names)
	is, err := f.StatCtx(ctx, "g")
	require.NoError(t, err)
	assert.Equal(t, was.Handle, is.Handle)
}

func TestStaleName(t *testing.T) {
	k, f := newFake(t, Options{})
	makeTree(t, f, "d/", "d/f", "other/", "other/f")
	_, err := f.StatCtx(ctx, "d/f")
	require.NoError(t, err)
	// Another client removes d and gives its name to other.
	root := k.objects[k.objects[10].attr.DistDir.Dirdata[0]]
	gone := root.entries["d"]
	for _, h := range k.objects[gone].attr.DistDir.Dirdata {
		for _, x := range k.objects[h].entries {
			delete(k.objects, x)
		}
		delete(k.objects, h)
	}
	delete(k.objects, gone)
	root.entries["d"] = root.entries["other"]
	delete(root.entries, "other")
	require.NoError(t, f.Truncate(ctx, "d/f", 5))
	makeTree(t, f, "d/g")
}

func TestTruncateAndSize(t *testing.T) {
	_, f := newFake(t, Options{})
	makeTree(t, f, "f")
	for _, size := range []int64{0, 10, 65536, 65537, 1 << 20, 100_000, 3} {
		require.NoError(t, f.Truncate(ctx, "f", size))
		info, err := f.StatCtx(ctx, "f")
		require.NoError(t, err)
		assert.Equal(t, size, info.Size())
		infos, err := f.ReadDirPlus(ctx, "/")
		require.NoError(t, err)
		assert.Equal(t, size, infos[0].Size())
		for h := range f.table.all { // like a client with an empty cache
			f.table.get(h).changed()
		}
		infos, err = f.ReadDirPlus(ctx, "/")
		require.NoError(t, err)
		assert.Equal(t, size, infos[0].Size())
	}
	assert.ErrorIs(t, f.Truncate(ctx, "f", -1), syscall.EINVAL)
	assert.ErrorIs(t, f.Truncate(ctx, "/", 1), syscall.EISDIR)
	assert.NoError(t, f.Sync(ctx, "f"))
}

func TestXattrs(t *testing.T) {
	_, f := newFake(t, Options{})
	makeTree(t, f, "f")
	_, err := f.GetXattr(ctx, "f", "user.x")
	assert.ErrorIs(t, err, syscall.ENODATA)
	assert.ErrorIs(t, f.SetXattr(ctx, "f", "user.x", nil, XattrReplace), syscall.ENODATA)
	var want []string
	for i := range 40 {
		key := fmt.Sprintf("user.%02d", i)
		require.NoError(t, f.SetXattr(ctx, "f", key, []byte{byte(i)}, 0))
		want = append(want, key)
	}
	assert.ErrorIs(t, f.SetXattr(ctx, "f", "user.00", nil, XattrCreate), fs.ErrExist)
	keys, err := f.ListXattr(ctx, "f")
	require.NoError(t, err)
	assert.Equal(t, want, keys)
	value, err := f.GetXattr(ctx, "f", "user.39")
	require.NoError(t, err)
	assert.Equal(t, []byte{39}, value)
	require.NoError(t, f.RemoveXattr(ctx, "f", "user.39"))
	assert.ErrorIs(t, f.RemoveXattr(ctx, "f", "user.39"), syscall.ENODATA)
}

func TestSpace(t *testing.T) {
	_, f := newFake(t, Options{})
	s, err := f.StatFS(ctx)
	require.NoError(t, err)
	assert.Equal(t, int64(200), s.Total)
	assert.Equal(t, int64(21), s.Available)
}
