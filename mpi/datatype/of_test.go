package datatype_test

import (
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func of[T any]() (any, *datatype.Type, error) {
	t, err := datatype.Of[T]()
	return *new(T), t, err
}

func TestOfScalars(t *testing.T) {
	check := func(want *datatype.Type, kind datatype.Kind) func(v any, got *datatype.Type, err error) {
		return func(v any, got *datatype.Type, err error) {
			require.NoError(t, err)
			assert.Same(t, want, got, "%T", v)
			assert.Equal(t, kind, got.Kind(), "%T", v)
			assert.True(t, got.Contiguous(), "%T", v)
			assert.EqualValues(t, reflect.TypeOf(v).Size(), got.Size(), "%T", v)
			assert.Equal(t, kind.Size(), got.Size(), "%T", v)
		}
	}
	check(datatype.Bool, datatype.KindBool)(of[bool]())
	check(datatype.Int, datatype.KindInt64)(of[int]())
	check(datatype.Int8, datatype.KindInt8)(of[int8]())
	check(datatype.Int16, datatype.KindInt16)(of[int16]())
	check(datatype.Int32, datatype.KindInt32)(of[int32]())
	check(datatype.Int64, datatype.KindInt64)(of[int64]())
	check(datatype.Uint, datatype.KindUint64)(of[uint]())
	check(datatype.Uint8, datatype.KindUint8)(of[byte]())
	check(datatype.Uint16, datatype.KindUint16)(of[uint16]())
	check(datatype.Uint32, datatype.KindUint32)(of[uint32]())
	check(datatype.Uint64, datatype.KindUint64)(of[uint64]())
	check(datatype.Uintptr, datatype.KindUint64)(of[uintptr]())
	check(datatype.Float32, datatype.KindFloat32)(of[float32]())
	check(datatype.Float64, datatype.KindFloat64)(of[float64]())
	check(datatype.Float64, datatype.KindFloat64)(of[celsius]())
	check(datatype.Complex64, datatype.KindComplex64)(of[complex64]())
	check(datatype.Complex128, datatype.KindComplex128)(of[complex128]())
}

func checkPair[V int16 | int32 | int64 | int | float32 | float64, I int32 | int64 | int](t *testing.T, want *datatype.Type) {
	p := []datatype.Pair[V, I]{{Value: 3, Index: 4}, {Value: 5, Index: 6}}
	got, err := datatype.Of[datatype.Pair[V, I]]()
	require.NoError(t, err)
	assert.Same(t, want, got, "%T", p)
	_, extent := got.Extent()
	assert.EqualValues(t, reflect.TypeOf(p).Elem().Size(), extent, "%T", p)
	value, index, ok := got.Kind().Pair()
	assert.True(t, ok, "%T", p)
	assert.EqualValues(t, reflect.TypeFor[V]().Size(), value.Size(), "%T", p)
	assert.EqualValues(t, reflect.TypeFor[I]().Size(), index.Size(), "%T", p)
	assert.Equal(t, got.Kind().Size(), got.Size(), "%T", p)
	assert.Equal(t, value.Size()+index.Size(), got.Size(), "%T", p)
	roundTrip(t, p)
}

func TestOfPairs(t *testing.T) {
	checkPair[int16, int32](t, datatype.Int16Int32)
	checkPair[int32, int32](t, datatype.Int32Int32)
	checkPair[int64, int32](t, datatype.Int64Int32)
	checkPair[int, int32](t, datatype.Int64Int32)
	checkPair[float32, int32](t, datatype.Float32Int32)
	checkPair[float64, int32](t, datatype.Float64Int32)
	checkPair[int16, int](t, datatype.Int16Int64)
	checkPair[int32, int](t, datatype.Int32Int64)
	checkPair[int64, int](t, datatype.Int64Int64)
	checkPair[int, int](t, datatype.Int64Int64)
	checkPair[float32, int](t, datatype.Float32Int64)
	checkPair[float64, int](t, datatype.Float64Int64)
	checkPair[int16, int64](t, datatype.Int16Int64)
	checkPair[int32, int64](t, datatype.Int32Int64)
	checkPair[int64, int64](t, datatype.Int64Int64)
	checkPair[int, int64](t, datatype.Int64Int64)
	checkPair[float32, int64](t, datatype.Float32Int64)
	checkPair[float64, int64](t, datatype.Float64Int64)
}

// roundTrip packs and unpacks xs, native and external.
func roundTrip[T any](t *testing.T, xs []T) *datatype.Type {
	typ, err := datatype.Of[T]()
	require.NoError(t, err)
	lb, extent := typ.Extent()
	require.Zero(t, lb)
	require.EqualValues(t, reflect.TypeFor[T]().Size(), extent)
	n, err := typ.PackSize(len(xs))
	require.NoError(t, err)
	packed := make([]byte, n)

	_, err = typ.Pack(packed, bytesOf(xs), 0, len(xs))
	require.NoError(t, err)
	back := make([]T, len(xs))
	_, err = typ.Unpack(bytesOf(back), 0, len(xs), packed)
	require.NoError(t, err)
	assert.Equal(t, xs, back)

	_, err = typ.PackExternal(packed, bytesOf(xs), 0, len(xs))
	require.NoError(t, err)
	back = make([]T, len(xs))
	_, err = typ.UnpackExternal(bytesOf(back), 0, len(xs), packed)
	require.NoError(t, err)
	assert.Equal(t, xs, back)
	return typ
}

func TestOfStructs(t *testing.T) {
	assert.Equal(t, 33, roundTrip(t, []particle{
		{ID: 1, Position: [3]float64{1, 2, 3}, Charge: -1, Momentum: 4}, {ID: 2, Charge: 1, Momentum: 0.5},
	}).Size())

	type inner struct {
		B bool
		C [2]complex64
	}
	type outer struct {
		In   [3]inner
		_    [5]int64
		Tail uint16
		Last uint8
	}
	mixed := roundTrip(t, []outer{{In: [3]inner{{true, [2]complex64{1, 2i}}}, Tail: 7, Last: 8}, {Tail: 9}})
	assert.Equal(t, 3*17+3, mixed.Size(), "blank fields and padding do not travel")
	assert.Equal(t, datatype.KindNone, mixed.Kind())
	assert.Equal(t, "datatype_test.outer", mixed.Name())

	type point struct{ X, Y, Z float32 }
	dense := roundTrip(t, []point{{1, 2, 3}, {4, 5, 6}})
	assert.True(t, dense.Contiguous())
	assert.Equal(t, datatype.KindFloat32, dense.Kind())
	assert.Equal(t, 3, dense.Elements())

	// Alignment alone would make the extent 2, not 8.
	type padded struct {
		A uint16
		_ [6]byte
	}
	roundTrip(t, []padded{{A: 1}, {A: 2}})

	roundTrip(t, [][4]int16{{1, 2}, {3, 4}})
	roundTrip(t, [][0]int16{{}, {}})
	roundTrip(t, []struct{}{{}, {}})
	roundTrip(t, []struct {
		P datatype.Pair[float64, int]
		N int8
	}{{P: datatype.Pair[float64, int]{Value: 2, Index: 3}, N: 1}})
}

func TestOfRefusesPointers(t *testing.T) {
	refused := func(v any, got *datatype.Type, err error) {
		assert.Nil(t, got, "%T", v)
		assert.ErrorIs(t, err, errclass.Type, "%T", v)
	}
	refused(of[string]())
	refused(of[[]int]())
	refused(of[map[int]int]())
	refused(of[*int]())
	refused(of[any]())
	refused(of[chan int]())
	refused(of[func()]())
	refused(of[[3]string]())
	type deep struct {
		A int
		B [2]struct{ Name string }
	}
	refused(of[deep]())
	_, err := datatype.Of[deep]()
	assert.ErrorContains(t, err, "field B of datatype_test.deep")
	assert.ErrorContains(t, err, "field Name of")
	assert.ErrorContains(t, err, "string has no datatype")
}

// TestOfIsOneType: all callers get the same type, even if their first calls run at the same time.
func TestOfIsOneType(t *testing.T) {
	type fresh struct {
		A int32
		B float64
	}
	got := make([]*datatype.Type, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i], _ = datatype.Of[fresh]() })
	}
	all.Wait()
	for _, g := range got {
		require.NotNil(t, g)
		assert.Same(t, got[0], g)
	}
	byReflection, err := datatype.OfReflect(reflect.TypeFor[fresh]())
	require.NoError(t, err)
	assert.Same(t, got[0], byReflection)
	scalar, err := datatype.OfReflect(reflect.TypeFor[celsius]())
	require.NoError(t, err)
	assert.Same(t, datatype.Float64, scalar)
}
