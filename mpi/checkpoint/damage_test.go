package checkpoint_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/filetest"
)

// The files of the newest checkpoint of prepared.
const (
	newestData     = "checkpoint-000000002.data"
	newestManifest = "checkpoint-000000002.manifest"
)

// TestDamaged: a checkpoint with any damage is not restored, but the one before, and the reason is
// given on all ranks.
func TestDamaged(t *testing.T) {
	flip := func(name string, at int) func(fs *filetest.FS) {
		return func(fs *filetest.FS) { fs.Bytes(name)[at] ^= 4 }
	}
	cut := func(name string, by int) func(fs *filetest.FS) {
		return func(fs *filetest.FS) {
			b := fs.Bytes(name)
			fs.SetBytes(name, b[:len(b)-by])
		}
	}
	unreadable := func(name string) func(fs *filetest.FS) {
		return func(fs *filetest.FS) {
			fs.Set(func(s filetest.Step) error {
				if s.Name == name && s.Kind == filetest.Read {
					return unix.EIO
				}
				return nil
			})
		}
	}
	const bLies = 12288 // behind 40 × 31 × 8 bytes
	for name, c := range map[string]struct {
		spoil func(fs *filetest.FS)
		text  string
	}{
		"first byte":             {flip(newestData, 0), `"a" is damaged`},
		"last byte of an array":  {flip(newestData, 40*31*8-1), `"a" is damaged: the checksum of bytes 0 to 9919`},
		"other array":            {flip(newestData, bLies), `"b" is damaged`},
		"value":                  {flip(newestData, 16384), `"v" is damaged`},
		"short data":             {cut(newestData, 1), "should have"},
		"no bytes":               {func(fs *filetest.FS) { fs.SetBytes(newestData, nil) }, "it has 0 bytes"},
		"long data":              {func(fs *filetest.FS) { fs.SetBytes(newestData, append(fs.Bytes(newestData), 0)) }, "should have"},
		"manifest":               {flip(newestManifest, 20), "the manifest is damaged"},
		"short manifest":         {cut(newestManifest, 1), "the manifest is damaged"},
		"empty manifest":         {func(fs *filetest.FS) { fs.SetBytes(newestManifest, nil) }, "it has 0 bytes"},
		"manifest of another":    {func(fs *filetest.FS) { fs.SetBytes(newestManifest, fs.Bytes("checkpoint-000000001.manifest")) }, "that of checkpoint 1"},
		"unreadable data":        {unreadable(newestData), "read"},
		"unreadable manifest":    {unreadable(newestManifest), "read"},
		"manifest without data":  {func(fs *filetest.FS) { fs.Remove(newestData) }, "no such file"},
		"a manifest of nonsense": {func(fs *filetest.FS) { fs.SetBytes("checkpoint-000000007.manifest", []byte("x")) }, "the manifest is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := prepared(t, 2, false)
			c.spoil(fs)
			for _, overlap := range []bool{false, true} {
				ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
					with(t, w, fs.Name(), checkpoint.Options{}, func(s *checkpoint.Store) {
						arrays, want := state(1)
						if name == "a manifest of nonsense" {
							arrays, want = state(2)
						}
						var v string
						list, check := items(t, arrays, division{n: 3, seed: 4, overlap: overlap}, w.Rank(), false)
						got, err := s.Restore(bg, append(list, checkpoint.Value("v", &v))...)
						require.NoError(t, err)
						check()
						assert.Equal(t, want, v)
						require.Len(t, got.Damaged, 1)
						assert.ErrorContains(t, got.Damaged[0], c.text)
						assert.ErrorContains(t, got.Damaged[0], fs.Name())
					})
				})
			}
		})
	}
}

// TestAllDamaged: if no checkpoint can be restored, that is an error, and not the same as none.
func TestAllDamaged(t *testing.T) {
	fs := prepared(t, 2, false)
	fs.Bytes(newestData)[0]++
	fs.Remove("checkpoint-000000001.data")
	empty := filetest.New(t)
	ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
		arrays, _ := state(1)
		list, _ := items(t, arrays, division{n: 2, seed: 4}, w.Rank(), false)
		with(t, w, fs.Name(), checkpoint.Options{}, func(s *checkpoint.Store) {
			_, err := s.Restore(bg, list...)
			require.ErrorIs(t, err, mpi.ErrIO)
			require.NotErrorIs(t, err, checkpoint.ErrNone)
			assert.ErrorContains(t, err, "none of the 2 checkpoints in "+fs.Name())
			assert.ErrorContains(t, err, `"a" is damaged`)
			require.NoError(t, save(t, w, s, 3), "the job can begin anew")
		})
		with(t, w, empty.Name(), checkpoint.Options{}, func(s *checkpoint.Store) {
			_, err := s.Restore(bg, list...)
			require.Equal(t, checkpoint.ErrNone, err)
			require.ErrorIs(t, err, mpi.ErrNoSuchFile)
		})
	})
	assert.Equal(t, int64(3), restored(t, fs.Name(), 1).Step)
}

