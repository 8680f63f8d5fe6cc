package cg

import (
	"fmt"
	"slices"
)

// A Part is rows of a matrix whose columns are renumbered for the process that has them. The
// process's own elements of a vector come first, then its ghosts, the elements that it needs from
// other processes, in the order of their columns. A vector to be multiplied has Own + len(Ghosts)
// elements.
type Part struct {
	Rows   *Rows // Cols is the length of such a vector; First is 0
	Own    int
	Ghosts []int // columns in the whole matrix
	Want   []int // how many ghosts each process has, by rank, in the order of Ghosts
}

// NewPart renumbers the rows of one process. The vectors, and the rows of a square matrix, are
// divided among processes by bounds: process i has elements bounds[i] to bounds[i+1]-1.
func NewPart(a *Rows, bounds []int) (*Part, error) {
	end := a.First + a.Len()
	rank := slices.Index(bounds, a.First)
	for rank >= 0 && rank+1 < len(bounds) && bounds[rank+1] == a.First && end > a.First {
		rank++ // skip processes without elements
	}
	if rank < 0 || rank+1 >= len(bounds) || bounds[rank+1] != end || !slices.IsSorted(bounds) ||
		bounds[0] != 0 || bounds[len(bounds)-1] != a.Cols {
		return nil, fmt.Errorf("cg: rows %d to %d of %d are not those of one process: bounds are %v", a.First, end, a.Cols, bounds)
	}
	p := &Part{Own: a.Len(), Want: make([]int, len(bounds)-1)}
	for _, col := range a.Col {
		if c := int(col); c < a.First || c >= end {
			p.Ghosts = append(p.Ghosts, c)
		}
	}
	slices.Sort(p.Ghosts)
	p.Ghosts = slices.Compact(p.Ghosts)
	owner := 0
	for _, col := range p.Ghosts {
		for col >= bounds[owner+1] {
			owner++
		}
		p.Want[owner]++
	}
	p.Rows = &Rows{Cols: p.Own + len(p.Ghosts), Ptr: slices.Clone(a.Ptr), Val: slices.Clone(a.Val), Col: make([]int32, len(a.Col))}
	for k, col := range a.Col {
		p.Rows.Col[k] = p.local(a.First, int(col))
	}
	return p, nil
}

// local returns the new number of a column; first is the first own one. The columns of a row are
// then no longer in order. Multiply does not need that: the sum is the same as before.
func (p *Part) local(first, col int) int32 {
	if col >= first && col < first+p.Own {
		return int32(col - first)
	}
	at, _ := slices.BinarySearch(p.Ghosts, col)
	return int32(p.Own + at)
}

// Asked checks the columns that another process wants from the one with elements first to
// first+own-1, and turns them into indices of its own elements.
func Asked(columns []int, first, own int) ([]int, error) {
	at := make([]int, len(columns))
	for i, col := range columns {
		if at[i] = col - first; col < first || at[i] >= own {
			return nil, fmt.Errorf("cg: element %d is asked of the process that has %d to %d", col, first, first+own-1)
		}
	}
	return at, nil
}
