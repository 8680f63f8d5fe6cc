package topo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// everyFactorization calls fn with each way to write n as k factors that do not increase.
func everyFactorization(n, k, most int, sofar []int, fn func([]int)) {
	if k == 0 {
		if n == 1 {
			fn(sofar)
		}
		return
	}
	for d := 1; d <= min(n, most); d++ {
		if n%d == 0 {
			everyFactorization(n/d, k-1, d, append(sofar, d), fn)
		}
	}
}

// mostBalanced is the definition in DimsCreate's comment, word for word.
func mostBalanced(n, k int) (best []int) {
	spread := func(f []int) int { return f[0] - f[len(f)-1] }
	everyFactorization(n, k, n, nil, func(f []int) {
		if best == nil || spread(f) < spread(best) || spread(f) == spread(best) && slices.Compare(f, best) < 0 {
			best = slices.Clone(f)
		}
	})
	return best
}

func TestDimsAreTheMostBalanced(t *testing.T) {
	for k := 1; k <= 6; k++ {
		for n := 1; n <= 400; n++ {
			got, err := DimsCreate(n, make([]int, k))
			require.NoError(t, err)
			require.Equal(t, mostBalanced(n, k), got, "%d nodes, %d dimensions", n, k)
		}
	}
	for _, n := range []int{720, 1024, 2310, 4096, 5040, 6561, 7200, 9973} {
		for k := 2; k <= 5; k++ {
			got, err := DimsCreate(n, make([]int, k))
			require.NoError(t, err)
			require.Equal(t, mostBalanced(n, k), got, "%d nodes, %d dimensions", n, k)
		}
	}
}

// The table in the standard (MPI-4.1, 8.5.2), and what has no choice.
func TestDimsOfTheStandard(t *testing.T) {
	for _, c := range []struct {
		nodes      int
		dims, want []int
	}{
		{6, []int{0, 0}, []int{3, 2}},
		{7, []int{0, 0}, []int{7, 1}},
		{6, []int{0, 3, 0}, []int{2, 3, 1}},
		{1, nil, []int(nil)},
		{1, []int{0, 0, 0}, []int{1, 1, 1}},
		{12, []int{3, 4}, []int{3, 4}},
		{12, []int{1, 0}, []int{1, 12}},
		{1 << 30, []int{0, 0, 0, 0}, []int{256, 256, 128, 128}},
		{math.MaxInt32, []int{0, 0}, []int{math.MaxInt32, 1}},
	} {
		got, err := DimsCreate(c.nodes, c.dims)
		require.NoError(t, err, "%d %v", c.nodes, c.dims)
		assert.Equal(t, c.want, got, "%d %v", c.nodes, c.dims)
	}
}

func TestBadDims(t *testing.T) {
	for _, c := range []struct {
		nodes int
		dims  []int
		class errclass.Class
	}{
		{7, []int{0, 3, 0}, errclass.Dims},
		{6, []int{-1, 0}, errclass.Dims},
		{6, []int{math.MinInt, 0}, errclass.Dims},
		{6, []int{2}, errclass.Dims},
		{6, []int{2, 2, 0}, errclass.Dims},
		{6, nil, errclass.Dims},
		{6, []int{math.MaxInt, math.MaxInt}, errclass.Dims},
		{6, []int{12, 0}, errclass.Dims},
		{0, []int{0}, errclass.Arg},
		{-4, []int{0}, errclass.Arg},
		{math.MaxInt32 + 1, []int{0}, errclass.Arg},
		{math.MaxInt, []int{0}, errclass.Arg},
	} {
		_, err := DimsCreate(c.nodes, c.dims)
		assert.ErrorIs(t, err, c.class, "%d %v", c.nodes, c.dims)
	}
}

func TestFixedDimsStay(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		dims := make([]int, 1+r.IntN(5))
		nodes, free := 1, 0
		for i := range dims {
			if r.IntN(2) == 0 {
				dims[i] = 1 + r.IntN(5)
				nodes *= dims[i]
			} else {
				free++
			}
		}
		if free == 0 {
			continue
		}
		rest := 1 + r.IntN(200)
		given := slices.Clone(dims)
		got, err := DimsCreate(nodes*rest, dims)
		require.NoError(t, err)
		require.Equal(t, given, dims, "what was given is not written to")
		var chosen []int
		for i, d := range got {
			if given[i] == 0 {
				chosen = append(chosen, d)
			} else {
				require.Equal(t, given[i], d)
			}
		}
		require.Equal(t, mostBalanced(rest, free), chosen, "seed %d: %d nodes, %v", seed, nodes*rest, given)
	}
}

// Numbers with the most divisors, or the most prime factors, are those that a search could
// take long for.
func TestDimsOfAnyNumberAreFoundSoon(t *testing.T) {
	began := time.Now()
	for _, n := range []int{1 << 30, 1396755360, 2095133040, 1102701600, 1207959552, 1162261467, 2147483646, 1 << 20, 1<<31 - 2} {
		for k := 1; k <= 32; k++ {
			dims, err := DimsCreate(n, make([]int, k))
			require.NoError(t, err)
			product := 1
			for i, d := range dims {
				product *= d
				require.True(t, i == 0 || d <= dims[i-1])
			}
			require.Equal(t, n, product)
		}
	}
	wallclock.Under(t, time.Since(began), 20*time.Second, "288 numbers")
}

func TestRoots(t *testing.T) {
	for k := 1; k <= 31; k++ {
		for _, n := range []int{1, 2, 3, 7, 8, 9, 26, 27, 28, 1 << 20, 1<<20 - 1, 1 << 30, 1<<30 + 1, math.MaxInt32} {
			down, up := rootDown(n, k), rootUp(n, k)
			name := fmt.Sprintf("root %d of %d", k, n)
			assert.LessOrEqual(t, power(down, k), n, name)
			assert.Greater(t, power(down+1, k), n, name)
			assert.GreaterOrEqual(t, power(up, k), n, name)
			assert.Less(t, power(up-1, k), n, name)
		}
	}
}
