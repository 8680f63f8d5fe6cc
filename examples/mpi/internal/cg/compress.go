package cg

import "fmt"

// compress sorts the entries of a file by row, then by column, in two counting passes. An entry
// that occurs twice is an error.
func (f *reader) compress() (*Rows, error) {
	columns := f.cols
	if len(f.entries) < columns { // a general matrix may have many more columns than entries
		return nil, fmt.Errorf("%d entries are too few for %d columns: the matrix would be singular", len(f.entries), columns)
	}
	byCol := arrange(f.entries, columns, func(t *triple) int32 { return t.col })
	byRow := arrange(byCol, f.rows, func(t *triple) int32 { return t.row })
	a := &Rows{Cols: f.cols, Ptr: make([]int, f.rows+1), Col: make([]int32, len(byRow)), Val: make([]float64, len(byRow))}
	for i, t := range byRow {
		if i > 0 && byRow[i-1].row == t.row && byRow[i-1].col == t.col {
			return nil, fmt.Errorf("the entry (%d, %d) is in the file twice", t.row+1, t.col+1)
		}
		a.Ptr[t.row+1] = i + 1
		a.Col[i], a.Val[i] = t.col, t.val
	}
	for i := range f.rows {
		a.Ptr[i+1] = max(a.Ptr[i+1], a.Ptr[i]) // for rows without entries
	}
	return a, nil
}

// arrange returns a copy of entries, sorted by keys below n. The sort is stable.
func arrange(entries []triple, n int, key func(*triple) int32) []triple {
	at := make([]int, n+1)
	for i := range entries {
		at[key(&entries[i])+1]++
	}
	for k := range n {
		at[k+1] += at[k]
	}
	out := make([]triple, len(entries))
	for i := range entries {
		k := key(&entries[i])
		out[at[k]] = entries[i]
		at[k]++
	}
	return out
}
