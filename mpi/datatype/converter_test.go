package datatype_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// doubled is a representation for tests: each byte twice, the second time inverted, and a byte behind
// them. Its size depends on the size of the element only.
var doubled = &datatype.Representation{
	Size: func(k datatype.Kind) (int, error) { return 2*k.Size() + 1, nil },
	Encode: func(dst, src []byte, k datatype.Kind, n int) error {
		for i := range n {
			copy(dst[i*(2*k.Size()+1):], double(src[i*k.Size():][:k.Size()]))
		}
		return nil
	},
	Decode: func(dst, src []byte, k datatype.Kind, n int) error {
		for i := range n {
			from := src[i*(2*k.Size()+1):][:2*k.Size()+1]
			for j := range k.Size() {
				dst[i*k.Size()+j] = from[2*j]
				if from[2*j+1] != ^from[2*j] {
					return errors.New("not inverted")
				}
			}
		}
		return nil
	},
}

func double(b []byte) (out []byte) {
	for _, x := range b {
		out = append(out, x, ^x)
	}
	return append(out, 0xEE)
}

// TestConverterAgainstTypeMaps converts random types to a representation of other sizes, in pieces in
// any order, and back.
func TestConverterAgainstTypeMaps(t *testing.T) {
	seeds := uint64(seedsPerRun)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		r := generator(seed)
		g := generate(r, between(r, 0, 4))
		count := r.IntN(4)
		if len(g.m.leaves)*count > leavesMax {
			count = 1
		}
		all := g.m.elements(count)
		lb, extent := all.trueBounds()
		mem := make([]byte, extent)
		for i := range mem {
			mem[i] = byte(r.IntN(256))
		}
		var want []byte
		packedAt := []int{0} // how many packed bytes the elements have that end at or before a byte
		packed := 0
		for _, l := range all.leaves {
			b := double(mem[l.disp-lb:][:l.size])
			for range b[1:] {
				packedAt = append(packedAt, packed)
			}
			packed += l.size
			packedAt = append(packedAt, packed)
			want = append(want, b...)
		}
		c, err := datatype.NewConverter(doubled, g.t, mem, -lb, count)
		require.NoError(t, err)
		require.Equal(t, len(want), c.Size(), "%s, seed %d", g.text, seed)
		got := make([]byte, len(want))
		for _, p := range pieces(r, len(want)) {
			require.NoError(t, c.Pack(got[p[0]:p[1]], p[0]))
		}
		require.True(t, bytes.Equal(want, got), "%s, seed %d", g.text, seed)
		for range 10 {
			n := r.IntN(len(want) + 1)
			require.Equal(t, packedAt[n], c.Packed(n), "%d bytes of %s, seed %d", n, g.text, seed)
		}
		if all.overlaps() {
			continue
		}
		back := make([]byte, len(mem))
		c, err = datatype.NewConverter(doubled, g.t, back, -lb, count)
		require.NoError(t, err)
		for _, p := range pieces(r, len(want)) {
			require.NoError(t, c.Unpack(p[0], want[p[0]:p[1]]))
		}
		for _, l := range all.leaves {
			require.Equal(t, mem[l.disp-lb:][:l.size], back[l.disp-lb:][:l.size], "%s, seed %d", g.text, seed)
		}
	}
}

