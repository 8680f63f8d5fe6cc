package reduce_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type real interface{ integer | float32 | float64 }

type numeric interface{ real | complex64 | complex128 }

// check applies op to random elements, at every alignment, and compares with
// the plain function of one pair.
func check[T numeric](t *testing.T, op *reduce.Op, ty *datatype.Type, random func(rng *rand.Rand) T, plain func(in, inout T) T) {
	t.Helper()
	require.NoError(t, op.ValidFor(ty), "%v %v", op, ty)
	size := ty.Size()
	for _, count := range []int{0, 1, 2, 3, 7, 8, 9, 300, 600} {
		for shift := range 9 {
			seed := uint64(count*10 + shift)
			rng := rand.New(rand.NewPCG(seed, uint64(size)))
			in, inout := make([]T, count), make([]T, count)
			want := make([]T, count)
			for i := range count {
				in[i], inout[i] = random(rng), random(rng)
				want[i] = plain(in[i], inout[i])
			}
			// Beyond the end nothing changes.
			packedIn := append(make([]byte, shift), encode(t, in)...)
			packedInout := append(append(make([]byte, 8-shift+size), encode(t, inout)...), 1, 2, 3)
			op.Apply(packedInout[8-shift+size:], packedIn[shift:], ty, count)
			require.Equal(t, append(encode(t, want), 1, 2, 3), packedInout[8-shift+size:],
				"%v %v count=%d seed=%d", op, ty, count, seed)
			require.Equal(t, encode(t, in), packedIn[shift:], "in was changed")
		}
	}
}

func encode[T any](t *testing.T, xs []T) []byte {
	b, err := binary.Append([]byte{}, binary.NativeEndian, xs)
	require.NoError(t, err)
	return b
}

func one[T integer](b bool) T {
	if b {
		return 1
	}
	return 0
}

func integers[T integer](t *testing.T, ty *datatype.Type) {
	random := func(rng *rand.Rand) T {
		if rng.IntN(3) == 0 {
			return T(rng.IntN(3)) // zeros for the logical ones
		}
		return T(rng.Uint64())
	}
	ordered(t, ty, random)
	check(t, reduce.LAnd, ty, random, func(a, b T) T { return one[T](a != 0 && b != 0) })
	check(t, reduce.LOr, ty, random, func(a, b T) T { return one[T](a != 0 || b != 0) })
	check(t, reduce.LXor, ty, random, func(a, b T) T { return one[T]((a == 0) != (b == 0)) })
	check(t, reduce.BAnd, ty, random, func(a, b T) T { return a & b })
	check(t, reduce.BOr, ty, random, func(a, b T) T { return a | b })
	check(t, reduce.BXor, ty, random, func(a, b T) T { return a ^ b })
}

func ordered[T real](t *testing.T, ty *datatype.Type, random func(rng *rand.Rand) T) {
	numbers(t, ty, random)
	check(t, reduce.Max, ty, random, func(a, b T) T {
		if a > b {
			return a
		}
		return b
	})
	check(t, reduce.Min, ty, random, func(a, b T) T {
		if a < b {
			return a
		}
		return b
	})
}

func numbers[T numeric](t *testing.T, ty *datatype.Type, random func(rng *rand.Rand) T) {
	check(t, reduce.Sum, ty, random, func(a, b T) T { return a + b })
	check(t, reduce.Prod, ty, random, func(a, b T) T { return a * b })
	check(t, reduce.Replace, ty, random, func(a, _ T) T { return a })
	check(t, reduce.NoOp, ty, random, func(_, b T) T { return b })
}

func TestEveryKind(t *testing.T) {
	integers[int8](t, datatype.Int8)
	integers[int16](t, datatype.Int16)
	integers[int32](t, datatype.Int32)
	integers[int64](t, datatype.Int64)
	integers[int64](t, datatype.Int)
	integers[uint8](t, datatype.Uint8)
	integers[uint16](t, datatype.Uint16)
	integers[uint32](t, datatype.Uint32)
	integers[uint64](t, datatype.Uint64)
	integers[uint64](t, datatype.Uintptr)
	integers[int64](t, datatype.Long)
	integers[uint64](t, datatype.Ulong)
	ordered(t, datatype.Float32, func(rng *rand.Rand) float32 { return float32(rng.NormFloat64()) })
	ordered(t, datatype.Float64, (*rand.Rand).NormFloat64)
	numbers(t, datatype.Complex64, func(rng *rand.Rand) complex64 {
		return complex(float32(rng.IntN(99)), float32(rng.IntN(99))) // exact, also when multiplied
	})
	numbers(t, datatype.Complex128, func(rng *rand.Rand) complex128 {
		return complex(float64(rng.IntN(99)), float64(rng.IntN(99)))
	})
	bit := func(rng *rand.Rand) uint8 { return uint8(rng.IntN(2)) }
	check(t, reduce.LAnd, datatype.Bool, bit, func(a, b uint8) uint8 { return a & b })
	check(t, reduce.LOr, datatype.Bool, bit, func(a, b uint8) uint8 { return a | b })
	check(t, reduce.LXor, datatype.Bool, bit, func(a, b uint8) uint8 { return a ^ b })
	octet := func(rng *rand.Rand) uint8 { return uint8(rng.Uint32()) }
	check(t, reduce.BAnd, datatype.Byte, octet, func(a, b uint8) uint8 { return a & b })
	check(t, reduce.BOr, datatype.Byte, octet, func(a, b uint8) uint8 { return a | b })
	check(t, reduce.BXor, datatype.Byte, octet, func(a, b uint8) uint8 { return a ^ b })
}

