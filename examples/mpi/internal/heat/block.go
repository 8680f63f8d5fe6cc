package heat

// A Block is Rows × Cols cells of the plate and a halo of one cell around them. Cells have indices
// from 0, so the halo has indices -1 and Rows or Cols. Rows are contiguous in memory, and the cells
// of a column are Stride cells apart, as in a vector datatype.
type Block struct {
	Rows, Cols int
	cells      []float64
}

// NewBlock returns a block of zeros. rows and cols are positive.
func NewBlock(rows, cols int) *Block {
	return &Block{Rows: rows, Cols: cols, cells: make([]float64, (rows+2)*(cols+2))}
}

// Stride returns the distance between the beginnings of two rows, in cells.
func (b *Block) Stride() int { return b.Cols + 2 }

// Cells returns a view of all cells with the halo, row by row.
func (b *Block) Cells() []float64 { return b.cells }

// Index returns the index of a cell in Cells.
func (b *Block) Index(row, col int) int { return (row+1)*b.Stride() + col + 1 }

// At returns the temperature of a cell.
func (b *Block) At(row, col int) float64 { return b.cells[b.Index(row, col)] }

// Set sets the temperature of a cell.
func (b *Block) Set(row, col int, t float64) { b.cells[b.Index(row, col)] = t }

// Row returns a view of a row without the halo on its left and right. Row -1 is the halo above, and
// row Rows the halo below.
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

// Paste copies rows × cols values, row by row as in Values, to the cells from (row, col) on. They
// must be cells of the block.
func (b *Block) Paste(row, col, rows, cols int, values []float64) {
	for i := range rows {
		copy(b.Row(row + i)[col:col+cols], values[i*cols:(i+1)*cols])
	}
}
