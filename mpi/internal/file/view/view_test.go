package view

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
)

// choices are the bytes of a fuzzer, or of a generator; behind their end all choices are 0.
type choices []byte

func (c *choices) intN(n int) int {
	if len(*c) == 0 {
		return 0
	}
	b := int((*c)[0])
	*c = (*c)[1:]
	return b % n
}

// An oracle is a view as a list: the offsets of the etypes of one tile.
type oracle struct {
	disp, extent int64
	etype        *datatype.Type
	slots        []int // offsets in bytes, ascending
}

// make makes a view of random blocks, nested in random ways that do not change the bytes.
func (c *choices) make(t testing.TB) (*View, oracle) {
	etype := []*datatype.Type{datatype.Byte, datatype.Int16, datatype.Float64}[c.intN(3)]
	size := etype.Size()
	o := oracle{disp: int64(c.intN(200)), etype: etype}
	var lengths, displs []int
	at := 0
	for range 1 + c.intN(5) {
		at += c.intN(4)
		length := c.intN(4)
		lengths, displs = append(lengths, length), append(displs, at)
		at += length
	}
	inner, err := datatype.Indexed(lengths, displs, etype)
	require.NoError(t, err)
	inner, err = datatype.Resized(inner, 0, max(at, 1)*size)
	require.NoError(t, err)
	n, stride := 1+c.intN(4), max(at, 1)+c.intN(3)
	filetype, err := datatype.Hvector(n, 1, stride*size, inner)
	require.NoError(t, err)
	for i := range n {
		for b, length := range lengths {
			for k := range length {
				o.slots = append(o.slots, (i*stride+displs[b]+k)*size)
			}
		}
	}
	o.extent = int64((n*stride + c.intN(5)) * size)
	filetype, err = datatype.Resized(filetype, 0, int(o.extent))
	require.NoError(t, err)
	v, err := New(o.disp, etype, filetype)
	require.NoError(t, err)
	return v, o
}

// offset is where byte d of the view lies.
func (o *oracle) offset(d int64) int64 {
	size := int64(o.etype.Size())
	n, per := d/size, int64(len(o.slots))
	return o.disp + n/per*o.extent + int64(o.slots[n%per]) + d%size
}

func check(t testing.TB, c choices) {
	v, o := c.make(t)
	if len(o.slots) == 0 {
		require.Error(t, v.Check(0, 1))
		require.NoError(t, v.Check(0, 0))
		require.Zero(t, v.Below(1000))
		return
	}
	require.True(t, v.Strict())
	total := int64(3 * len(o.slots) * o.etype.Size())
	var all []int64
	for d := range total {
		all = append(all, o.offset(d))
		got, err := v.Offset(d)
		require.NoError(t, err)
		require.Equal(t, all[d], got)
	}
	for off := range o.disp + 3*o.extent {
		want := int64(sort.Search(len(all), func(i int) bool { return all[i] >= off }))
		if want < total {
			require.Equal(t, want, v.Below(off), "bytes below %d", off)
		}
	}
	for range 10 {
		d := int64(c.intN(256)) % total
		n := 1 + int64(c.intN(256))%(total-d)
		require.NoError(t, v.Check(d, n))
		low, high := v.Hull(d, n)
		require.Equal(t, []int64{all[d], all[d+n-1] + 1}, []int64{low, high})
		var got []int64
		for at, left := d, n; left > 0; {
			l, done := v.Ranges(at, left, 1+c.intN(5))
			require.Equal(t, done, l.Bytes())
			for off, length := range l.All() {
				for i := range length {
					got = append(got, off+i)
				}
			}
			at, left = at+done, left-done
		}
		require.Equal(t, all[d:d+n], got)
	}
}

// TestRandom compares views with lists.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		c := make(choices, 100)
		for i := range c {
			c[i] = byte(r.IntN(256))
		}
		check(t, c)
	}
}

func FuzzView(f *testing.F) {
	f.Add([]byte("a view, and some parts of it"))
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, c []byte) { check(t, choices(c)) })
}