// pieces divides n bytes into pieces, in any order.
func pieces(r source, n int) (out [][2]int) {
	for at := 0; at < n; {
		k := min(between(r, 1, 1+r.IntN(80)), n-at)
		out = append(out, [2]int{at, at + k})
		at += k
	}
	for i := range out {
		j := r.IntN(i + 1)
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// same is a representation with the sizes of memory.
var same = &datatype.Representation{
	Size:   func(k datatype.Kind) (int, error) { return k.Size(), nil },
	Encode: func(dst, src []byte, _ datatype.Kind, _ int) error { copy(dst, src); return nil },
	Decode: func(dst, src []byte, _ datatype.Kind, _ int) error { copy(dst, src); return nil },
}

// TestInTheSameSizes: in a representation with the sizes of memory, every type is as in memory.
func TestInTheSameSizes(t *testing.T) {
	for seed := range uint64(400) {
		r := generator(seed)
		g := generate(r, between(r, 0, 4))
		in, err := g.t.In(same)
		require.NoError(t, err, g.text)
		want, got := runsOf(g.t), runsOf(in)
		require.Equal(t, want, got, "%s, seed %d", g.text, seed)
		external, err := g.t.In(datatype.External32)
		require.NoError(t, err)
		require.Same(t, g.t, external)
	}
	none, err := datatype.Struct(nil, nil, nil)
	require.NoError(t, err)
	in, err := none.In(same)
	require.NoError(t, err)
	require.Zero(t, in.Size())
	_, err = (*datatype.Type)(nil).In(same)
	require.ErrorIs(t, err, errclass.Type)
}

// runsOf lists the bounds of a type, and the bytes that it has.
func runsOf(t *datatype.Type) (all []int) {
	lb, extent := t.Extent()
	all = append(all, lb, extent)
	lb, extent = t.TrueExtent()
	all = append(all, lb, extent, t.Size())
	for r := range t.Runs(0, t.Size()) {
		for i := range r.Count {
			for b := range r.Len {
				all = append(all, r.Off+i*r.Stride+b)
			}
		}
	}
	return all
}

// TestInOtherSizes: types that count elements grow with them, and displacements in bytes stay.
func TestInOtherSizes(t *testing.T) {
	vector, err := datatype.Vector(2, 1, 3, datatype.Long)
	require.NoError(t, err)
	sub, err := datatype.Subarray([]int{4}, []int{2}, []int{1}, datatype.OrderC, vector)
	require.NoError(t, err)
	in, err := sub.In(datatype.External32)
	require.NoError(t, err)
	native, err := datatype.Vector(2, 1, 3, datatype.Int32)
	require.NoError(t, err)
	native, err = datatype.Subarray([]int{4}, []int{2}, []int{1}, datatype.OrderC, native)
	require.NoError(t, err)
	assert.Equal(t, runsOf(native), runsOf(in))

	s, err := datatype.Struct([]int{1, 2}, []int{0, 8}, []*datatype.Type{datatype.Wchar, datatype.LongInt32})
	require.NoError(t, err)
	in, err = s.In(datatype.External32)
	require.NoError(t, err)
	_, extent := in.Extent()
	assert.Equal(t, []int{18, 24}, []int{in.Size(), extent}, "a pair has a value of 4 bytes and an index of 4")
	dup, err := datatype.Dup(datatype.Ulong)
	require.NoError(t, err)
	in, err = dup.In(datatype.External32)
	require.NoError(t, err)
	assert.Equal(t, 4, in.Size())
}

// TestConversionErrors: what a representation reports, or does wrong.
func TestConversionErrors(t *testing.T) {
	refused := errors.New("refused")
	bad := &datatype.Representation{
		Size: func(k datatype.Kind) (int, error) {
			switch k {
			case datatype.KindInt8:
				return 0, nil
			case datatype.KindInt16:
				return 1 << 16, nil
			case datatype.KindInt32:
				return 4, refused
			}
			return k.Size(), nil
		},
		Encode: func(_, _ []byte, _ datatype.Kind, _ int) error { return refused },
		Decode: func(_, _ []byte, _ datatype.Kind, _ int) error { return refused },
	}
	mem := make([]byte, 64)
	for _, of := range []*datatype.Type{datatype.Int8, datatype.Int16, datatype.Int32, datatype.Int32Int32, datatype.Int64Int32} {
		_, err := datatype.NewConverter(bad, of, mem, 0, 1)
		assert.ErrorIs(t, err, errclass.Conversion, "%v", of)
		_, err = of.In(bad)
		assert.ErrorIs(t, err, errclass.Conversion, "%v", of)
		nested, err := datatype.Contiguous(2, of)
		require.NoError(t, err)
		_, err = nested.In(bad)
		assert.ErrorIs(t, err, errclass.Conversion, "%v", of)
	}
	c, err := datatype.NewConverter(bad, datatype.Int64, mem, 0, 4)
	require.NoError(t, err)
	for _, n := range []int{3, 8, 32} {
		err := c.Pack(make([]byte, n), 0)
		assert.ErrorIs(t, err, errclass.Conversion)
		assert.ErrorIs(t, err, refused)
	}
	assert.NoError(t, c.Unpack(0, make([]byte, 3)))
	assert.ErrorIs(t, c.Unpack(3, make([]byte, 5)), errclass.Conversion)
	assert.ErrorIs(t, c.Unpack(8, make([]byte, 8)), errclass.Conversion)

	_, err = datatype.NewConverter(same, datatype.Int64, mem, 0, 9)
	assert.ErrorIs(t, err, errclass.Buffer)
	empty, err := datatype.Contiguous(0, datatype.Int64)
	require.NoError(t, err)
	c, err = datatype.NewConverter(same, empty, nil, 0, 3)
	require.NoError(t, err)
	assert.Zero(t, c.Size())
	assert.NoError(t, c.Pack(nil, 0))
	assert.NoError(t, c.Unpack(0, nil))
	huge := &datatype.Representation{Size: func(datatype.Kind) (int, error) { return 1 << 15, nil }}
	none, err := datatype.Resized(datatype.Byte, 0, 0)
	require.NoError(t, err)
	_, err = datatype.NewConverter(huge, none, mem, 0, 1<<50)
	assert.ErrorIs(t, err, errclass.ValueTooLarge)
}

// external is what external32 makes of one element in memory.
func external(t *testing.T, of *datatype.Type, mem []byte) []byte {
	n, err := of.PackExternalSize(1)
	require.NoError(t, err)
	out := make([]byte, n)
	_, err = of.PackExternal(out, mem, 0, 1)
	require.NoError(t, err)
	return out
}

func native[T any](t *testing.T, x T) []byte {
	b, err := binary.Append(nil, binary.NativeEndian, x)
	require.NoError(t, err)
	return b
}

// TestExternal32OfOtherSizes: integers that do not fit keep their lowest bytes, and their sign.
func TestExternal32OfOtherSizes(t *testing.T) {
	for x, want := range map[int64]int32{
		0: 0, 1: 1, -1: -1, 1<<31 - 1: 1<<31 - 1, -1 << 31: -1 << 31, 1 << 31: 0, 1<<40 + 5: 5, -1<<40 + 5: -1<<31 + 5, -1 << 63: -1 << 31,
	} {
		b := external(t, datatype.Long, native(t, x))
		assert.Equal(t, want, int32(binary.BigEndian.Uint32(b)), "%d", x)
		back := make([]byte, 8)
		n, err := datatype.Long.UnpackExternal(back, 0, 1, b)
		require.NoError(t, err)
		assert.Equal(t, 4, n)
		assert.Equal(t, native(t, int64(want)), back)
	}
	for x, want := range map[uint64]uint32{0: 0, 1<<32 - 1: 1<<32 - 1, 1<<40 + 5: 5} {
		b := external(t, datatype.Ulong, native(t, x))
		assert.Equal(t, want, binary.BigEndian.Uint32(b), "%d", x)
		back := make([]byte, 8)
		_, err := datatype.Ulong.UnpackExternal(back, 0, 1, b)
		require.NoError(t, err)
		assert.Equal(t, native(t, uint64(want)), back)
	}
	b := external(t, datatype.Wchar, native(t, uint32('ä')))
	assert.Equal(t, []byte{0, 0xe4}, b)
	back := make([]byte, 4)
	n, err := datatype.Wchar.UnpackExternal(back, 0, 1, []byte{0xff, 0xfe, 7})
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.Equal(t, native(t, uint32(0xfffe)), back)
	b = external(t, datatype.Integer16, native(t, [2]uint64{0x0f0e0d0c0b0a0908, 0x0706050403020100}))
	slices.Sort(b)
	assert.Equal(t, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, b)
}

// TestExternal32Golden: vectors of external32, which go test ./mpi/datatype -run
// TestExternal32Golden -update writes.
func TestExternal32Golden(t *testing.T) {
	var vectors []golden.Vector
	for _, x := range []struct {
		name string
		x    float64
	}{{"zero", 0}, {"one", 1}, {"minus-two-and-a-half", -2.5}, {"smallest", 0x1p-1074}, {"largest", 0x1.fffffffffffffp+1023}} {
		long := number.LongDoubleFromFloat64(x.x)
		hi, lo := long.Bits()
		b := external(t, datatype.LongDouble, native(t, [2]uint64{lo, hi}))
		vectors = append(vectors, golden.Vector{Name: "long-double-" + x.name, Bytes: b})
		assert.Equal(t, b, external(t, datatype.LongDoubleComplex, native(t, [4]uint64{lo, hi, lo, hi}))[16:])
		back := make([]byte, 16)
		_, err := datatype.LongDouble.UnpackExternal(back, 0, 1, b)
		require.NoError(t, err)
		assert.Equal(t, native(t, [2]uint64{lo, hi}), back, x.name)
	}
	for _, s := range datatype.Standards {
		mem := make([]byte, 32)
		for i := range mem {
			mem[i] = byte(i + 1)
		}
		if _, _, pair := s.Type.Kind().Pair(); !pair && s.Type.Kind() != datatype.KindLongDouble && s.Type.Kind() != datatype.KindLongDoubleComplex {
			vectors = append(vectors, golden.Vector{Name: s.Name, Bytes: external(t, s.Type, mem)})
		}
	}
	golden.CheckVectors(t, "testdata/external32.txt", vectors)
}

// TestExternal32Rounds: what long double cannot hold is rounded to nearest, ties to even.
func TestExternal32Rounds(t *testing.T) {
	if number.LongDoubleIsFloat128 {
		t.Skip("a long double holds all numbers of external32")
	}
	unpack := func(hi, lo uint64) (rhi, rlo uint64) {
		src := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, hi), lo)
		mem := make([]byte, 16)
		_, err := datatype.LongDouble.UnpackExternal(mem, 0, 1, src)
		require.NoError(t, err)
		return binary.NativeEndian.Uint64(mem[8:]), binary.NativeEndian.Uint64(mem)
	}
	const one = 0x3fff << 48
	for _, c := range []struct{ hi, lo, rhi, rlo uint64 }{
		{one, 0, 0x3fff, 1 << 63},
		{one, 1 << 48, 0x3fff, 1 << 63}, // half of the last place: to even
		{one, 1<<48 + 1, 0x3fff, 1<<63 + 1},
		{one, 3 << 48, 0x3fff, 1<<63 + 2},
		{0x7ffe<<48 | 1<<48 - 1, ^uint64(0), 0x7fff, 1 << 63}, // overflows
		{0xffff << 48, 0, 0xffff, 1 << 63},
		{0, 1 << 49, 0, 1},
		{0, 1 << 48, 0, 0},
	} {
		rhi, rlo := unpack(c.hi, c.lo)
		assert.Equal(t, []uint64{c.rhi, c.rlo}, []uint64{rhi, rlo}, "%x %x", c.hi, c.lo)
	}
	rhi, rlo := unpack(0x7fff<<48, 1)
	assert.True(t, number.LongDoubleFromBits(rhi, rlo).IsNaN(), "a NaN whose bits are lost")
}

// FuzzExternal32 unpacks untrusted bytes as elements that are converted: what was unpacked is packed
// to the same bytes, except for what rounding and NaNs lose, and then to the same again.
func FuzzExternal32(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		b := make([]byte, 60)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		f.Add(b)
	}
	of, err := datatype.Struct([]int{1, 2, 1, 1, 1}, []int{0, 8, 16, 32, 64},
		[]*datatype.Type{datatype.Long, datatype.Wchar, datatype.LongDouble, datatype.LongDoubleComplex, datatype.Ulong})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, src []byte) {
		mem := make([]byte, 72)
		n, err := of.UnpackExternal(mem, 0, 1, src)
		require.NoError(t, err)
		require.LessOrEqual(t, n, len(src))
		once := external(t, of, mem)
		if n >= 8 {
			require.Equal(t, src[:8], once[:8], "integers and characters")
		}
		again := make([]byte, 72)
		_, err = of.UnpackExternal(again, 0, 1, once)
		require.NoError(t, err)
		require.Equal(t, once, external(t, of, again))
	})
}
