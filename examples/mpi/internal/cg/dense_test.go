package cg

import (
	"math"
	"math/rand/v2"
	"slices"
)

// dense is a matrix in its obvious form.
type dense [][]float64

func (a *Rows) dense() dense {
	d := make(dense, a.Len())
	for i := range d {
		d[i] = make([]float64, a.Cols)
		cols, vals := a.Row(i)
		for k, col := range cols {
			d[i][col] += vals[k]
		}
	}
	return d
}

func (d dense) multiply(x []float64) []float64 {
	y := make([]float64, len(d))
	for i, row := range d {
		for j, v := range row {
			y[i] += v * x[j]
		}
	}
	return y
}

// solve solves by Cholesky's factors; it fails if the matrix is not positive definite.
func (d dense) solve(b []float64) (x []float64, ok bool) {
	n := len(d)
	l := make(dense, n)
	for i := range l {
		l[i] = make([]float64, n)
		for j := range i + 1 {
			sum := d[i][j]
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			if i != j {
				l[i][j] = sum / l[j][j]
				continue
			}
			if sum <= 0 {
				return nil, false
			}
			l[i][i] = math.Sqrt(sum)
		}
	}
	x = slices.Clone(b)
	for i := range n {
		for k := range i {
			x[i] -= l[i][k] * x[k]
		}
		x[i] /= l[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= l[k][i] * x[k]
		}
		x[i] /= l[i][i]
	}
	return x, true
}

// vector is n random elements.
func vector(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

// scattered is a random sparse matrix, symmetric and with a dominant diagonal.
func scattered(r *rand.Rand, n int) *Rows {
	d := make(dense, n)
	for i := range d {
		d[i] = make([]float64, n)
	}
	for range 3 * n {
		i, j, v := r.IntN(n), r.IntN(n), r.NormFloat64()
		d[i][j], d[j][i] = v, v
	}
	a := &Rows{Cols: n, Ptr: []int{0}}
	for i, row := range d {
		sum := 0.1
		for j, v := range row {
			if j != i {
				sum += math.Abs(v)
			}
		}
		row[i] = sum
		var entries []entry
		for j, v := range row {
			if v != 0 {
				entries = append(entries, entry{int32(j), v})
			}
		}
		a.add(entries)
	}
	return a
}
