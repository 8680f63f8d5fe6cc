package group

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func numbered(t testing.TB, n int) *Group[int] {
	t.Helper()
	members := make([]int, n)
	for i := range members {
		members[i] = 100 + i
	}
	g, err := New(members)
	require.NoError(t, err)
	return g
}

func TestNewKeepsACopy(t *testing.T) {
	members := []string{"a", "b"}
	g, err := New(members)
	require.NoError(t, err)
	members[0] = "x"
	assert.Equal(t, []string{"a", "b"}, g.Members())
	g.Members()[1] = "x"
	assert.Equal(t, 1, g.Rank("b"))
}

func TestNewRefusesAProcessNamedTwice(t *testing.T) {
	for _, n := range []int{2, scanMax, scanMax + 1, 1000} {
		members := make([]int, n)
		for i := range members {
			members[i] = i
		}
		members[n-1] = 0
		_, err := New(members)
		require.ErrorIs(t, err, errclass.Group, "%d members", n)
	}
}

func TestBadRanks(t *testing.T) {
	g := numbered(t, 5)
	for _, ranks := range [][]int{{-1}, {5}, {0, 1, 0}, {math.MaxInt}, {math.MinInt}, {0, 1, 2, 3, 4, 4}, {ProcNull}} {
		_, err := g.Incl(ranks)
		assert.ErrorIs(t, err, errclass.Rank, "Incl %v", ranks)
		_, err = g.Excl(ranks)
		assert.ErrorIs(t, err, errclass.Rank, "Excl %v", ranks)
	}
	for _, rank := range []int{-1, 5, math.MinInt} {
		_, err := g.At(rank)
		assert.ErrorIs(t, err, errclass.Rank)
		_, err = g.TranslateRanks([]int{0, rank}, g)
		assert.ErrorIs(t, err, errclass.Rank)
	}
}

func TestRanges(t *testing.T) {
	const far, deep = math.MaxInt, math.MinInt
	for _, c := range []struct {
		ranges []Range
		want   []int // ranks of ten; nil for an error
		class  errclass.Class
	}{
		{ranges: []Range{}, want: []int{}},
		{ranges: []Range{{0, 9, 1}}, want: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{ranges: []Range{{9, 0, -4}}, want: []int{9, 5, 1}},
		{ranges: []Range{{3, 3, far}}, want: []int{3}},
		{ranges: []Range{{3, 3, deep}}, want: []int{3}},
		{ranges: []Range{{1, 11, 4}}, want: []int{1, 5, 9}, class: errclass.Success}, // 11 is not reached
		{ranges: []Range{{1, -2, -4}}, want: []int{1}},
		{ranges: []Range{{2, far, far - 1}}, want: []int{2}},
		{ranges: []Range{{0, deep + 1, deep}}, want: []int{0}},
		{ranges: []Range{{2, deep, deep}}, class: errclass.Rank},
		{ranges: []Range{{4, 2, -1}, {0, 1, 1}}, want: []int{4, 3, 2, 0, 1}},
		{ranges: []Range{{0, 5, 0}}, class: errclass.Arg},
		{ranges: []Range{{0, 5, -1}}, class: errclass.Arg},
		{ranges: []Range{{5, 0, 1}}, class: errclass.Arg},
		{ranges: []Range{{0, 10, 1}}, class: errclass.Rank},
		{ranges: []Range{{-1, 3, 1}}, class: errclass.Rank},
		{ranges: []Range{{0, far, 1}}, class: errclass.Rank},
		{ranges: []Range{{9, deep, -1}}, class: errclass.Rank},
		{ranges: []Range{{0, 3, 1}, {3, 4, 1}}, class: errclass.Rank},
		{ranges: []Range{{0, 9, 1}, {0, 9, 1}, {0, 9, 1}}, class: errclass.Rank},
	} {
		g := numbered(t, 10)
		got, err := g.RangeIncl(c.ranges)
		rest, errRest := g.RangeExcl(c.ranges)
		if c.want == nil {
			assert.ErrorIs(t, err, c.class, "%v", c.ranges)
			assert.ErrorIs(t, errRest, c.class, "%v", c.ranges)
			continue
		}
		require.NoError(t, err, "%v", c.ranges)
		require.NoError(t, errRest, "%v", c.ranges)
		want, err := g.Incl(c.want)
		require.NoError(t, err)
		assert.Equal(t, want.Members(), got.Members(), "%v", c.ranges)
		wantRest, err := Difference(g, want)
		require.NoError(t, err)
		assert.Equal(t, wantRest.Members(), rest.Members(), "%v", c.ranges)
	}
}

func TestNullGroupIsRefused(t *testing.T) {
	var null *Group[int]
	g := numbered(t, 3)
	refused := func(what string, err error) { assert.ErrorIs(t, err, errclass.Group, what) }
	for _, args := range [][2]*Group[int]{{null, g}, {g, null}, {null, null}} {
		_, err := Union(args[0], args[1])
		refused("Union", err)
		_, err = Intersection(args[0], args[1])
		refused("Intersection", err)
		_, err = Difference(args[0], args[1])
		refused("Difference", err)
		_, err = Compare(args[0], args[1])
		refused("Compare", err)
		_, err = args[0].TranslateRanks(nil, args[1])
		refused("TranslateRanks", err)
	}
	_, err := null.Incl(nil)
	refused("Incl", err)
	_, err = null.Excl(nil)
	refused("Excl", err)
	_, err = null.RangeIncl(nil)
	refused("RangeIncl", err)
	_, err = null.RangeExcl(nil)
	refused("RangeExcl", err)
	assert.Zero(t, null.Size())
	assert.Equal(t, Undefined, null.Rank(100))
	assert.Empty(t, null.Members())
}

func TestTheZeroValueIsTheEmptyGroup(t *testing.T) {
	var zero Group[int]
	none, err := New[int](nil)
	require.NoError(t, err)
	for _, g := range []*Group[int]{&zero, none, Empty[int]()} {
		assert.Zero(t, g.Size())
		assert.Equal(t, Undefined, g.Rank(0))
		how, err := Compare(g, Empty[int]())
		require.NoError(t, err)
		assert.Equal(t, Ident, how)
	}
}

// The cost of a group of every second process does not grow with its size, and members that are not
// excluded are not copied.
func TestEvenlySpacedRanksHaveNoList(t *testing.T) {
	g := numbered(t, 10_000)
	even, err := g.RangeIncl([]Range{{First: 0, Last: 9999, Stride: 2}})
	require.NoError(t, err)
	back, err := even.RangeIncl([]Range{{First: 4999, Last: 0, Stride: -5}})
	require.NoError(t, err)
	odd, err := Difference(g, even)
	require.NoError(t, err)
	for _, derived := range []*Group[int]{even, back, odd} {
		assert.Same(t, g.table, derived.table)
		assert.Nil(t, derived.sel.list)
	}
	assert.Equal(t, 100+9998, back.member(0))
	assert.Equal(t, 1, back.Rank(100+9988))
	assert.Equal(t, Undefined, back.Rank(100+9989))

	whole, err := Intersection(g, g)
	require.NoError(t, err)
	assert.Same(t, g, whole)
	whole, err = Union(g, odd)
	require.NoError(t, err)
	assert.Same(t, g, whole)
}

// All forms of a selection, in large groups: dense and sparse lists.
func TestLargeGroupsFindRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	g := numbered(t, 20_000)
	for _, n := range []int{scanMax, scanMax + 1, 100, 5000, 20_000} {
		ranks := r.Perm(20_000)[:n]
		sub, err := g.Incl(ranks)
		require.NoError(t, err)
		for i, rank := range ranks {
			require.Equal(t, i, sub.Rank(100+rank))
		}
		for rank := range 20_000 {
			at := sub.Rank(100 + rank)
			require.True(t, at == Undefined || ranks[at] == rank)
		}
		assert.Equal(t, Undefined, sub.Rank(0))
		require.NoError(t, err)
	}
}

