package topo

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// randomCart is a grid with a few processes, some dimensions of which have 1 or 2.
func randomCart(t *testing.T, r *rand.Rand) *Cart {
	dims, periods := make([]int, r.IntN(5)), []bool(nil)
	for i := range dims {
		dims[i] = 1 + r.IntN(4)
		periods = append(periods, r.IntN(2) == 0)
	}
	c, err := NewCart(256, dims, periods)
	require.NoError(t, err)
	return c
}

// walk calls fn for each rank and its coordinates, counted up like an odometer.
func walk(c *Cart, fn func(rank int, at []int)) {
	at := make([]int, c.NDims())
	for rank := range c.Size() {
		fn(rank, at)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < c.Dims()[i] {
				break
			}
			at[i] = 0
		}
	}
}

// shifted is the rank at coordinates moved along a dimension, one step at a time.
func shifted(c *Cart, at []int, dim, disp int) int {
	to := append([]int(nil), at...)
	for ; disp != 0; disp -= sign(disp) {
		to[dim] += sign(disp)
		if to[dim] >= 0 && to[dim] < c.Dims()[dim] {
			continue
		}
		if !c.Periods()[dim] {
			return ProcNull
		}
		to[dim] = c.Dims()[dim] - 1 - (to[dim] - sign(disp))
	}
	found := ProcNull
	walk(c, func(rank int, x []int) {
		same := true
		for i := range x {
			same = same && x[i] == to[i]
		}
		if same {
			found = rank
		}
	})
	return found
}

func sign(x int) int {
	if x < 0 {
		return -1
	}
	return 1
}

func TestRanksAreRowMajor(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		c := randomCart(t, r)
		walk(c, func(rank int, at []int) {
			got, err := c.Rank(at)
			require.NoError(t, err)
			require.Equal(t, rank, got, "%v in %v", at, c.Dims())
			coords, err := c.Coords(rank)
			require.NoError(t, err)
			require.Equal(t, at, coords)

			far := append([]int{}, at...)
			for i, n := range c.Dims() {
				if c.Periods()[i] {
					far[i] += n * (r.IntN(7) - 3)
				}
			}
			got, err = c.Rank(far)
			require.NoError(t, err)
			require.Equal(t, rank, got, "seed %d: %v in %v", seed, far, c.Dims())
		})
	}
}

func TestShiftIsArithmeticOnCoordinates(t *testing.T) {
	const seed = 12
	r := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		c := randomCart(t, r)
		walk(c, func(rank int, at []int) {
			for dim := range c.NDims() {
				disp := r.IntN(13) - 6
				source, dest, err := c.Shift(rank, dim, disp)
				require.NoError(t, err)
				require.Equal(t, shifted(c, at, dim, disp), dest, "seed %d: %v in %v by %d along %d", seed, at, c.Dims(), disp, dim)
				require.Equal(t, shifted(c, at, dim, -disp), source, "seed %d: %v in %v by %d along %d", seed, at, c.Dims(), -disp, dim)
			}
		})
	}
}

func TestShiftByAnyDistance(t *testing.T) {
	c, err := NewCart(15, []int{3, 5}, []bool{false, true})
	require.NoError(t, err)
	for _, disp := range []int{math.MaxInt, math.MinInt, math.MinInt + 1, 3, -3} {
		source, dest, err := c.Shift(7, 0, disp)
		require.NoError(t, err)
		assert.Equal(t, [2]int{ProcNull, ProcNull}, [2]int{source, dest})
		source, dest, err = c.Shift(7, 1, disp)
		require.NoError(t, err)
		wantSource, wantDest, err := c.Shift(7, 1, disp%5)
		require.NoError(t, err)
		assert.Equal(t, [2]int{wantSource, wantDest}, [2]int{source, dest})
	}
}

