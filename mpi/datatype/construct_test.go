package datatype_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// must is for what cannot go wrong.
func must(t *datatype.Type, err error) *datatype.Type {
	if err != nil {
		panic(err)
	}
	return t
}

// The examples of MPI-4.1, 5.1.2, 5.1.4 and 5.1.7, with the standard's Type1 = {(double,
// 0), (char, 8)}, whose extent is 16.
func TestExamplesOfTheStandard(t *testing.T) {
	type1 := must(datatype.Struct([]int{1, 1}, []int{0, 8}, []*datatype.Type{datatype.Float64, datatype.Int8}))
	for _, c := range []struct {
		name             string
		t                *datatype.Type
		lb, extent, size int
	}{
		{"oldtype", type1, 0, 16, 9},
		{"contiguous(3)", must(datatype.Contiguous(3, type1)), 0, 48, 27},
		{"vector(2,3,4)", must(datatype.Vector(2, 3, 4, type1)), 0, 112, 54},
		{"vector(3,1,-2)", must(datatype.Vector(3, 1, -2, type1)), -64, 80, 27},
		{"indexed((3,1),(4,0))", must(datatype.Indexed([]int{3, 1}, []int{4, 0}, type1)), 0, 112, 36},
		{"struct((2,1,3),(0,16,26))", must(datatype.Struct([]int{2, 1, 3}, []int{0, 16, 26},
			[]*datatype.Type{datatype.Float32, type1, datatype.Int8})), 0, 32, 20},
		{"resized(-3, 9)", must(datatype.Resized(datatype.Int32, -3, 9)), -3, 9, 4},
		{"contiguous(2) of it", must(datatype.Contiguous(2, must(datatype.Resized(datatype.Int32, -3, 9)))), -3, 18, 8},
	} {
		lb, extent := c.t.Extent()
		assert.Equal(t, []int{c.lb, c.extent, c.size}, []int{lb, extent, c.t.Size()}, c.name)
	}
}

func TestContents(t *testing.T) {
	f, i := datatype.Float64, datatype.Int32
	one, both := []*datatype.Type{f}, []*datatype.Type{f, i}
	darray := must(datatype.Darray(6, 4, []int{10, 20}, []datatype.Distribution{datatype.DistributeBlock, datatype.DistributeCyclic},
		[]int{datatype.DefaultArg, 3}, []int{2, 3}, datatype.OrderFortran, f))
	for _, c := range []struct {
		t    *datatype.Type
		want datatype.Contents
	}{
		{f, datatype.Contents{}},
		{must(datatype.Dup(f)), datatype.Contents{Combiner: datatype.CombinerDup, Types: one}},
		{must(datatype.Contiguous(3, f)), datatype.Contents{Combiner: datatype.CombinerContiguous, Ints: []int{3}, Types: one}},
		{must(datatype.Vector(3, 2, 4, f)), datatype.Contents{Combiner: datatype.CombinerVector, Ints: []int{3, 2, 4}, Types: one}},
		{must(datatype.Hvector(3, 2, 4, f)), datatype.Contents{Combiner: datatype.CombinerHvector, Ints: []int{3, 2}, Addrs: []int{4}, Types: one}},
		{must(datatype.Indexed([]int{1, 2}, []int{3, 4}, f)), datatype.Contents{Combiner: datatype.CombinerIndexed, Ints: []int{2, 1, 2, 3, 4}, Types: one}},
		{must(datatype.Hindexed([]int{1, 2}, []int{3, 4}, f)), datatype.Contents{Combiner: datatype.CombinerHindexed, Ints: []int{2, 1, 2}, Addrs: []int{3, 4}, Types: one}},
		{must(datatype.IndexedBlock(7, []int{3, 4}, f)), datatype.Contents{Combiner: datatype.CombinerIndexedBlock, Ints: []int{2, 7, 3, 4}, Types: one}},
		{must(datatype.HindexedBlock(7, []int{3, 4}, f)), datatype.Contents{Combiner: datatype.CombinerHindexedBlock, Ints: []int{2, 7}, Addrs: []int{3, 4}, Types: one}},
		{must(datatype.Struct([]int{1, 2}, []int{0, 8}, both)), datatype.Contents{Combiner: datatype.CombinerStruct, Ints: []int{2, 1, 2}, Addrs: []int{0, 8}, Types: both}},
		{must(datatype.Subarray([]int{4, 5}, []int{2, 3}, []int{1, 0}, datatype.OrderFortran, f)),
			datatype.Contents{Combiner: datatype.CombinerSubarray, Ints: []int{2, 4, 5, 2, 3, 1, 0, 1}, Types: one}},
		{darray, datatype.Contents{Combiner: datatype.CombinerDarray, Ints: []int{6, 4, 2, 10, 20, 1, 2, -1, 3, 2, 3, 1}, Types: one}},
		{must(datatype.Resized(f, -1, 9)), datatype.Contents{Combiner: datatype.CombinerResized, Addrs: []int{-1, 9}, Types: one}},
	} {
		assert.Equal(t, c.want, c.t.Contents(), "%v", c.t)
		assert.Equal(t, c.want, c.t.Named("other").Contents(), "%v with another name", c.t)
	}
}