// TestNaN: the order makes no difference.
func TestNaN(t *testing.T) {
	nan := math.NaN()
	for _, op := range []*reduce.Op{reduce.Max, reduce.Min} {
		for _, pair := range [][2]float64{{nan, 1}, {1, nan}, {nan, nan}} {
			out := encode(t, pair[:1])
			op.Apply(out, encode(t, pair[1:]), datatype.Float64, 1)
			assert.True(t, math.IsNaN(math.Float64frombits(binary.NativeEndian.Uint64(out))), "%v %v", op, pair)
		}
	}
}

// TestDerived: the elements of a type that has several are combined one by one.
func TestDerived(t *testing.T) {
	three, err := datatype.Contiguous(3, datatype.Int16)
	require.NoError(t, err)
	out := encode(t, []int16{1, 2, 3, 4, 5, 6, 7})
	reduce.Sum.Apply(out, encode(t, []int16{10, 20, 30, 40, 50, 60, 70}), three, 2)
	assert.Equal(t, encode(t, []int16{11, 22, 33, 44, 55, 66, 7}), out)
}

// TestValidFor is the table of MPI-4.1, 6.9.2.
func TestValidFor(t *testing.T) {
	integers := []*datatype.Type{
		datatype.Int8, datatype.Int16, datatype.Int32, datatype.Int64, datatype.Int,
		datatype.Uint8, datatype.Uint16, datatype.Uint32, datatype.Uint64, datatype.Uint, datatype.Uintptr,
	}
	floats := []*datatype.Type{datatype.Float32, datatype.Float64}
	complexes := []*datatype.Type{datatype.Complex64, datatype.Complex128}
	pairs := []*datatype.Type{
		datatype.Int16Int32, datatype.Int32Int32, datatype.Int64Int32, datatype.Float32Int32, datatype.Float64Int32,
		datatype.Int16Int64, datatype.Int32Int64, datatype.Int64Int64, datatype.Float32Int64, datatype.Float64Int64,
	}
	mixed, err := datatype.Of[struct {
		A int32
		B float64
	}]()
	require.NoError(t, err)
	classes := [...][]*datatype.Type{integers, floats, complexes, {datatype.Bool}, {datatype.Byte}, pairs, {mixed}}
	for _, op := range reduce.Predefined {
		var valid [len(classes)]bool
		switch op {
		case reduce.Sum, reduce.Prod:
			valid = [...]bool{0: true, 1: true, 2: true, 6: false}
		case reduce.Max, reduce.Min:
			valid = [...]bool{0: true, 1: true, 6: false}
		case reduce.LAnd, reduce.LOr, reduce.LXor:
			valid = [...]bool{0: true, 3: true, 6: false}
		case reduce.BAnd, reduce.BOr, reduce.BXor:
			valid = [...]bool{0: true, 4: true, 6: false}
		case reduce.MaxLoc, reduce.MinLoc:
			valid = [...]bool{5: true, 6: false}
		default:
			valid = [...]bool{true, true, true, true, true, true, true}
		}
		for i, types := range classes {
			for _, ty := range types {
				err := op.ValidFor(ty)
				assert.Equal(t, valid[i], err == nil, "%v for %v: %v", op, ty, err)
				if err != nil {
					assert.ErrorIs(t, err, errclass.Op)
				}
			}
		}
	}
	assert.ErrorIs(t, reduce.Sum.ValidFor(nil), errclass.Type)
	var none *reduce.Op
	assert.ErrorIs(t, none.ValidFor(datatype.Int), errclass.Op)
}

// TestNew: a program's operator gets its arguments in MPI's order, and no more elements than it
// should.
func TestNew(t *testing.T) {
	_, err := reduce.New("nothing", true, nil)
	require.ErrorIs(t, err, errclass.Op)
	minus, err := reduce.New("minus", false, func(in, inout []byte, ty *datatype.Type, count int) {
		assert.Same(t, datatype.Uint8, ty)
		assert.Len(t, in, count)
		assert.Len(t, inout, count)
		for i := range inout {
			inout[i] = in[i] - inout[i]
		}
	})
	require.NoError(t, err)
	assert.Equal(t, "minus", minus.Name())
	assert.Equal(t, "minus", minus.String())
	assert.False(t, minus.Commutative())
	assert.True(t, reduce.Sum.Commutative())
	assert.True(t, reduce.Sum.Exact())
	assert.False(t, reduce.Replace.Exact())
	plus, err := reduce.New("plus", true, func([]byte, []byte, *datatype.Type, int) {})
	require.NoError(t, err)
	assert.True(t, plus.Commutative())
	assert.False(t, plus.Exact())
	require.NoError(t, minus.ValidFor(datatype.Uint8))
	out := []byte{1, 2, 3}
	minus.Apply(out, []byte{10, 10, 10}, datatype.Uint8, 2)
	assert.Equal(t, []byte{9, 8, 3}, out)
	minus.Apply(nil, nil, datatype.Uint8, 0)
}

func TestNoAllocation(t *testing.T) {
	in, out := make([]byte, 64), make([]byte, 64)
	for _, op := range reduce.Predefined {
		for _, ty := range []*datatype.Type{datatype.Int32, datatype.Float64, datatype.Float64Int32, datatype.LongDouble, datatype.LongDoubleComplex} {
			if op.ValidFor(ty) == nil {
				assert.Zero(t, testing.AllocsPerRun(100, func() { op.Apply(out, in, ty, 64/ty.Size()) }), "%v %v", op, ty)
			}
		}
	}
}
