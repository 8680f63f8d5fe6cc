package heat

import "fmt"

// A Problem is a plate and the number of steps to compute. All processes of the program have the
// same.
type Problem struct {
	Rows, Cols int     // of the plate, in cells, without the frame around it
	Steps      int     // in time
	Rate       float64 // of a step: see Block.Step
	// Initial is the temperature of a cell at first, and of the frame forever: row -1 and
	// Rows, column -1 and Cols.
	Initial func(row, col int) float64
}

// plateCellsMax limits the memory that a number on the command line can allocate: half a gigabyte
// for a plate.
const plateCellsMax = 1 << 26

// Check returns an error if a problem is invalid.
func (p *Problem) Check() error {
	switch {
	case p.Rows < 1 || p.Cols < 1 || p.Rows > plateCellsMax/p.Cols:
		return fmt.Errorf("heat: a plate of %d × %d cells: give at least one row and column, and at most %d cells", p.Rows, p.Cols, plateCellsMax)
	case p.Steps < 0:
		return fmt.Errorf("heat: %d steps: give 0 or more", p.Steps)
	case !(p.Rate >= 0 && p.Rate <= RateMax):
		return fmt.Errorf("heat: a rate of %v: give 0 to %v, beyond which the result oscillates", p.Rate, RateMax)
	}
	return nil
}

// HotSpots is the example's picture: a frame that is warm below and cold elsewhere, a hot disc
// and a hot bar on a cold plate. Temperatures are between 0 and 1.
func HotSpots(rows, cols int) func(row, col int) float64 {
	return func(row, col int) float64 {
		switch {
		case row >= rows:
			return 1
		case row < 0 || col < 0 || col >= cols:
			return 0
		}
		y, x := (float64(row)+0.5)/float64(rows), (float64(col)+0.5)/float64(cols)
		if dy, dx := y-0.35, x-0.3; dx*dx+dy*dy < 0.03 {
			return 1
		}
		if x > 0.6 && x < 0.9 && y > 0.2 && y < 0.3 {
			return 0.8
		}
		return 0
	}
}

// Split divides n cells among parts as evenly as possible. It returns where part i begins, and its
// length. If parts does not divide n, the first parts have one cell more. parts is positive, 0 ≤ i
// < parts.
func Split(n, parts, i int) (first, count int) {
	each, more := n/parts, n%parts
	first = i*each + min(i, more)
	if i < more {
		each++
	}
	return first, each
}

// Block returns the cells from (row, col) on at the start, with their halo.
func (p *Problem) Block(row, col, rows, cols int) *Block {
	b := NewBlock(rows, cols)
	for i := -1; i <= rows; i++ {
		for j := -1; j <= cols; j++ {
			b.Set(i, j, p.Initial(row+i, col+j))
		}
	}
	return b
}

// Serial returns the plate after all steps, computed by one process, as a reference for the others.
func (p *Problem) Serial() *Block {
	now := p.Block(0, 0, p.Rows, p.Cols)
	next := p.Block(0, 0, p.Rows, p.Cols)
	for range p.Steps {
		now.Step(next, p.Rate)
		now, next = next, now
	}
	return now
}