// TestArgumentsAreCopied: a caller may change its slices later.
func TestArgumentsAreCopied(t *testing.T) {
	lengths, disps, types := []int{1, 2}, []int{0, 16}, []*datatype.Type{datatype.Int8, datatype.Float64}
	s := must(datatype.Struct(lengths, disps, types))
	h := must(datatype.HindexedBlock(1, disps, datatype.Int8))
	lengths[0], disps[0], types[0] = 9, 99, datatype.Bool
	assert.Equal(t, []int{0, 16}, s.Contents().Addrs)
	assert.Equal(t, []int{2, 1, 2}, s.Contents().Ints)
	assert.Same(t, datatype.Int8, s.Contents().Types[0])
	assert.Equal(t, []int{0, 16}, h.Contents().Addrs)
}

func TestNames(t *testing.T) {
	v := must(datatype.Vector(2, 1, 3, datatype.Float64))
	assert.Equal(t, "", v.Name())
	assert.Equal(t, "vector of float64", v.String())
	assert.Equal(t, "column", v.Named("column").Name())
	assert.Equal(t, "column", v.Named("column").String())
	assert.Equal(t, "", v.Name(), "the old type keeps its name")
	assert.Equal(t, "struct", must(datatype.Struct([]int{1, 1}, []int{0, 8}, []*datatype.Type{v, datatype.Int8})).String())
	assert.Equal(t, "int32", datatype.Int32.Name())
	assert.Equal(t, "no datatype", (*datatype.Type)(nil).String())
}

func TestKinds(t *testing.T) {
	f := must(datatype.Vector(2, 3, 4, datatype.Float32))
	assert.Equal(t, datatype.KindFloat32, f.Kind())
	assert.Equal(t, 6, f.Elements())
	two := must(datatype.Struct([]int{1, 2}, []int{0, 100}, []*datatype.Type{f, datatype.Float32}))
	assert.Equal(t, datatype.KindFloat32, two.Kind())
	assert.Equal(t, 8, two.Elements())
	assert.Equal(t, datatype.KindNone, must(datatype.Struct([]int{1, 1}, []int{0, 100}, []*datatype.Type{f, datatype.Int32})).Kind())
	assert.Equal(t, datatype.KindFloat32, must(datatype.Contiguous(0, f)).Kind(), "none of a kind")
	assert.Equal(t, datatype.KindFloat32, must(datatype.Struct([]int{0, 1}, []int{0, 0}, []*datatype.Type{datatype.Int8, f})).Kind())

	pairs := must(datatype.Contiguous(5, datatype.Float64Int32))
	assert.Equal(t, datatype.KindFloat64Int32, pairs.Kind())
	assert.Equal(t, 5, pairs.Elements())
	assert.Equal(t, 60, pairs.Size())
	value, index, ok := pairs.Kind().Pair()
	assert.Equal(t, []any{datatype.KindFloat64, datatype.KindInt32, true}, []any{value, index, ok})
	_, _, ok = datatype.KindInt8.Pair()
	assert.False(t, ok)
	_, _, ok = datatype.Kind(200).Pair()
	assert.False(t, ok)
	assert.Equal(t, 12, datatype.KindFloat64Int32.Size())
	assert.Equal(t, 0, datatype.KindNone.Size())
	assert.Equal(t, 0, datatype.Kind(200).Size())
}