func TestBadCarts(t *testing.T) {
	for _, c := range []struct {
		procs   int
		dims    []int
		periods []bool
		class   errclass.Class
	}{
		{4, []int{2, 3}, []bool{false, false}, errclass.Dims},
		{4, []int{0}, []bool{false}, errclass.Dims},
		{4, []int{-2, -2}, []bool{false, false}, errclass.Dims},
		{4, []int{math.MaxInt, math.MaxInt}, []bool{false, false}, errclass.Dims},
		{4, []int{math.MaxInt, 2}, []bool{false, false}, errclass.Dims},
		{0, nil, nil, errclass.Dims},
		{-1, []int{1}, []bool{true}, errclass.Dims},
		{4, []int{2, 2}, []bool{false}, errclass.Arg},
	} {
		_, err := NewCart(c.procs, c.dims, c.periods)
		assert.ErrorIs(t, err, c.class, "%d %v", c.procs, c.dims)
	}
	c, err := NewCart(10, []int{2, 3}, []bool{false, true})
	require.NoError(t, err)
	for _, rank := range []int{-1, 6, math.MinInt, math.MaxInt} {
		_, err := c.Coords(rank)
		assert.ErrorIs(t, err, errclass.Rank)
		_, _, err = c.Shift(rank, 0, 1)
		assert.ErrorIs(t, err, errclass.Rank)
		_, err = c.Neighborhood(rank)
		assert.ErrorIs(t, err, errclass.Rank)
		_, _, err = c.SubPlace(rank, []bool{true, true})
		assert.ErrorIs(t, err, errclass.Rank)
		assert.Equal(t, Undefined, c.Map(rank))
	}
	assert.Equal(t, 5, c.Map(5))
	for _, coords := range [][]int{{2, 0}, {-1, 0}, {math.MinInt, 0}, {0}, {0, 0, 0}} {
		_, err := c.Rank(coords)
		assert.ErrorIs(t, err, errclass.Arg, "%v", coords)
	}
	for _, dim := range []int{-1, 2} {
		_, _, err := c.Shift(0, dim, 1)
		assert.ErrorIs(t, err, errclass.Dims)
	}
	_, err = c.Sub([]bool{true})
	assert.ErrorIs(t, err, errclass.Arg)
	_, _, err = c.SubPlace(0, []bool{true})
	assert.ErrorIs(t, err, errclass.Arg)
}

func TestAGridWithoutDimensionsHasOneProcess(t *testing.T) {
	c, err := NewCart(3, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, 1, c.Size())
	rank, err := c.Rank(nil)
	require.NoError(t, err)
	assert.Zero(t, rank)
	n, err := c.Neighborhood(0)
	require.NoError(t, err)
	assert.Empty(t, n.Sources)
	sub, err := c.Sub(nil)
	require.NoError(t, err)
	assert.Equal(t, 1, sub.Size())
}

// Every process is in one subgrid, at the coordinates that remain, and those of a subgrid
// agree in all others.
func TestSub(t *testing.T) {
	const seed = 13
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		c := randomCart(t, r)
		remain := make([]bool, c.NDims())
		for i := range remain {
			remain[i] = r.IntN(2) == 0
		}
		sub, err := c.Sub(remain)
		require.NoError(t, err)
		type place struct{ grid, rank int }
		taken := map[place]bool{}
		others := map[int]string{}
		walk(c, func(rank int, at []int) {
			grid, subrank, err := c.SubPlace(rank, remain)
			require.NoError(t, err)
			require.False(t, taken[place{grid, subrank}], "seed %d", seed)
			taken[place{grid, subrank}] = true
			require.Less(t, grid, c.Size()/sub.Size())
			got, err := sub.Coords(subrank)
			require.NoError(t, err)
			want, rest := []int{}, ""
			for i, stays := range remain {
				if stays {
					want = append(want, at[i])
				} else {
					rest += string(rune('a' + at[i]))
				}
			}
			require.Equal(t, want, got)
			if before, ok := others[grid]; ok {
				require.Equal(t, before, rest)
			}
			others[grid] = rest
		})
		require.Len(t, taken, c.Size())
	}
}