// TestNewer: a checkpoint of a later version is not skipped.
func TestNewer(t *testing.T) {
	fs := prepared(t, 1, false)
	b := fs.Bytes(newestManifest)
	b[8] = 9
	reseal(b)
	ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
		with(t, w, fs.Name(), checkpoint.Options{}, func(s *checkpoint.Store) {
			_, err := s.Restore(bg)
			require.ErrorIs(t, err, mpi.ErrUnsupportedOperation)
			assert.ErrorContains(t, err, "version 9")
		})
	})
}

// TestOtherItems: what is restored must be what was saved, in name, type, shape and elements.
func TestOtherItems(t *testing.T) {
	fs := prepared(t, 2, false)
	zeros := func(n int) mpi.Buffer { return mpi.Slice(make([]int64, n)) }
	var number int
	for name, c := range map[string]struct {
		item  checkpoint.Item
		class mpi.ErrorClass
	}{
		"name":       {checkpoint.Value("w", &number), mpi.ErrName},
		"type":       {checkpoint.Value("a", &number), mpi.ErrType},
		"shape":      {checkpoint.Block("a", zeros(40), []int{31, 40}, []int{0, 0}, []int{1, 40}), mpi.ErrNotSame},
		"dimensions": {checkpoint.Block("a", zeros(40), []int{1240}, []int{0}, []int{40}), mpi.ErrNotSame},
		"element":    {checkpoint.Block("a", mpi.Slice(make([]int32, 31)), []int{40, 31}, []int{0, 0}, []int{1, 31}), mpi.ErrType},
		"kind":       {checkpoint.Block("a", mpi.Slice(make([]float64, 31)), []int{40, 31}, []int{0, 0}, []int{1, 31}), mpi.ErrType},
		"value":      {checkpoint.Value("v", &number), mpi.ErrType},
	} {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			with(t, w, fs.Name(), checkpoint.Options{}, func(s *checkpoint.Store) {
				_, err := s.Restore(bg, c.item)
				require.ErrorIs(t, err, c.class, name)
				require.Equal(t, c.class, errclass.Of(err), name)
				_, err = s.Restore(bg, checkpoint.Block("a", zeros(0), []int{40, 31}, []int{0, 0}, []int{0, 31}))
				require.NoError(t, err, "the store still works; nobody reads anything of the array")
			})
		})
	}
}

