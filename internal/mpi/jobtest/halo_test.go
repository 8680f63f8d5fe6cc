package jobtest

import (
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// side is the side length of the square block of a grid that every process has.
const side = 6

// halo computes on a grid that is a ring in its first dimension and has borders in the other. Each
// cell becomes a mixture of itself and its neighbours, including those of other processes. Every
// process compares its block with the whole grid, which it computes alone.
func halo(t *checker, w *mpi.Comm) {
	dims, err := topo.DimsCreate(w.Size(), []int{0, 0})
	require.NoError(t, err)
	c, err := w.CartCreate(bg, dims, []bool{true, false}, true)
	require.NoError(t, err)
	cart, err := c.Cart()
	require.NoError(t, err)
	at, err := cart.Coords(c.Rank())
	require.NoError(t, err)
	b := &block{comm: c, cart: cart, cells: make([]uint32, side*side)}
	whole := newGrid(dims[0]*side, dims[1]*side)
	b.copyFrom(whole, at)
	for round := range 8 {
		var around []uint32
		if round%2 == 0 {
			around = b.collective(t)
		} else {
			around = b.pairwise(t)
		}
		b.step(around)
		whole = whole.step()
		want := block{cells: make([]uint32, side*side)}
		want.copyFrom(whole, at)
		require.Equal(t, want.cells, b.cells, "round %d, block %v of %v", round, at, dims)
	}
	require.NoError(t, c.Free())
}

// A grid is computed by one process.
type grid struct {
	rows, columns int
	cells         []uint32
}

func newGrid(rows, columns int) grid {
	g := grid{rows, columns, make([]uint32, rows*columns)}
	for i := range g.cells {
		g.cells[i] = uint32(i*i + 7)
	}
	return g
}

// at returns a cell; rows form a ring, and beyond the left and right borders everything is 0.
func (g grid) at(row, column int) uint32 {
	if column < 0 || column >= g.columns {
		return 0
	}
	return g.cells[(row+g.rows)%g.rows*g.columns+column]
}

func (g grid) step() grid {
	next := newGrid(g.rows, g.columns)
	for r := range g.rows {
		for c := range g.columns {
			next.cells[r*g.columns+c] = mix(g.at(r, c), g.at(r-1, c), g.at(r+1, c), g.at(r, c-1), g.at(r, c+1))
		}
	}
	return next
}

// mix has a different result if neighbours are exchanged.
func mix(here, above, below, left, right uint32) uint32 {
	return here + 3*above + 5*below + 7*left + 11*right
}

// A block is a process's part of the grid.
type block struct {
	comm  *mpi.Comm
	cart  *topo.Cart
	cells []uint32
}

func (b *block) copyFrom(g grid, at []int) {
	for i := range b.cells {
		b.cells[i] = g.at(at[0]*side+i/side, at[1]*side+i%side)
	}
}

// edges returns the outermost cells: above, below, left and right, in the order of a grid's
// neighbours (MPI-4.1, 8.6).
func (b *block) edges() []uint32 {
	out := make([]uint32, 0, 4*side)
	out = append(out, b.cells[:side]...)
	out = append(out, b.cells[len(b.cells)-side:]...)
	for _, column := range []int{0, side - 1} {
		for row := range side {
			out = append(out, b.cells[row*side+column])
		}
	}
	return out
}

// collective exchanges the edges with a neighbourhood collective.
func (b *block) collective(t *checker) []uint32 {
	in := make([]uint32, 4*side)
	require.NoError(t, b.comm.NeighborAlltoall(bg, mpi.Slice(b.edges()), mpi.Slice(in)))
	return in
}

// pairwise exchanges them along one dimension after the other. Data sent in one direction arrives
// from the opposite one.
func (b *block) pairwise(t *checker) []uint32 {
	out, in := b.edges(), make([]uint32, 4*side)
	for edge := range 4 {
		from, to, err := b.cart.Shift(b.comm.Rank(), edge/2, []int{-1, 1}[edge%2])
		require.NoError(t, err)
		opposite := edge ^ 1
		_, err = b.comm.Sendrecv(bg, mpi.Slice(out[edge*side:(edge+1)*side]), to, edge, mpi.Slice(in[opposite*side:(opposite+1)*side]), from, edge)
		require.NoError(t, err)
	}
	return in
}

func (b *block) step(around []uint32) {
	at := func(row, column int) uint32 {
		switch {
		case row < 0:
			return around[column]
		case row >= side:
			return around[side+column]
		case column < 0:
			return around[2*side+row]
		case column >= side:
			return around[3*side+row]
		}
		return b.cells[row*side+column]
	}
	next := make([]uint32, len(b.cells))
	for i := range next {
		r, c := i/side, i%side
		next[i] = mix(at(r, c), at(r-1, c), at(r+1, c), at(r, c-1), at(r, c+1))
	}
	b.cells = next
}
