package reduce_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/number"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// bytesOf is the memory of elements.
func bytesOf[T any](xs []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(xs))), len(xs)*int(unsafe.Sizeof(*new(T))))
}

// checkSoft applies op to random elements, at every alignment, and compares with the plain function
// of one pair.
func checkSoft[T any](t *testing.T, op *reduce.Op, random func(r *rand.Rand) T, plain func(in, inout T) T) {
	t.Helper()
	ty, err := datatype.Of[T]()
	require.NoError(t, err)
	require.NoError(t, op.ValidFor(ty), "%v %v", op, ty)
	for _, count := range []int{1, 2, 300} {
		for shift := range 9 {
			r := rand.New(rand.NewPCG(uint64(count), uint64(shift)))
			in, inout, want := make([]T, count), make([]T, count), make([]T, count)
			for i := range count {
				in[i], inout[i] = random(r), random(r)
				want[i] = plain(in[i], inout[i])
			}
			packedIn := append(make([]byte, shift), bytesOf(in)...)
			packed := append(make([]byte, 8-shift), bytesOf(inout)...)
			op.Apply(packed[8-shift:], packedIn[shift:], ty, count)
			require.Equal(t, bytesOf(want), packed[8-shift:], "%v %v count=%d shift=%d", op, ty, count, shift)
			require.Equal(t, bytesOf(in), packedIn[shift:], "in was changed")
		}
	}
}

func arithmetic[T number.Arithmetic[T]](t *testing.T, random func(r *rand.Rand) T) {
	t.Helper()
	checkSoft(t, reduce.Sum, random, func(a, b T) T { return a.Add(b) })
	checkSoft(t, reduce.Prod, random, func(a, b T) T { return a.Mul(b) })
	checkSoft(t, reduce.Replace, random, func(a, _ T) T { return a })
	checkSoft(t, reduce.NoOp, random, func(_, b T) T { return b })
}

func orderedSoft[T number.Ordered[T]](t *testing.T, random func(r *rand.Rand) T) {
	t.Helper()
	arithmetic(t, random)
	checkSoft(t, reduce.Max, random, func(a, b T) T {
		if b.Less(a) {
			return a
		}
		return b
	})
	checkSoft(t, reduce.Min, random, func(a, b T) T {
		if a.Less(b) {
			return a
		}
		return b
	})
}

func TestNumbersOfC(t *testing.T) {
	long := func(r *rand.Rand) number.LongDouble { return number.LongDoubleFromFloat64(r.NormFloat64()) }
	quad := func(r *rand.Rand) number.Float128 { return number.Float128FromFloat64(r.NormFloat64()) }
	half := func(r *rand.Rand) number.Float16 { return number.Float16FromFloat64(r.NormFloat64()) }
	wide := func(r *rand.Rand) number.Int128 { return number.Int128FromBits(r.Uint64(), r.Uint64()) }
	orderedSoft(t, long)
	orderedSoft(t, quad)
	orderedSoft(t, half)
	orderedSoft(t, wide)
	arithmetic(t, func(r *rand.Rand) number.Complex[number.LongDouble] {
		return number.Complex[number.LongDouble]{Re: long(r), Im: long(r)}
	})
	arithmetic(t, func(r *rand.Rand) number.Complex[number.Float128] {
		return number.Complex[number.Float128]{Re: quad(r), Im: quad(r)}
	})
	arithmetic(t, func(r *rand.Rand) number.Complex[number.Float16] {
		return number.Complex[number.Float16]{Re: half(r), Im: half(r)}
	})
	bits := func(op *reduce.Op, f func(a, b uint64) uint64) {
		checkSoft(t, op, wide, func(a, b number.Int128) number.Int128 {
			ahi, alo := a.Bits()
			bhi, blo := b.Bits()
			return number.Int128FromBits(f(ahi, bhi), f(alo, blo))
		})
	}
	bits(reduce.BAnd, func(a, b uint64) uint64 { return a & b })
	bits(reduce.BOr, func(a, b uint64) uint64 { return a | b })
	bits(reduce.BXor, func(a, b uint64) uint64 { return a ^ b })
}

