package cg

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// divided is a random division of n elements among processes, some of which may have none.
func divided(r *rand.Rand, n, procs int) []int {
	bounds := []int{0, n}
	for range procs - 1 {
		bounds = append(bounds, r.IntN(n+1))
	}
	slices.Sort(bounds)
	return bounds
}

// Parts that get the elements that they want, by way of Asked, have the same product, bit for bit,
// as the whole matrix.
func TestPartsMultiplyAsTheWhole(t *testing.T) {
	const seed = 14
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		a := scattered(r, 2+r.IntN(60))
		n, procs := a.Len(), 1+r.IntN(6)
		bounds := divided(r, n, procs)
		x, want := vector(r, n), make([]float64, n)
		a.Multiply(want, x)
		var got []float64
		for rank := range procs {
			first, own := bounds[rank], bounds[rank+1]-bounds[rank]
			p, err := NewPart(a.Part(first, own), bounds)
			require.NoError(t, err, "seed %d: %v, rank %d", seed, bounds, rank)
			require.Zero(t, p.Want[rank])
			mine := slices.Clone(x[first : first+own])
			ghosts := p.Ghosts
			for owner, wanted := range p.Want {
				theirs := x[bounds[owner]:bounds[owner+1]]
				at, err := Asked(ghosts[:wanted], bounds[owner], len(theirs))
				require.NoError(t, err)
				for _, i := range at {
					mine = append(mine, theirs[i])
				}
				ghosts = ghosts[wanted:]
			}
			require.Empty(t, ghosts)
			require.Len(t, mine, p.Rows.Cols)
			y := make([]float64, own)
			p.Rows.Multiply(y, mine)
			got = append(got, y...)
		}
		require.Equal(t, want, got, "seed %d: %v", seed, bounds)
	}
}

func TestBadBoundsAreRefused(t *testing.T) {
	a := (&Grid{NX: 10, NY: 1, NZ: 1}).Rows(4, 3)
	_, err := NewPart(a, []int{0, 4, 7, 10})
	require.NoError(t, err)
	for _, bounds := range [][]int{nil, {0}, {0, 10}, {0, 4, 6, 10}, {0, 4, 7}, {0, 4, 7, 11}, {1, 4, 7, 10}, {0, 4, 7, 6, 10}, {4, 7}} {
		_, err := NewPart(a, bounds)
		assert.Error(t, err, "%v", bounds)
	}
}

func TestAskedChecksWhatOthersSay(t *testing.T) {
	at, err := Asked([]int{9, 5}, 5, 5)
	require.NoError(t, err)
	assert.Equal(t, []int{4, 0}, at)
	for _, col := range []int{4, 10, -1} {
		_, err := Asked([]int{6, col}, 5, 5)
		assert.Error(t, err)
	}
}
