package datatype_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func TestFitsRefuses(t *testing.T) {
	f := datatype.Float64
	column := must(datatype.Vector(4, 1, 4, f))
	back := must(datatype.Resized(f, 0, -8))
	for _, c := range []struct {
		t                  *datatype.Type
		mem, origin, count int
		class              errclass.Class
	}{
		{f, 8, 0, 1, errclass.Success},
		{f, 8, 0, 0, errclass.Success},
		{f, 0, 99, 0, errclass.Success},
		{f, 8, 1, 1, errclass.Buffer},
		{f, 8, -1, 1, errclass.Buffer},
		{f, 8, 0, 2, errclass.Buffer},
		{f, 8, math.MaxInt, 1, errclass.ValueTooLarge},
		{f, 8, math.MinInt, 1, errclass.Buffer},
		{f, 8, 0, -1, errclass.Count},
		{f, 8, 0, math.MinInt, errclass.Count},
		{f, 8, 0, math.MaxInt / 8, errclass.Buffer},
		{f, 8, 0, math.MaxInt, errclass.ValueTooLarge},
		{must(datatype.Contiguous(math.MaxInt, datatype.Int8)), 8, 0, 2, errclass.ValueTooLarge},
		{f, 8, 0, math.MaxInt/4 + 1, errclass.ValueTooLarge},
		{column, 104, 0, 1, errclass.Success},
		{column, 103, 0, 1, errclass.Buffer},
		{column, 104, 0, 2, errclass.Buffer},
		{column, 208, 0, 2, errclass.Success},
		{back, 16, 8, 2, errclass.Success},
		{back, 16, 0, 2, errclass.Buffer},
		{back, 16, 9, 1, errclass.Buffer},
		{nil, 16, 0, 1, errclass.Type},
		{must(datatype.Contiguous(0, f)), 0, 5, 100, errclass.Success},
	} {
		err := c.t.Fits(c.mem, c.origin, c.count)
		assert.Equal(t, c.class, errclass.Of(err), "%d of %v at %d of %d: %v", c.count, c.t, c.origin, c.mem, err)
	}
}

// TestNothingIsNowhere: if no bytes move, the address does not matter.
func TestNothingIsNowhere(t *testing.T) {
	mem := make([]byte, 8)
	for _, typ := range []*datatype.Type{datatype.Float64, must(datatype.Vector(2, 1, 2, datatype.Int8)), must(datatype.Contiguous(0, datatype.Int8))} {
		for _, origin := range []int{-1, 9, math.MinInt, math.MaxInt} {
			for what, move := range map[string]func(a, b []byte, origin, count int) (int, error){
				"pack": typ.Pack, "pack external": typ.PackExternal,
				"unpack": func(src, mem []byte, origin, count int) (int, error) {
					return typ.Unpack(mem, origin, count, src)
				},
				"unpack external": func(src, mem []byte, origin, count int) (int, error) {
					return typ.UnpackExternal(mem, origin, count, src)
				},
			} {
				n, err := move(mem, mem, origin, 0)
				assert.NoError(t, err, what)
				assert.Zero(t, n, what)
			}
		}
	}
}

func TestDistinct(t *testing.T) {
	twice := must(datatype.Resized(datatype.Float64, 0, 0))
	assert.NoError(t, twice.Distinct(1))
	assert.NoError(t, twice.Distinct(0))
	assert.NoError(t, twice.Distinct(-1), "that is for others to say")
	assert.ErrorIs(t, twice.Distinct(2), errclass.Type)
	assert.ErrorIs(t, must(datatype.Vector(3, 2, 1, datatype.Int8)).Distinct(1), errclass.Type)
	assert.ErrorIs(t, twice.Distinct(math.MaxInt), errclass.ValueTooLarge)
	assert.ErrorIs(t, (*datatype.Type)(nil).Distinct(1), errclass.Type)
	mem := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	_, err := twice.Unpack(mem, 0, 2, make([]byte, 16))
	assert.ErrorIs(t, err, errclass.Type)
	assert.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8}, mem)
}

