package datatype_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// leavesMax bounds the type maps of generated types.
const leavesMax = 3000

// A source of small choices: a generator, or the bytes of a fuzzer.
type source interface{ IntN(n int) int }

// generated is a type, its model, and how it was made, for people.
type generated struct {
	t    *datatype.Type
	m    model
	text string
}

var basic = []generated{
	{datatype.Byte, scalarModel(1, 1, 1), "byte"},
	{datatype.Bool, scalarModel(1, 1, 1), "bool"},
	{datatype.Int16, scalarModel(2, 2, 2), "int16"},
	{datatype.Uint32, scalarModel(4, 4, 4), "uint32"},
	{datatype.Float64, scalarModel(8, 8, 8), "float64"},
	{datatype.Complex64, scalarModel(8, 4, 4), "complex64"},
	{datatype.Complex128, scalarModel(16, 8, 8), "complex128"},
	{datatype.Float64Int32, model{leaves: []leaf{{0, 8, 8, 8}, {8, 4, 4, 4}}}, "float64,int32"},
	{datatype.Int16Int64, model{leaves: []leaf{{0, 2, 2, 2}, {8, 8, 8, 8}}}, "int16,int64"},
}

// generate makes a random type tree of up to depth constructors.
func generate(r source, depth int) generated {
	if depth == 0 || r.IntN(8) == 0 {
		return basic[r.IntN(len(basic))]
	}
	old := generate(r, depth-1)
	all := constructors()
	g, err := all[r.IntN(len(all))](r, old, depth)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", g.text, err))
	}
	if len(g.m.leaves) > leavesMax {
		return old
	}
	return g
}

// A constructor makes a type of an old one, in both ways.
type constructor func(r source, old generated, depth int) (generated, error)

// constructors are all of them, the likely ones twice.
func constructors() []constructor {
	return []constructor{
		generateVector, generateVector, generateHvector, generateIndexed, generateIndexed, generateHindexed,
		generateIndexedBlock, generateHindexedBlock, generateStruct, generateStruct, generateSubarray, generateDarray,
		generateResized, generateOther,
	}
}

// between is a number from low to high.
func between(r source, low, high int) int { return low + r.IntN(high-low+1) }

func generateVector(r source, old generated, _ int) (g generated, err error) {
	count, length, stride := r.IntN(6), r.IntN(4), between(r, -3, 6)
	_, extent := old.m.bounds()
	for i := range count {
		g.m.addBlock(old.m, length, i*stride*extent)
	}
	g.t, err = datatype.Vector(count, length, stride, old.t)
	g.text = fmt.Sprintf("vector(%d,%d,%d,%s)", count, length, stride, old.text)
	return g, err
}

func generateHvector(r source, old generated, _ int) (g generated, err error) {
	count, length, stride := r.IntN(6), r.IntN(4), between(r, -40, 100)
	for i := range count {
		g.m.addBlock(old.m, length, i*stride)
	}
	g.t, err = datatype.Hvector(count, length, stride, old.t)
	g.text = fmt.Sprintf("hvector(%d,%d,%d,%s)", count, length, stride, old.text)
	return g, err
}

// lists are random block lengths and displacements, at times regular, at times rising.
func lists(r source, low, high int) (lengths, disps []int) {
	n, same, step, rise := r.IntN(7), between(r, 0, 3), between(r, low, high), r.IntN(2)
	at := 0
	for i := range n {
		lengths = append(lengths, r.IntN(4))
		disps = append(disps, between(r, low, high))
		if same > 0 {
			lengths[i], disps[i] = same, i*step
		} else if rise > 0 {
			disps[i] = at
			at += lengths[i] + r.IntN(3)
		}
	}
	return lengths, disps
}

func generateIndexed(r source, old generated, _ int) (g generated, err error) {
	lengths, disps := lists(r, -4, 8)
	_, extent := old.m.bounds()
	for i := range lengths {
		g.m.addBlock(old.m, lengths[i], disps[i]*extent)
	}
	g.t, err = datatype.Indexed(lengths, disps, old.t)
	g.text = fmt.Sprintf("indexed(%v,%v,%s)", lengths, disps, old.text)
	return g, err
}

func generateHindexed(r source, old generated, _ int) (g generated, err error) {
	lengths, disps := lists(r, -30, 90)
	for i := range lengths {
		g.m.addBlock(old.m, lengths[i], disps[i])
	}
	g.t, err = datatype.Hindexed(lengths, disps, old.t)
	g.text = fmt.Sprintf("hindexed(%v,%v,%s)", lengths, disps, old.text)
	return g, err
}

func generateIndexedBlock(r source, old generated, _ int) (g generated, err error) {
	_, disps := lists(r, -4, 8)
	length := r.IntN(4)
	_, extent := old.m.bounds()
	for _, d := range disps {
		g.m.addBlock(old.m, length, d*extent)
	}
	g.t, err = datatype.IndexedBlock(length, disps, old.t)
	g.text = fmt.Sprintf("indexedblock(%d,%v,%s)", length, disps, old.text)
	return g, err
}

