package cg

import (
	"fmt"
	"slices"
)

// Rows are consecutive rows of a sparse matrix, compressed: row First+i has the columns
// Col[Ptr[i]:Ptr[i+1]], in increasing order, with the values in the same places of Val.
type Rows struct {
	First int // number of the first row
	Cols  int // of the whole matrix
	Ptr   []int
	Col   []int32
	Val   []float64
}

// Len returns the number of rows.
func (a *Rows) Len() int { return max(0, len(a.Ptr)-1) }

// Entries returns the number of stored values.
func (a *Rows) Entries() int { return len(a.Val) }

// Row returns a view of the columns and values of a row, counted from First.
func (a *Rows) Row(i int) ([]int32, []float64) {
	from, to := a.Ptr[i], a.Ptr[i+1]
	return a.Col[from:to], a.Val[from:to]
}

// add appends a row, whose entries are in order.
func (a *Rows) add(entries []entry) {
	if len(a.Ptr) == 0 {
		a.Ptr = append(a.Ptr, 0)
	}
	for _, e := range entries {
		a.Col = append(a.Col, e.col)
		a.Val = append(a.Val, e.val)
	}
	a.Ptr = append(a.Ptr, len(a.Val))
}

type entry struct {
	col int32
	val float64
}

// Multiply stores the product with x in y. y has one element for each row, x one for each column.
func (a *Rows) Multiply(y, x []float64) {
	for i := range y {
		sum := 0.0
		cols, vals := a.Row(i)
		for k, col := range cols {
			sum += float64(vals[k] * x[col])
		}
		y[i] = sum
	}
}

// Part returns a copy of count rows from first on, which must be rows of a.
func (a *Rows) Part(first, count int) *Rows {
	at := first - a.First
	from, to := a.Ptr[at], a.Ptr[at+count]
	p := &Rows{First: first, Cols: a.Cols, Col: slices.Clone(a.Col[from:to]), Val: slices.Clone(a.Val[from:to])}
	for _, x := range a.Ptr[at : at+count+1] {
		p.Ptr = append(p.Ptr, x-from)
	}
	return p
}

// Diagonal returns a new slice with the element of each row on the diagonal of the matrix.
func (a *Rows) Diagonal() []float64 {
	d := make([]float64, a.Len())
	for i := range d {
		cols, vals := a.Row(i)
		if k, ok := slices.BinarySearch(cols, int32(a.First+i)); ok {
			d[i] = vals[k]
		}
	}
	return d
}

// CheckSymmetric returns an error unless a whole matrix is suitable for conjugate gradients:
// square, symmetric to the last bit, and positive on the diagonal.
func (a *Rows) CheckSymmetric() error {
	if a.First != 0 || a.Len() != a.Cols {
		return fmt.Errorf("cg: the matrix has %d rows and %d columns: it must be square", a.Len(), a.Cols)
	}
	for i := range a.Len() {
		cols, vals := a.Row(i)
		for k, col := range cols {
			others, theirs := a.Row(int(col))
			at, ok := slices.BinarySearch(others, int32(i))
			if !ok || theirs[at] != vals[k] {
				return fmt.Errorf("cg: the matrix is not symmetric: look at row %d, column %d", i+1, col+1)
			}
		}
	}
	for i, d := range a.Diagonal() {
		if !(d > 0) {
			return fmt.Errorf("cg: element %d of the diagonal is %v: a positive definite matrix has none such", i+1, d)
		}
	}
	return nil
}
