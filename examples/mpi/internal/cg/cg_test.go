package cg

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func grids() []*Grid {
	return []*Grid{
		{NX: 1, NY: 1, NZ: 1},
		{NX: 7, NY: 1, NZ: 1, Contrast: 1},
		{NX: 6, NY: 9, NZ: 1, Contrast: 4, Seed: 2},
		{NX: 4, NY: 5, NZ: 6, Contrast: 3, Seed: 3},
		{NX: 1, NY: 1, NZ: 9, Contrast: 2, Seed: 4},
	}
}

func TestGridsAreSymmetricAndPositiveDefinite(t *testing.T) {
	for _, g := range grids() {
		require.NoError(t, g.Check())
		a := g.Rows(0, g.Len())
		require.NoError(t, a.CheckSymmetric(), "%+v", g)
		_, ok := a.dense().solve(make([]float64, g.Len()))
		require.True(t, ok, "%+v", g)
	}
}

// Without contrast the matrix is the well-known stencil: -1 for each neighbour, and on the diagonal
// 1 for each neighbour and 2 for each side at the frame.
func TestAGridWithoutContrastIsTheLaplacian(t *testing.T) {
	a := (&Grid{NX: 3, NY: 3, NZ: 1}).Rows(0, 9)
	cols, vals := a.Row(4)
	assert.Equal(t, []int32{1, 3, 4, 5, 7}, cols)
	assert.Equal(t, []float64{-1, -1, 4, -1, -1}, vals)
	cols, vals = a.Row(0)
	assert.Equal(t, []int32{0, 1, 3}, cols)
	assert.Equal(t, []float64{6, -1, -1}, vals)
	b := (&Grid{NX: 3, NY: 3, NZ: 3}).Rows(0, 27)
	cols, vals = b.Row(13)
	assert.Equal(t, []int32{4, 10, 12, 13, 14, 16, 22}, cols)
	assert.Equal(t, []float64{-1, -1, -1, 6, -1, -1, -1}, vals)
}

func TestContrastIsAsWide(t *testing.T) {
	g := Grid{NX: 40, NY: 40, NZ: 1, Contrast: 6, Seed: 1}
	low, high := math.Inf(1), 0.0
	for i := range g.Len() {
		k := g.permeability(i)
		low, high = min(low, k), max(high, k)
	}
	assert.GreaterOrEqual(t, low, 1.0)
	assert.LessOrEqual(t, high, 1e6)
	assert.Greater(t, high/low, 1e4)
}

func TestEveryProcessMakesItsOwnRows(t *testing.T) {
	for _, g := range grids() {
		whole := g.Rows(0, g.Len())
		for first := 0; first < g.Len(); first += 5 {
			count := min(5, g.Len()-first)
			require.Equal(t, whole.Part(first, count), g.Rows(first, count), "%+v", g)
		}
	}
}

func TestBadGridsAreRefused(t *testing.T) {
	for _, g := range []Grid{
		{NX: 0, NY: 1, NZ: 1}, {NX: 1, NY: -1, NZ: 1}, {NX: 1, NY: 1}, {NX: math.MaxInt, NY: 2, NZ: 2},
		{NX: 1 << 11, NY: 1 << 10, NZ: 1 << 10}, {NX: 1 << 20, NY: 1 << 20, NZ: 1},
		{NX: 1, NY: 1, NZ: 1, Contrast: -1}, {NX: 1, NY: 1, NZ: 1, Contrast: 13}, {NX: 1, NY: 1, NZ: 1, Contrast: math.NaN()},
	} {
		assert.Error(t, g.Check(), "%+v", g)
	}
}

func TestMultiplyAgreesWithDense(t *testing.T) {
	const seed = 8
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		a := scattered(r, 1+r.IntN(40))
		require.NoError(t, a.CheckSymmetric())
		x, y := vector(r, a.Cols), make([]float64, a.Len())
		a.Multiply(y, x)
		require.InDeltaSlice(t, a.dense().multiply(x), y, 1e-9, "seed %d", seed)
	}
}