// TestComplexProduct: (1+2i)(3+4i) = -5+10i.
func TestComplexProduct(t *testing.T) {
	of := func(re, im float64) number.Complex[number.LongDouble] {
		return number.Complex[number.LongDouble]{Re: number.LongDoubleFromFloat64(re), Im: number.LongDoubleFromFloat64(im)}
	}
	assert.Equal(t, of(-5, 10), of(1, 2).Mul(of(3, 4)))
	assert.Equal(t, of(4, 6), of(1, 2).Add(of(3, 4)))
}

// TestSoftNaN: the order makes no difference, and of zeros the positive one is larger.
func TestSoftNaN(t *testing.T) {
	of := number.LongDoubleFromFloat64
	nan, zero, minus := of(math.NaN()), of(0), of(math.Copysign(0, -1))
	apply := func(op *reduce.Op, a, b number.LongDouble) number.LongDouble {
		out := []number.LongDouble{b}
		op.Apply(bytesOf(out), bytesOf([]number.LongDouble{a}), datatype.LongDouble, 1)
		return out[0]
	}
	for _, op := range []*reduce.Op{reduce.Max, reduce.Min} {
		assert.True(t, apply(op, nan, of(1)).IsNaN())
		assert.True(t, apply(op, of(1), nan).IsNaN())
		assert.True(t, apply(op, nan, nan).IsNaN())
	}
	for _, z := range [][2]number.LongDouble{{zero, minus}, {minus, zero}} {
		assert.Equal(t, zero, apply(reduce.Max, z[0], z[1]))
		assert.Equal(t, minus, apply(reduce.Min, z[0], z[1]))
	}
}

// TestLongDoubleLocation: MaxLoc and MinLoc of long doubles.
func TestLongDoubleLocation(t *testing.T) {
	type pair = datatype.Pair[number.LongDouble, int32]
	of := func(x float64, i int32) pair { return pair{Value: number.LongDoubleFromFloat64(x), Index: i} }
	minus := math.Copysign(0, -1)
	for _, c := range []struct{ a, b, larger, smaller pair }{
		{of(1, 5), of(2, 4), of(2, 4), of(1, 5)},
		{of(2, 4), of(1, 5), of(2, 4), of(1, 5)},
		{of(1, 5), of(1, 4), of(1, 4), of(1, 4)},
		{of(minus, 5), of(0, 4), of(0, 4), of(0, 4)},
		{of(minus, 3), of(0, 4), of(minus, 3), of(minus, 3)},
		{of(math.NaN(), 5), of(9, 4), of(math.NaN(), 5), of(math.NaN(), 5)},
		{of(9, 5), of(math.NaN(), 4), of(math.NaN(), 4), of(math.NaN(), 4)},
	} {
		for op, want := range map[*reduce.Op]pair{reduce.MaxLoc: c.larger, reduce.MinLoc: c.smaller} {
			in, out := packPair(t, c.a), packPair(t, c.b)
			op.Apply(out, in, datatype.LongDoubleInt32, 1)
			assert.Equal(t, packPair(t, want), out, "%v of %v and %v", op, c.a, c.b)
		}
	}
}

// packPair is a pair without the padding that Go has.
func packPair(t *testing.T, p datatype.Pair[number.LongDouble, int32]) []byte {
	ty, err := datatype.Of[datatype.Pair[number.LongDouble, int32]]()
	require.NoError(t, err)
	out := make([]byte, ty.Size())
	_, err = ty.Pack(out, bytesOf([]datatype.Pair[number.LongDouble, int32]{p}), 0, 1)
	require.NoError(t, err)
	return out
}

// TestLogicals: every value except 0 is true; the result is 0 or 1.
func TestLogicals(t *testing.T) {
	for _, ty := range []*datatype.Type{datatype.Logical1, datatype.Logical2, datatype.Logical4, datatype.Logical8, datatype.Logical16} {
		for bits := range 4 {
			a, b := bits&1 != 0, bits&2 != 0
			for op, want := range map[*reduce.Op]bool{reduce.LAnd: a && b, reduce.LOr: a || b, reduce.LXor: a != b} {
				truth := func(x bool, at int) []byte {
					out := make([]byte, ty.Size())
					if x {
						out[at] = 0x40
					}
					return out
				}
				out := truth(b, 0)
				op.Apply(out, truth(a, ty.Size()-1), ty, 1)
				one := make([]byte, ty.Size())
				if want {
					one[0] = 1
				}
				assert.Equal(t, one, out, "%v of %v", op, ty)
			}
		}
	}
}