func generateHindexedBlock(r source, old generated, _ int) (g generated, err error) {
	_, disps := lists(r, -30, 90)
	length := r.IntN(4)
	for _, d := range disps {
		g.m.addBlock(old.m, length, d)
	}
	g.t, err = datatype.HindexedBlock(length, disps, old.t)
	g.text = fmt.Sprintf("hindexedblock(%d,%v,%s)", length, disps, old.text)
	return g, err
}

func generateStruct(r source, old generated, depth int) (g generated, err error) {
	lengths, disps := lists(r, -30, 90)
	var types []*datatype.Type
	text := ""
	for i := range lengths {
		field := old
		if r.IntN(3) > 0 {
			field = generate(r, depth-1)
		}
		g.m.addBlock(field.m, lengths[i], disps[i])
		types = append(types, field.t)
		text += fmt.Sprintf(" %d@%d:%s", lengths[i], disps[i], field.text)
	}
	g.t, err = datatype.Struct(lengths, disps, types)
	g.text = "struct(" + text + ")"
	return g, err
}

func generateSubarray(r source, old generated, _ int) (g generated, err error) {
	var sizes, subsizes, starts []int
	order := datatype.Order(r.IntN(2))
	for range between(r, 1, 3) {
		size := between(r, 1, 5)
		sub := between(r, 1, size)
		sizes, subsizes, starts = append(sizes, size), append(subsizes, sub), append(starts, between(r, 0, size-sub))
	}
	g.m = arrayModel(old.m, sizes, order, func(index []int) bool {
		for d, i := range index {
			if i < starts[d] || i >= starts[d]+subsizes[d] {
				return false
			}
		}
		return true
	})
	g.t, err = datatype.Subarray(sizes, subsizes, starts, order, old.t)
	g.text = fmt.Sprintf("subarray(%v,%v,%v,%d,%s)", sizes, subsizes, starts, order, old.text)
	return g, err
}

func generateDarray(r source, old generated, _ int) (g generated, err error) {
	var sizes, args, grid, coords []int
	var how []datatype.Distribution
	order := datatype.Order(r.IntN(2))
	ranks, rank := 1, 0
	for range between(r, 1, 3) {
		size, d, n := between(r, 1, 6), datatype.Distribution(r.IntN(3)), between(r, 1, 3)
		arg := datatype.DefaultArg
		switch {
		case d == datatype.DistributeNone:
			n = 1
		case r.IntN(2) == 0 && d == datatype.DistributeBlock:
			arg = (size+n-1)/n + r.IntN(2)
		case r.IntN(2) == 0:
			arg = between(r, 1, 4)
		}
		if d == datatype.DistributeBlock && arg < (size+n-1)/n {
			arg = datatype.DefaultArg
		}
		sizes, how, args, grid, coords = append(sizes, size), append(how, d), append(args, arg), append(grid, n), append(coords, r.IntN(n))
		ranks, rank = ranks*n, rank*n+coords[len(coords)-1]
	}
	g.m = arrayModel(old.m, sizes, order, func(index []int) bool {
		for d, i := range index {
			block := args[d]
			switch {
			case how[d] == datatype.DistributeNone:
				continue
			case block == datatype.DefaultArg && how[d] == datatype.DistributeBlock:
				block = (sizes[d] + grid[d] - 1) / grid[d]
			case block == datatype.DefaultArg:
				block = 1
			}
			if i/block%grid[d] != coords[d] {
				return false
			}
		}
		return true
	})
	g.t, err = datatype.Darray(ranks, rank, sizes, how, args, grid, order, old.t)
	g.text = fmt.Sprintf("darray(%d,%d,%v,%v,%v,%v,%d,%s)", ranks, rank, sizes, how, args, grid, order, old.text)
	return g, err
}

func generateResized(r source, old generated, _ int) (g generated, err error) {
	lb, extent := old.m.bounds()
	lb, extent = lb+between(r, -8, 8), extent+between(r, -16, 24)
	g.m = old.m.resized(lb, extent)
	g.t, err = datatype.Resized(old.t, lb, extent)
	g.text = fmt.Sprintf("resized(%s,%d,%d)", old.text, lb, extent)
	return g, err
}

func generateOther(r source, old generated, _ int) (g generated, err error) {
	if r.IntN(2) == 0 {
		g.t, err = datatype.Dup(old.t)
		return generated{g.t, old.m, "dup(" + old.text + ")"}, err
	}
	n := r.IntN(6)
	g.m.addBlock(old.m, n, 0)
	g.t, err = datatype.Contiguous(n, old.t)
	g.text = fmt.Sprintf("contiguous(%d,%s)", n, old.text)
	return g, err
}

// generator is the source of a seed.
func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