// TestRefusedCallsMoveNothing makes all calls that move bytes, on invalid memory.
func TestRefusedCallsMoveNothing(t *testing.T) {
	column := must(datatype.Vector(3, 1, 2, datatype.Int8))
	mem, packed := []byte{1, 2, 3, 4}, []byte{9, 9, 9}
	for _, typ := range []*datatype.Type{column, nil} {
		for what, call := range map[string]func() (int, error){
			"pack":            func() (int, error) { return typ.Pack(packed, mem, 0, 1) },
			"unpack":          func() (int, error) { return typ.Unpack(mem, 0, 1, packed) },
			"pack external":   func() (int, error) { return typ.PackExternal(packed, mem, 0, 1) },
			"unpack external": func() (int, error) { return typ.UnpackExternal(mem, 0, 1, packed) },
			"cursor": func() (int, error) {
				c, err := datatype.NewCursor(typ, mem, 0, 1)
				return c.Left() + c.Pack(packed), err
			},
		} {
			n, err := call()
			assert.Error(t, err, what)
			assert.Zero(t, n, what)
			assert.Equal(t, []byte{1, 2, 3, 4, 9, 9, 9}, append(mem[:4:4], packed...), what)
		}
	}
	mem = append(mem, 5)
	for what, pack := range map[string]func(dst, mem []byte, origin, count int) (int, error){
		"pack": column.Pack, "pack external": column.PackExternal,
	} {
		n, err := pack(packed[:2], mem, 0, 1)
		assert.ErrorIs(t, err, errclass.Truncate, what)
		assert.Zero(t, n, what)
		assert.Equal(t, []byte{9, 9}, packed[:2], what)
	}
}

// TestExternal32 has bytes from the standard's definition (MPI-4.1, 14.5.2).
func TestExternal32(t *testing.T) {
	type record struct {
		A int16
		B float32
		C complex64
		D bool
		E [3]uint8
		F float64
	}
	r := []record{{A: 0x0102, B: 1, C: complex(2, -2), D: true, E: [3]uint8{5, 6, 7}, F: -1}}
	typ := must(datatype.Of[record]())
	want := []byte{1, 2, 0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0xc0, 0, 0, 0, 1, 5, 6, 7, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0}
	n, err := typ.PackExternalSize(1)
	require.NoError(t, err)
	require.Equal(t, len(want), n)
	got := make([]byte, n)
	n, err = typ.PackExternal(got, bytesOf(r), 0, 1)
	require.NoError(t, err)
	assert.Equal(t, len(want), n)
	assert.Equal(t, want, got)

	back := make([]record, 1)
	n, err = typ.UnpackExternal(bytesOf(back), 0, 1, want)
	require.NoError(t, err)
	assert.Equal(t, len(want), n)
	assert.Equal(t, r, back)

	n, err = typ.UnpackExternal(bytesOf(back), 0, 1, append(want, 1, 2, 3))
	require.NoError(t, err)
	assert.Equal(t, len(want), n, "what is behind the elements is not taken")
	n, err = typ.UnpackExternal(bytesOf(back), 0, 1, want[:12])
	require.NoError(t, err)
	assert.Equal(t, 10, n, "half a number is not taken")
}

// TestElementsInRefuses: a negative number of bytes is invalid.
func TestElementsInRefuses(t *testing.T) {
	n, whole := datatype.Float64.ElementsIn(-8)
	assert.Zero(t, n)
	assert.False(t, whole)
	n, whole = must(datatype.Contiguous(0, datatype.Int8)).ElementsIn(3)
	assert.Zero(t, n)
	assert.False(t, whole)
}

// TestSteadyStateAllocatesNothing: small messages are packed by whoever sends them.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	column := must(datatype.Vector(8, 1, 2, datatype.Float64))
	mem, buf := make([]byte, 128), make([]byte, 64)
	for what, call := range map[string]func(){
		"Of a scalar": func() { _, _ = datatype.Of[float64]() },
		"Of a struct": func() { _, _ = datatype.Of[particle]() },
		"Fits":        func() { _ = column.Fits(len(mem), 0, 1) },
		"Pack":        func() { _, _ = column.Pack(buf, mem, 0, 1) },
		"Unpack":      func() { _, _ = column.Unpack(mem, 0, 1, buf) },
		"external32": func() {
			_, _ = column.PackExternal(buf, mem, 0, 1)
			_, _ = column.UnpackExternal(mem, 0, 1, buf)
		},
		"Cursor": func() {
			c, _ := datatype.NewCursor(column, mem, 0, 1)
			for c.Left() > 0 {
				c.Pack(buf[:20])
			}
		},
	} {
		assert.Zero(t, testing.AllocsPerRun(100, call), what)
	}
}
