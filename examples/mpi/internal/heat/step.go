package heat

// RateMax is the largest rate at which steps do not blow up: a cell gives at most all it has
// to its four neighbours.
const RateMax = 0.25

// Step computes all cells of next from those of b, whose halo must be up to date. Rate is how
// much of the difference to a neighbour a cell takes on: the conductivity times the time of a
// step, by the area of a cell. The two blocks have the same size, and next keeps its halo.
func (b *Block) Step(next *Block, rate float64) {
	for row := range b.Rows {
		b.stepRow(next, row, 0, b.Cols, rate)
	}
}

// StepInner computes the cells that need no halo, which can be done while it is on its way.
// StepEdge computes the others.
func (b *Block) StepInner(next *Block, rate float64) {
	for row := 1; row < b.Rows-1; row++ {
		b.stepRow(next, row, 1, b.Cols-1, rate)
	}
}

// StepEdge computes the cells at the edge of the block, each once, also if the block is so
// narrow that it has nothing else.
func (b *Block) StepEdge(next *Block, rate float64) {
	last := b.Rows - 1
	b.stepRow(next, 0, 0, b.Cols, rate)
	if last > 0 {
		b.stepRow(next, last, 0, b.Cols, rate)
	}
	for row := 1; row < last; row++ {
		b.stepRow(next, row, 0, 1, rate)
		if b.Cols > 1 {
			b.stepRow(next, row, b.Cols-1, b.Cols, rate)
		}
	}
}

// stepRow computes the cells from col to before end of a row. It is the only place where cells
// are computed. The conversions forbid the compiler to merge a product into a sum, which some
// processors do in one rounding, so that results are the same bits on all.
func (b *Block) stepRow(next *Block, row, col, end int, rate float64) {
	if col >= end {
		return
	}
	at, n := b.Index(row, col), end-col
	up, down := b.cells[at-b.Stride():][:n], b.cells[at+b.Stride():][:n]
	left, mid, right := b.cells[at-1:][:n], b.cells[at:][:n], b.cells[at+1:][:n]
	out := next.cells[at:][:n]
	for i := range out {
		t := mid[i]
		around := (up[i] + down[i]) + (left[i] + right[i])
		out[i] = t + float64(rate*(around-float64(4*t)))
	}
}