// failures returns calls that must be refused, with the class of the error.
func failures() map[string]struct {
	class errclass.Class
	err   error
} {
	type failure = struct {
		class errclass.Class
		err   error
	}
	fail := func(class errclass.Class) func(*datatype.Type, error) failure {
		return func(_ *datatype.Type, err error) failure { return failure{class, err} }
	}
	f, huge := datatype.Float64, math.MaxInt/4
	none := []*datatype.Type{nil}
	block := []datatype.Distribution{datatype.DistributeBlock}
	darray := func(size, rank, gsize int, d datatype.Distribution, arg, psize int) (*datatype.Type, error) {
		return datatype.Darray(size, rank, []int{gsize}, []datatype.Distribution{d}, []int{arg}, []int{psize}, datatype.OrderC, f)
	}
	return map[string]failure{
		"dup nil":              fail(errclass.Type)(datatype.Dup(nil)),
		"contiguous nil":       fail(errclass.Type)(datatype.Contiguous(1, nil)),
		"vector nil":           fail(errclass.Type)(datatype.Vector(1, 1, 1, nil)),
		"hvector nil":          fail(errclass.Type)(datatype.Hvector(1, 1, 1, nil)),
		"indexed nil":          fail(errclass.Type)(datatype.Indexed([]int{1}, []int{1}, nil)),
		"hindexed nil":         fail(errclass.Type)(datatype.Hindexed([]int{1}, []int{1}, nil)),
		"indexed block nil":    fail(errclass.Type)(datatype.IndexedBlock(1, []int{1}, nil)),
		"hindexed block nil":   fail(errclass.Type)(datatype.HindexedBlock(1, []int{1}, nil)),
		"struct nil":           fail(errclass.Type)(datatype.Struct([]int{0}, []int{0}, none)),
		"subarray nil":         fail(errclass.Type)(datatype.Subarray([]int{1}, []int{1}, []int{0}, datatype.OrderC, nil)),
		"darray nil":           fail(errclass.Type)(datatype.Darray(1, 0, []int{1}, block, []int{1}, []int{1}, datatype.OrderC, nil)),
		"resized nil":          fail(errclass.Type)(datatype.Resized(nil, 0, 1)),
		"contiguous count":     fail(errclass.Count)(datatype.Contiguous(-1, f)),
		"vector count":         fail(errclass.Count)(datatype.Vector(-1, 1, 1, f)),
		"vector length":        fail(errclass.Count)(datatype.Vector(1, -1, 1, f)),
		"hvector count":        fail(errclass.Count)(datatype.Hvector(-1, 1, 1, f)),
		"indexed length":       fail(errclass.Count)(datatype.Indexed([]int{1, -1}, []int{1, 2}, f)),
		"hindexed length":      fail(errclass.Count)(datatype.Hindexed([]int{1, -1}, []int{1, 2}, f)),
		"indexed block length": fail(errclass.Count)(datatype.IndexedBlock(-1, []int{1, 2}, f)),
		"hindexed block":       fail(errclass.Count)(datatype.HindexedBlock(-1, []int{1, 2}, f)),
		"struct length":        fail(errclass.Count)(datatype.Struct([]int{-1}, []int{0}, []*datatype.Type{f})),
		"indexed lists":        fail(errclass.Arg)(datatype.Indexed([]int{1}, []int{1, 2}, f)),
		"hindexed lists":       fail(errclass.Arg)(datatype.Hindexed([]int{1}, []int{1, 2}, f)),
		"struct lists":         fail(errclass.Arg)(datatype.Struct([]int{1, 2}, []int{1, 2}, []*datatype.Type{f})),
		"subarray lists":       fail(errclass.Arg)(datatype.Subarray([]int{1, 2}, []int{1, 2}, []int{0}, datatype.OrderC, f)),
		"subarray of none":     fail(errclass.Arg)(datatype.Subarray(nil, nil, nil, datatype.OrderC, f)),
		"subarray size":        fail(errclass.Arg)(datatype.Subarray([]int{0}, []int{0}, []int{0}, datatype.OrderC, f)),
		"subarray beyond":      fail(errclass.Arg)(datatype.Subarray([]int{4}, []int{2}, []int{3}, datatype.OrderC, f)),
		"subarray start":       fail(errclass.Arg)(datatype.Subarray([]int{4}, []int{2}, []int{-1}, datatype.OrderC, f)),
		"subarray order":       fail(errclass.Arg)(datatype.Subarray([]int{4}, []int{2}, []int{1}, 7, f)),
		"darray lists":         fail(errclass.Arg)(datatype.Darray(1, 0, []int{1}, block, []int{1}, nil, datatype.OrderC, f)),
		"darray rank":          fail(errclass.Arg)(darray(2, 2, 4, datatype.DistributeBlock, 2, 2)),
		"darray grid":          fail(errclass.Arg)(darray(3, 0, 4, datatype.DistributeBlock, 2, 2)),
		"darray size":          fail(errclass.Arg)(darray(2, 0, 0, datatype.DistributeBlock, 2, 2)),
		"darray processes":     fail(errclass.Arg)(darray(0, 0, 4, datatype.DistributeBlock, 2, 0)),
		"darray none of two":   fail(errclass.Arg)(darray(2, 0, 4, datatype.DistributeNone, 2, 2)),
		"darray distribution":  fail(errclass.Arg)(darray(2, 0, 4, 9, 2, 2)),
		"darray argument":      fail(errclass.Arg)(darray(2, 0, 4, datatype.DistributeCyclic, 0, 2)),
		"darray blocks":        fail(errclass.Arg)(darray(2, 0, 5, datatype.DistributeBlock, 2, 2)),
		"darray order":         fail(errclass.Arg)(datatype.Darray(1, 0, []int{1}, block, []int{1}, []int{1}, -1, f)),

		"contiguous overflow":  fail(errclass.ValueTooLarge)(datatype.Contiguous(huge, f)),
		"vector overflow":      fail(errclass.ValueTooLarge)(datatype.Vector(2, 1, huge, f)),
		"vector size":          fail(errclass.ValueTooLarge)(datatype.Vector(1<<31, 1<<31, 0, f)),
		"hvector overflow":     fail(errclass.ValueTooLarge)(datatype.Hvector(5, 1, huge, f)),
		"hvector down":         fail(errclass.ValueTooLarge)(datatype.Hvector(6, 1, -huge, f)),
		"indexed overflow":     fail(errclass.ValueTooLarge)(datatype.Indexed([]int{1}, []int{huge}, f)),
		"indexed span":         fail(errclass.ValueTooLarge)(datatype.Hindexed([]int{1, 1}, []int{-3 * huge, 3 * huge}, f)),
		"indexed size":         fail(errclass.ValueTooLarge)(datatype.Indexed([]int{huge / 8, huge / 8, huge / 8, huge / 8, huge / 8}, []int{0, 0, 0, 0, 0}, f)),
		"indexed block":        fail(errclass.ValueTooLarge)(datatype.IndexedBlock(1, []int{math.MinInt}, f)),
		"hindexed overflow":    fail(errclass.ValueTooLarge)(datatype.HindexedBlock(1, []int{math.MaxInt - 6}, f)),
		"struct overflow":      fail(errclass.ValueTooLarge)(datatype.Struct([]int{1}, []int{math.MaxInt}, []*datatype.Type{f})),
		"alignment overflow":   fail(errclass.ValueTooLarge)(datatype.Struct([]int{1, 1}, []int{0, math.MaxInt - 1}, []*datatype.Type{f, datatype.Int8})),
		"resized overflow":     fail(errclass.ValueTooLarge)(datatype.Resized(f, math.MaxInt, 1)),
		"marker overflow":      fail(errclass.ValueTooLarge)(datatype.Contiguous(5, must(datatype.Resized(must(datatype.Contiguous(0, f)), 0, huge)))),
		"subarray overflow":    fail(errclass.ValueTooLarge)(datatype.Subarray([]int{1 << 31, 1 << 31}, []int{1, 1}, []int{0, 0}, datatype.OrderC, f)),
		"darray overflow":      fail(errclass.ValueTooLarge)(darray(1, 0, huge, datatype.DistributeBlock, huge, 1)),
		"cyclic overflow":      fail(errclass.ValueTooLarge)(darray(2, 0, math.MaxInt, datatype.DistributeCyclic, math.MaxInt, 2)),
		"reflection of nil":    fail(errclass.Type)(datatype.OfReflect(nil)),
		"reflection of string": fail(errclass.Type)(datatype.Of[string]()),
	}
}

