package datatype_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// choices is a source of the bytes of a fuzzer; behind their end all choices are 0.
type choices struct{ rest []byte }

func (c *choices) IntN(n int) int {
	if len(c.rest) == 0 {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return int(b) % n
}

// FuzzUnpack unpacks untrusted bytes into any type, at any place of a memory: nothing outside of
// the memory changes, and bytes are taken only if there are any.
func FuzzUnpack(f *testing.F) {
	for seed := range uint64(20) {
		r := generator(seed)
		how := make([]byte, 40)
		for i := range how {
			how[i] = byte(r.IntN(256))
		}
		f.Add(how, []byte("0123456789abcdef"), 1024, 100, 2)
	}
	f.Add([]byte{}, []byte{1}, 8, 0, math.MaxInt)
	f.Add([]byte{1, 2, 3}, []byte{1}, 8, math.MinInt, math.MinInt)
	f.Fuzz(func(t *testing.T, how, src []byte, size, origin, count int) {
		g := generate(&choices{how}, 4)
		const fence = 64
		size = max(0, size%4096)
		mem := bytes.Repeat([]byte{0xAA}, size+2*fence)
		inner := mem[fence : fence+size : fence+size]
		refusal := g.t.Fits(size, origin, count)
		if refusal == nil {
			refusal = g.t.Distinct(count)
		}
		for _, unpack := range []func(mem []byte, origin, count int, src []byte) (int, error){g.t.Unpack, g.t.UnpackExternal} {
			n, err := unpack(inner, origin, count, src)
			require.Equal(t, refusal, err, g.text)
			require.LessOrEqual(t, n, len(src), g.text)
		}
		fenced := bytes.Repeat([]byte{0xAA}, fence)
		require.Equal(t, fenced, mem[:fence], g.text)
		require.Equal(t, fenced, mem[fence+size:], g.text)
		_, _ = g.t.ElementsIn(count)
		c, err := datatype.NewCursor(g.t, inner, origin, count)
		if err == nil {
			c.Skip(origin)
			c.Unpack(src)
			c.Rewind()
			c.Pack(src)
		}
	})
}

// FuzzConstruct passes any numbers to constructors: they make a type with correct numbers, or
// return an error.
func FuzzConstruct(f *testing.F) {
	for _, n := range []uint64{0, 1, 2, 1 << 31, 1 << 32, math.MaxInt64, 1 << 63, math.MaxUint64} {
		f.Add(binary.BigEndian.AppendUint64([]byte{1, 3, 2}, n))
		f.Add(bytes.Repeat(binary.BigEndian.AppendUint64([]byte{7, 6, 5}, n), 4))
	}
	f.Fuzz(func(t *testing.T, how []byte) {
		typ := datatype.Float64
		for len(how) > 0 {
			var a [4]int
			form := how[0]
			how = how[1:]
			for i := range a {
				if form>>(4+i)&1 == 0 || len(how) < 8 {
					a[i] = (&choices{how}).IntN(9)
					how = how[min(1, len(how)):]
				} else {
					a[i] = int(binary.BigEndian.Uint64(how))
					how = how[8:]
				}
			}
			if next, err := construct(form&15, a, typ); err == nil {
				typ = next
			}
			mem := make([]byte, 100)
			if typ.Fits(len(mem), a[0], a[1]) == nil && typ.Distinct(a[1]) == nil {
				_, err := typ.UnpackExternal(mem, a[0], a[1], how)
				require.NoError(t, err)
			}
			require.GreaterOrEqual(t, typ.Size(), 0)
			_, extent := typ.TrueExtent()
			require.GreaterOrEqual(t, extent, 0)
			_, _ = typ.ElementsIn(a[2])
		}
	})
}

func construct(which byte, a [4]int, t *datatype.Type) (*datatype.Type, error) {
	switch which {
	case 0:
		return datatype.Contiguous(a[0], t)
	case 1:
		return datatype.Vector(a[0], a[1], a[2], t)
	case 2:
		return datatype.Hvector(a[0], a[1], a[2], t)
	case 3:
		return datatype.Indexed(a[:2], a[2:], t)
	case 4:
		return datatype.Hindexed(a[:2], a[2:], t)
	case 5:
		return datatype.IndexedBlock(a[0], a[1:], t)
	case 6:
		return datatype.HindexedBlock(a[0], a[1:], t)
	case 7:
		return datatype.Struct(a[:2], a[2:], []*datatype.Type{t, datatype.Int16})
	case 8:
		return datatype.Subarray([]int{a[0], 5}, []int{a[1], 2}, []int{a[2], 1}, datatype.Order(a[3]), t)
	case 9:
		return datatype.Darray(a[0], a[1], []int{a[2]}, []datatype.Distribution{datatype.Distribution(a[3] & 3)}, []int{a[3]}, []int{a[0]}, datatype.OrderC, t)
	default:
		return datatype.Resized(t, a[0], a[1])
	}
}