func TestSolveAgreesWithElimination(t *testing.T) {
	const seed = 9
	r := rand.New(rand.NewPCG(seed, 0))
	matrices := []*Rows{scattered(r, 1), scattered(r, 30), scattered(r, 80)}
	for _, g := range grids() {
		matrices = append(matrices, g.Rows(0, g.Len()))
	}
	for i, a := range matrices {
		b, x := vector(r, a.Len()), vector(r, a.Len())
		want, ok := a.dense().solve(b)
		require.True(t, ok)
		result, err := Solve(Serial{a}, a.Diagonal(), b, x, 1e-13, 10*a.Len()+10)
		require.NoError(t, err)
		require.True(t, result.Converged, "matrix %d: %+v", i, result)
		largest := 0.0
		for _, v := range want {
			largest = max(largest, math.Abs(v))
		}
		require.InDeltaSlice(t, want, x, 1e-7*largest, "matrix %d", i)
	}
}

func TestSolveStopsWhenToldTo(t *testing.T) {
	a := (&Grid{NX: 30, NY: 30, NZ: 1, Contrast: 4, Seed: 5}).Rows(0, 900)
	b := make([]float64, 900)
	b[17] = 1
	result, err := Solve(Serial{a}, a.Diagonal(), b, make([]float64, 900), 1e-10, 3)
	require.NoError(t, err)
	assert.Equal(t, 3, result.Iterations)
	assert.False(t, result.Converged)
	x := make([]float64, 900)
	result, err = Solve(Serial{a}, a.Diagonal(), b, x, 1e-10, 5000)
	require.NoError(t, err)
	assert.True(t, result.Converged)
	again, err := Solve(Serial{a}, a.Diagonal(), b, x, 1e-8, 5000)
	require.NoError(t, err)
	assert.Zero(t, again.Iterations, "a good guess is taken as it is")
	zero, err := Solve(Serial{a}, a.Diagonal(), make([]float64, 900), make([]float64, 900), 1e-8, 10)
	require.NoError(t, err)
	assert.True(t, zero.Converged)
}

func TestWhatIsNotPositiveDefiniteIsSaidToBeSo(t *testing.T) {
	a := &Rows{Cols: 2, Ptr: []int{0, 2, 4}, Col: []int32{0, 1, 0, 1}, Val: []float64{1, 2, 2, 1}}
	require.NoError(t, a.CheckSymmetric())
	_, err := Solve(Serial{a}, a.Diagonal(), []float64{1, -1}, []float64{0, 0}, 1e-9, 10)
	require.ErrorContains(t, err, "not positive definite")
}

func TestCheckSymmetricSeesWhatIsWrong(t *testing.T) {
	for name, a := range map[string]*Rows{
		"not square":   {Cols: 3, Ptr: []int{0, 1}, Col: []int32{0}, Val: []float64{1}},
		"one side":     {Cols: 2, Ptr: []int{0, 2, 3}, Col: []int32{0, 1, 1}, Val: []float64{1, 2, 1}},
		"other value":  {Cols: 2, Ptr: []int{0, 2, 4}, Col: []int32{0, 1, 0, 1}, Val: []float64{9, 2, 3, 9}},
		"no diagonal":  {Cols: 2, Ptr: []int{0, 1, 2}, Col: []int32{1, 0}, Val: []float64{2, 2}},
		"not a number": {Cols: 1, Ptr: []int{0, 1}, Col: []int32{0}, Val: []float64{math.NaN()}},
	} {
		assert.Error(t, a.CheckSymmetric(), name)
	}
}

var errLost = errors.New("lost")

// flaky is a Space whose n-th operation fails.
type flaky struct {
	Serial
	left *int
}

func (f flaky) fail() error {
	if *f.left--; *f.left < 0 {
		return errLost
	}
	return nil
}

func (f flaky) Dot(a, b []float64) (float64, error) { return Dot(a, b), f.fail() }

func (f flaky) Multiply(y, x []float64) error {
	f.A.Multiply(y, x)
	return f.fail()
}

func TestSolveHandsOnTheErrorsOfTheSpace(t *testing.T) {
	a := (&Grid{NX: 5, NY: 5, NZ: 1}).Rows(0, 25)
	b := make([]float64, 25)
	b[3] = 1
	for n := range 12 {
		left := n
		_, err := Solve(flaky{Serial{a}, &left}, a.Diagonal(), b, make([]float64, 25), 1e-12, 100)
		require.ErrorIs(t, err, errLost, "operation %d", n)
	}
}