func TestRefusals(t *testing.T) {
	for name, f := range failures() {
		assert.ErrorIs(t, f.err, f.class, name)
	}
}

// TestLargeNumbersThatFit: the limits are those of an int, no less.
func TestLargeNumbersThatFit(t *testing.T) {
	all := must(datatype.Contiguous(math.MaxInt, datatype.Int8))
	assert.Equal(t, math.MaxInt, all.Size())
	none := must(datatype.Contiguous(math.MaxInt, must(datatype.Contiguous(0, datatype.Float64))))
	assert.Equal(t, 0, none.Size())
	once := must(datatype.Hvector(1, 1, math.MaxInt, datatype.Float64))
	lb, extent := once.Extent()
	assert.Equal(t, []int{0, 8}, []int{lb, extent}, "the stride of a single block is no matter")
	low := must(datatype.Resized(datatype.Int8, math.MinInt, math.MaxInt))
	lb, extent = low.Extent()
	assert.Equal(t, []int{math.MinInt, math.MaxInt}, []int{lb, extent})
	for rank, size := range []int{4, 0} {
		all := must(datatype.Darray(2, rank, []int{4}, []datatype.Distribution{datatype.DistributeCyclic},
			[]int{math.MaxInt}, []int{2}, datatype.OrderC, datatype.Int8))
		assert.Equal(t, size, all.Size(), "a block is no longer than the array")
	}
	// A type that repeats one byte MaxInt times. Packing a few of its bytes must be little work.
	again := must(datatype.Hvector(math.MaxInt, 1, 0, datatype.Int8))
	cur, err := datatype.NewCursor(again, []byte{7}, 0, 1)
	require.NoError(t, err)
	assert.Equal(t, math.MaxInt-2, cur.Skip(math.MaxInt-2))
	piece := make([]byte, 5)
	assert.Equal(t, 2, cur.Pack(piece))
	assert.Equal(t, []byte{7, 7, 0, 0, 0}, piece)
	_, err = again.PackSize(2)
	assert.ErrorIs(t, err, errclass.ValueTooLarge)
}
