package cg

import (
	"fmt"
	"math"
)

// A Grid is a diffusion problem: the finite-volume matrix of -div(k grad u) on NX × NY × NZ cells
// with u = 0 around them. Like the permeability of rock, k differs from layer to layer and from
// cell to cell. NZ = 1 makes the problem two-dimensional. The matrix is symmetric and positive
// definite; a larger Contrast makes the system harder to solve.
type Grid struct {
	NX, NY, NZ int
	Contrast   float64 // decades between the smallest and the largest k
	Seed       uint64  // of k
}

// rowsMax limits a matrix, so that a column takes four bytes.
const rowsMax = math.MaxInt32

// Check returns an error if a grid is invalid.
func (g *Grid) Check() error {
	for _, n := range []int{g.NX, g.NY, g.NZ} {
		if n < 1 || n > rowsMax {
			return fmt.Errorf("cg: a grid of %d × %d × %d cells: give at least one in each direction", g.NX, g.NY, g.NZ)
		}
	}
	if g.NX > rowsMax/g.NY || g.NX*g.NY > rowsMax/g.NZ {
		return fmt.Errorf("cg: a grid of %d × %d × %d cells has more than %d: give fewer", g.NX, g.NY, g.NZ, rowsMax)
	}
	if !(g.Contrast >= 0 && g.Contrast <= 12) {
		return fmt.Errorf("cg: a contrast of %v decades: give 0 to 12", g.Contrast)
	}
	return nil
}

// Len returns the number of cells, which is that of rows. Cell (x, y, z) is row (z·NY + y)·NX + x.
func (g *Grid) Len() int { return g.NX * g.NY * g.NZ }

// Rows returns count rows of the matrix from first on: any process can make its own.
func (g *Grid) Rows(first, count int) *Rows {
	a := &Rows{First: first, Cols: g.Len(), Ptr: make([]int, 1, count+1)}
	var row []entry
	for i := range count {
		row = g.row(first+i, row[:0])
		a.add(row)
	}
	return a
}

// row appends a row's entries to dst, in column order: the neighbours below, the cell, the
// neighbours above. The flow out of a cell to a neighbour flows into that neighbour, so the matrix
// is symmetric. The flow through the frame is lost.
func (g *Grid) row(i int, dst []entry) []entry {
	x, y, z := i%g.NX, i/g.NX%g.NY, i/(g.NX*g.NY)
	here := g.permeability(i)
	sum := 0.0
	flow := func(inside bool, to int) {
		if !inside {
			sum += 2 * here // the distance to the frame is half a cell
			return
		}
		there := g.permeability(to)
		between := 2 * (here * there) / (here + there)
		sum += between
		dst = append(dst, entry{int32(to), -between})
	}
	if g.NZ > 1 {
		flow(z > 0, i-g.NX*g.NY)
	}
	flow(y > 0, i-g.NX)
	flow(x > 0, i-1)
	diagonal := len(dst)
	dst = append(dst, entry{col: int32(i)})
	flow(x < g.NX-1, i+1)
	flow(y < g.NY-1, i+g.NX)
	if g.NZ > 1 {
		flow(z < g.NZ-1, i+g.NX*g.NY)
	}
	dst[diagonal].val = sum
	return dst
}

// permeability returns k of a cell. Most of the contrast is between layers, which are perpendicular
// to the last direction of the grid.
func (g *Grid) permeability(i int) float64 {
	layer := i / g.NX
	if g.NZ > 1 {
		layer /= g.NY
	}
	decades := g.Contrast * (0.75*uniform(g.Seed, uint64(layer/4)) + 0.25*uniform(^g.Seed, uint64(i)))
	return math.Pow(10, decades)
}

// uniform returns a number from 0 to 1, the same for the same arguments (SplitMix64).
func uniform(seed, n uint64) float64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}