func TestTheSameProcessesInAnotherOrderAreSimilar(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	for _, n := range []int{2, scanMax, 100} {
		g := numbered(t, n)
		order := r.Perm(n)
		order[0], order[n-1] = order[n-1], order[0]
		if order[0] == 0 {
			order[0], order[1] = order[1], order[0]
		}
		shared, err := g.Incl(order)
		require.NoError(t, err)
		own, err := New(shared.Members())
		require.NoError(t, err)
		other, err := New(append(shared.Members()[1:], 5))
		require.NoError(t, err)
		for want, b := range map[Comparison][]*Group[int]{Similar: {shared, own}, Ident: {g, numbered(t, n)}, Unequal: {other}} {
			for _, b := range b {
				got, err := Compare(g, b)
				require.NoError(t, err)
				assert.Equal(t, want, got, "%d processes", n)
			}
		}
	}
}

func TestConcurrentUseBuildsTheIndexOnce(t *testing.T) {
	g := numbered(t, 5000)
	sub, err := g.Incl(rand.New(rand.NewPCG(1, 1)).Perm(5000)[:2000])
	require.NoError(t, err)
	other, err := Union(sub, numbered(t, 10))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for rank, p := range sub.All() {
				assert.Equal(t, rank, sub.Rank(p))
			}
			for rank, p := range other.All() {
				assert.Equal(t, rank, other.Rank(p))
			}
		})
	}
	wg.Wait()
}

func TestFindingARankDoesNotAllocate(t *testing.T) {
	g := numbered(t, 5000)
	sub, err := g.Incl(rand.New(rand.NewPCG(1, 1)).Perm(5000)[:2000])
	require.NoError(t, err)
	sub.Rank(100)
	assert.Zero(t, testing.AllocsPerRun(100, func() { sub.Rank(2000); g.Rank(77) }))
}

func TestComparisonsHaveTheirNames(t *testing.T) {
	assert.Equal(t, "MPI_IDENT MPI_CONGRUENT MPI_SIMILAR MPI_UNEQUAL",
		Ident.String()+" "+Congruent.String()+" "+Similar.String()+" "+Unequal.String())
}