// TestPattern: a view of a pattern has few runs, independently of its length.
func TestPattern(t *testing.T) {
	v, err := datatype.Resized(datatype.Float64, 0, 24)
	require.NoError(t, err)
	w, err := New(5, datatype.Float64, v)
	require.NoError(t, err)
	l, n := w.Ranges(3, 8<<40, 10)
	assert.EqualValues(t, 8<<40, n)
	assert.Equal(t, ranges.List{
		{Off: 8, Len: 5, Count: 1},
		{Off: 29, Len: 8, Stride: 24, Count: 1<<40 - 1},
		{Off: 5 + 24<<40, Len: 3, Count: 1},
	}, l)
	assert.EqualValues(t, 1<<40, w.Etypes(w.Below(5+24<<40)))

	// Dense tiles are one range.
	w, err = New(0, datatype.Byte, datatype.Byte)
	require.NoError(t, err)
	l, _ = w.Ranges(10, math.MaxInt64-10, 1)
	assert.Equal(t, ranges.List{ranges.One(10, math.MaxInt64-10)}, l)
	assert.EqualValues(t, math.MaxInt64, w.Below(math.MaxInt64))
}

// TestOverlap: a view for reading may have bytes several times.
func TestOverlap(t *testing.T) {
	ft, err := datatype.Resized(datatype.Int32, 0, 2)
	require.NoError(t, err)
	v, err := New(0, datatype.Int32, ft)
	require.NoError(t, err)
	assert.False(t, v.Strict())
	l, n := v.Ranges(0, 12, 100)
	assert.EqualValues(t, 12, n)
	assert.Equal(t, [][2]int64{{0, 4}, {2, 4}, {4, 4}}, list(l))
	low, high := v.Hull(0, 12)
	assert.Equal(t, []int64{0, 8}, []int64{low, high})
	assert.EqualValues(t, 3, v.Below(3))

	ft, err = datatype.Hvector(3, 1, 2, datatype.Int32)
	require.NoError(t, err)
	_, err = New(0, datatype.Int32, ft)
	require.NoError(t, err, "displacements that ascend")
}

func list(l ranges.List) (all [][2]int64) {
	for off, length := range l.All() {
		all = append(all, [2]int64{off, length})
	}
	return all
}

// TestRefused: types that are no views, and offsets that are too large.
func TestRefused(t *testing.T) {
	must := func(ft *datatype.Type, err error) *datatype.Type {
		require.NoError(t, err)
		return ft
	}
	for _, c := range []struct {
		disp            int64
		etype, filetype *datatype.Type
		class           errclass.Class
	}{
		{-1, datatype.Byte, datatype.Byte, errclass.Arg},
		{0, nil, datatype.Byte, errclass.Type},
		{0, datatype.Byte, nil, errclass.Type},
		{0, must(datatype.Contiguous(0, datatype.Byte)), datatype.Byte, errclass.Type},
		{0, datatype.Int32, must(datatype.Contiguous(6, datatype.Byte)), errclass.Type},
		{0, datatype.Byte, must(datatype.Hindexed([]int{1, 1}, []int{4, 0}, datatype.Byte)), errclass.Type},
		{0, datatype.Byte, must(datatype.Hindexed([]int{1, 1}, []int{-4, 0}, datatype.Byte)), errclass.Type},
		{0, datatype.Byte, must(datatype.Resized(datatype.Byte, 0, 0)), errclass.Type},
		{0, datatype.Byte, must(datatype.Resized(datatype.Byte, 0, -8)), errclass.Type},
		{math.MaxInt64, datatype.Byte, datatype.Byte, errclass.Arg},
	} {
		_, err := New(c.disp, c.etype, c.filetype)
		assert.ErrorIs(t, err, c.class, "%d %v %v", c.disp, c.etype, c.filetype)
	}
	v, err := New(100, datatype.Int32, must(datatype.Resized(datatype.Int32, 0, 1<<40)))
	require.NoError(t, err)
	_, err = v.Bytes(math.MaxInt64 / 2)
	assert.ErrorIs(t, err, errclass.Arg)
	assert.NoError(t, v.Check(0, 4<<23))
	assert.ErrorIs(t, v.Check(0, 4<<23+1), errclass.Arg)
	assert.ErrorIs(t, v.Check(math.MaxInt64, 2), errclass.Arg)
	_, err = v.Offset(4 << 23)
	assert.ErrorIs(t, err, errclass.Arg)
	assert.EqualValues(t, 100, v.Disp())
	assert.Equal(t, datatype.Int32, v.Etype())
	assert.NotNil(t, v.Filetype())
	assert.True(t, slices.IsSorted([]int64{v.Below(0), v.Below(100), v.Below(101), v.Below(1 << 50)}))
}