// TestArguments: what is wrong with the arguments of one rank is an error of all, and the store works
// on.
func TestArguments(t *testing.T) {
	one := func(n int) mpi.Buffer { return mpi.Slice(make([]int64, n)) }
	block := func(n int, shape, start, count []int) checkpoint.Item {
		return checkpoint.Block("x", one(n), shape, start, count)
	}
	half, err := datatype.Subarray([]int{10}, []int{5}, []int{0}, datatype.OrderC, datatype.Int64)
	require.NoError(t, err)
	back, err := datatype.Hindexed([]int{1, 1}, []int{8, 0}, datatype.Int64)
	require.NoError(t, err)
	var nilValue *int
	for name, c := range map[string]struct {
		bad   []checkpoint.Item
		class mpi.ErrorClass
	}{
		"zero":           {[]checkpoint.Item{{}}, mpi.ErrName},
		"no name":        {[]checkpoint.Item{checkpoint.Value("", new(int))}, mpi.ErrName},
		"long name":      {[]checkpoint.Item{checkpoint.Value(strings.Repeat("x", 256), new(int))}, mpi.ErrName},
		"twice":          {[]checkpoint.Item{checkpoint.Value("x", new(int)), checkpoint.Value("x", new(int))}, mpi.ErrName},
		"another name":   {[]checkpoint.Item{checkpoint.Value("y", new(int))}, mpi.ErrNotSame},
		"another shape":  {[]checkpoint.Item{block(0, []int{11}, []int{0}, []int{0})}, mpi.ErrNotSame},
		"nothing":        {nil, mpi.ErrNotSame},
		"no dimension":   {[]checkpoint.Item{block(0, nil, nil, nil)}, mpi.ErrDims},
		"negative":       {[]checkpoint.Item{block(0, []int{-1}, []int{0}, []int{0})}, mpi.ErrDims},
		"dimensions":     {[]checkpoint.Item{block(0, []int{10}, []int{0, 0}, []int{0})}, mpi.ErrDims},
		"beyond":         {[]checkpoint.Item{block(5, []int{10}, []int{6}, []int{5})}, mpi.ErrArg},
		"before":         {[]checkpoint.Item{block(5, []int{10}, []int{-1}, []int{5})}, mpi.ErrArg},
		"too little":     {[]checkpoint.Item{block(0, []int{10}, []int{5}, []int{5})}, mpi.ErrArg},
		"too much":       {[]checkpoint.Item{block(5, []int{10}, []int{5}, []int{0})}, mpi.ErrArg},
		"odd":            {[]checkpoint.Item{checkpoint.Block("x", mpi.Slice(make([]byte, 41)), []int{10}, []int{5}, []int{5})}, mpi.ErrArg},
		"element":        {[]checkpoint.Item{checkpoint.Block("x", mpi.Slice(make([]int16, 5)), []int{10}, []int{5}, []int{5})}, mpi.ErrNotSame},
		"kind":           {[]checkpoint.Item{checkpoint.Block("x", mpi.Slice(make([]float64, 5)), []int{10}, []int{5}, []int{5})}, mpi.ErrNotSame},
		"overlap":        {[]checkpoint.Item{block(6, []int{10}, []int{4}, []int{6})}, mpi.ErrArg},
		"hole":           {[]checkpoint.Item{block(4, []int{10}, []int{6}, []int{4})}, mpi.ErrArg},
		"filetype":       {[]checkpoint.Item{checkpoint.Part("x", one(4), []int{10}, half)}, mpi.ErrArg},
		"no array":       {[]checkpoint.Item{checkpoint.Part("x", one(1), []int{10}, datatype.Byte)}, mpi.ErrArg},
		"extent":         {[]checkpoint.Item{checkpoint.Part("x", mpi.Slice(make([]byte, 1)), []int{10}, datatype.Byte)}, mpi.ErrType},
		"backwards":      {[]checkpoint.Item{checkpoint.Part("x", one(2), []int{10}, back)}, mpi.ErrType},
		"wrong buffer":   {[]checkpoint.Item{checkpoint.Block("x", mpi.Slice([]string{"x"}), []int{10}, []int{5}, []int{5})}, mpi.ErrType},
		"a value's type": {[]checkpoint.Item{checkpoint.Value("x", new(int))}, mpi.ErrNotSame},
		"no elements":    {[]checkpoint.Item{block(0, []int{10}, []int{0}, []int{0})}, mpi.ErrArg},
	} {
		t.Run(name, func(t *testing.T) {
			fs := filetest.New(t)
			ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
				with(t, w, fs.Name(), checkpoint.Options{}, func(s *checkpoint.Store) {
					mine := []checkpoint.Item{block(5, []int{10}, []int{5 * w.Rank()}, []int{5})}
					list := mine
					if w.Rank() == 1 {
						list = c.bad
					}
					err := s.Save(bg, 1, list...)
					require.ErrorIs(t, err, c.class)
					require.Equal(t, c.class, errclass.Of(err))
					require.NoError(t, s.Save(bg, 1, mine...))
				})
			})
			assert.Len(t, fs.Files(), 2, "a save that is refused writes nothing")
		})
	}
	dir := filetest.New(t).Name()
	ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
		_, err := checkpoint.Open(bg, nil, dir, checkpoint.Options{})
		require.ErrorIs(t, err, mpi.ErrComm)
		_, err = checkpoint.Open(bg, w, "", checkpoint.Options{})
		require.ErrorIs(t, err, mpi.ErrBadFile)
		_, err = checkpoint.Open(bg, w, t.TempDir()+"/no/such", checkpoint.Options{})
		require.ErrorIs(t, err, mpi.ErrNoSuchFile)
		_, err = checkpoint.Open(bg, w, dir, checkpoint.Options{Keep: -1 + w.Rank()})
		require.ErrorIs(t, err, mpi.ErrArg)
		with(t, w, dir, checkpoint.Options{}, func(s *checkpoint.Store) {
			require.ErrorIs(t, s.Save(bg, int64(w.Rank())), mpi.ErrNotSame)
			require.ErrorIs(t, s.Save(bg, 1, checkpoint.Value("f", new(func()))), mpi.ErrType)
			require.ErrorIs(t, s.Save(bg, 1, checkpoint.Value("f", nilValue)), mpi.ErrBuffer)
			require.NoError(t, s.Save(bg, math.MinInt64))
			got, err := s.Restore(bg)
			require.NoError(t, err)
			assert.Equal(t, int64(math.MinInt64), got.Step)
		})
	})
}
