package heat

// A Block is Rows × Cols cells of the plate and a halo of one cell around them. Cells have
// indices from 0, so the halo's are -1 and Rows or Cols. Rows are contiguous in memory, and
// columns are Stride cells apart, as a vector datatype wants them.
type Block struct {
	Rows, Cols int
	cells      []float64
}

// NewBlock is a block of zeros. Rows and cols are positive.
func NewBlock(rows, cols int) *Block {
	return &Block{Rows: rows, Cols: cols, cells: make([]float64, (rows+2)*(cols+2))}
}

// Stride is how many cells apart one row begins from the next.
func (b *Block) Stride() int { return b.Cols + 2 }

// Cells are all cells with the halo, row by row: a view.
func (b *Block) Cells() []float64 { return b.cells }

// Index is where a cell is in Cells.
func (b *Block) Index(row, col int) int { return (row+1)*b.Stride() + col + 1 }

// At is the temperature of a cell.
func (b *Block) At(row, col int) float64 { return b.cells[b.Index(row, col)] }

// Set gives a cell a temperature.
func (b *Block) Set(row, col int, t float64) { b.cells[b.Index(row, col)] = t }

// Row is a view of a row without the halo on its left and right; the halo above is row -1,
// the one below row Rows.
func (b *Block) Row(row int) []float64 {
	i := b.Index(row, 0)
	return b.cells[i : i+b.Cols : i+b.Cols]
}

// Column copies a column, without the halo above and below, to dst, which holds Rows cells.
func (b *Block) Column(col int, dst []float64) {
	for row := range b.Rows {
		dst[row] = b.At(row, col)
	}
}

// SetColumn is the opposite of Column.
func (b *Block) SetColumn(col int, src []float64) {
	for row := range b.Rows {
		b.Set(row, col, src[row])
	}
}

// Values appends the cells without the halo to dst, row by row.
func (b *Block) Values(dst []float64) []float64 {
	for row := range b.Rows {
		dst = append(dst, b.Row(row)...)
	}
	return dst
}

// Paste copies rows × cols values, row by row as Values has them, to the cells from (row, col)
// on. They must be cells of the block.
func (b *Block) Paste(row, col, rows, cols int, values []float64) {
	for i := range rows {
		copy(b.Row(row + i)[col:col+cols], values[i*cols:(i+1)*cols])
	}
}
