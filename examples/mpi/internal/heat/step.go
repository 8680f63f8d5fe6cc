package heat

// RateMax is the largest rate at which the steps are stable: a cell gives at most all its heat to
// its four neighbours.
const RateMax = 0.25

// Step computes all cells of next from those of b, whose halo must be up to date. A cell takes over
// rate times the difference to each neighbour; rate is the conductivity times the time of a step,
// divided by the area of a cell. The two blocks have the same size, and the halo of next does not
// change.
func (b *Block) Step(next *Block, rate float64) {
	for row := range b.Rows {
		b.stepRow(next, row, 0, b.Cols, rate)
	}
}

// StepInner computes the cells that need no halo, while the halo is being exchanged. StepEdge
// computes the others.
func (b *Block) StepInner(next *Block, rate float64) {
	for row := 1; row < b.Rows-1; row++ {
		b.stepRow(next, row, 1, b.Cols-1, rate)
	}
}

// StepEdge computes the cells at the edge of the block, each once, even if the block is so narrow
// that it has no others.
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

// stepRow computes the cells col to end-1 of a row. It is the only place where cells are computed.
// The conversions keep the compiler from fusing a product and a sum, which some processors round
// only once, so results have the same bits on all.
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
