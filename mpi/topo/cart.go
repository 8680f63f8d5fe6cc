package topo

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Cart is a Cartesian grid of processes (MPI-4.1, 8.5.1). Ranks are in row-major order: the last
// coordinate varies fastest. A grid without dimensions has one process.
type Cart struct {
	dims    []int
	periods []bool
	strides []int // number of ranks per step in each dimension
	size    int
}

var _ Topology = (*Cart)(nil)

// NewCart makes a grid for at most procs processes; processes beyond Size are not in it
// (MPI_Cart_create; MPI-4.1, 8.5.1). The error has class Dims if a dimension is not positive or the
// grid has more than procs processes, and Arg if the lists differ in length.
func NewCart(procs int, dims []int, periods []bool) (*Cart, error) {
	if len(dims) != len(periods) {
		return nil, errclass.New(errclass.Arg, "%d dimensions have %d periods: give one for each", len(dims), len(periods))
	}
	c := &Cart{
		dims: slices.Clone(dims), periods: slices.Clone(periods),
		strides: make([]int, len(dims)), size: 1,
	}
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] < 1 {
			return nil, errclass.New(errclass.Dims, "dimension %d has %d processes: give a positive number", i, dims[i])
		}
		c.strides[i] = c.size
		if dims[i] > procs/c.size {
			return nil, errclass.New(errclass.Dims, "a grid of dimensions %v has more processes than the %d of the group", dims, procs)
		}
		c.size *= dims[i]
	}
	if c.size > procs {
		return nil, errclass.New(errclass.Dims, "a grid of one process does not fit a group of %d", procs)
	}
	return c, nil
}

// Kind returns KindCart.
func (c *Cart) Kind() Kind { return KindCart }

// Size returns the number of processes in the grid.
func (c *Cart) Size() int { return c.size }

// NDims returns the number of dimensions (MPI_Cartdim_get; MPI-4.1, 8.5.5).
func (c *Cart) NDims() int { return len(c.dims) }

// Dims returns a new slice with the number of processes in each dimension (MPI_Cart_get; MPI-4.1,
// 8.5.5).
func (c *Cart) Dims() []int { return slices.Clone(c.dims) }

// Periods returns a new slice that tells which dimensions are periodic.
func (c *Cart) Periods() []bool { return slices.Clone(c.periods) }

// Rank returns the rank of the process at some coordinates (MPI_Cart_rank; MPI-4.1, 8.5.5). In a
// periodic dimension any coordinate is valid; in others a coordinate outside the grid is an error
// of class Arg.
func (c *Cart) Rank(coords []int) (int, error) {
	if len(coords) != len(c.dims) {
		return 0, errclass.New(errclass.Arg, "%d coordinates are given for %d dimensions", len(coords), len(c.dims))
	}
	rank := 0
	for i, x := range coords {
		at, ok := c.wrap(i, x)
		if !ok {
			return 0, errclass.New(errclass.Arg, "coordinate %d is %d, outside 0 to %d, and the dimension is not periodic", i, x, c.dims[i]-1)
		}
		rank += at * c.strides[i]
	}
	return rank, nil
}

// wrap maps a coordinate into the grid. It returns false if the coordinate is outside and dimension
// i is not periodic.
func (c *Cart) wrap(i, x int) (int, bool) {
	n := c.dims[i]
	if x >= 0 && x < n {
		return x, true
	}
	if !c.periods[i] {
		return 0, false
	}
	if x %= n; x < 0 {
		x += n
	}
	return x, true
}

// Coords returns a new slice with the coordinates of a process (MPI_Cart_coords; MPI-4.1, 8.5.5).
func (c *Cart) Coords(rank int) ([]int, error) {
	if err := checkRank(rank, c.size); err != nil {
		return nil, err
	}
	coords := make([]int, len(c.dims))
	for i := range coords {
		coords[i] = c.coord(rank, i)
	}
	return coords, nil
}

func (c *Cart) coord(rank, i int) int { return rank / c.strides[i] % c.dims[i] }

// Shift returns the ranks that a process receives from and sends to when every process sends to the
// one disp steps further along a dimension. At the border of the grid it is ProcNull
// (MPI_Cart_shift; MPI-4.1, 8.5.6). An invalid dimension is an error of class Dims.
func (c *Cart) Shift(rank, dim, disp int) (source, dest int, err error) {
	if err := checkRank(rank, c.size); err != nil {
		return ProcNull, ProcNull, err
	}
	if dim < 0 || dim >= len(c.dims) {
		return ProcNull, ProcNull, errclass.New(errclass.Dims, "direction %d is not one of %d dimensions, which count from 0", dim, len(c.dims))
	}
	n := c.dims[dim]
	switch {
	case c.periods[dim]:
		disp %= n
	case disp >= n || disp <= -n:
		return ProcNull, ProcNull, nil
	}
	return c.step(rank, dim, -disp), c.step(rank, dim, disp), nil
}

// step returns the process disp steps away along a dimension, or ProcNull.
func (c *Cart) step(rank, dim, disp int) int {
	x := c.coord(rank, dim)
	to, ok := c.wrap(dim, x+disp)
	if !ok {
		return ProcNull
	}
	return rank + (to-x)*c.strides[dim]
}

// Neighborhood returns the neighbours in a grid: for each dimension the process one down and then
// the one up, to send to and to receive from (MPI-4.1, 8.6).
func (c *Cart) Neighborhood(rank int) (Neighborhood, error) {
	if err := checkRank(rank, c.size); err != nil {
		return Neighborhood{}, err
	}
	ranks := make([]int, 0, 2*len(c.dims))
	for i := range c.dims {
		ranks = append(ranks, c.step(rank, i, -1), c.step(rank, i, 1))
	}
	return Neighborhood{Sources: ranks, Destinations: slices.Clone(ranks), Crossed: true}, nil
}

// Sub returns the grid of the dimensions that remain. There is one such grid for each choice of
// coordinates in the others (MPI_Cart_sub; MPI-4.1, 8.5.7). remain must have one entry for each
// dimension, or the error has class Arg. SubPlace tells the place of each process.
func (c *Cart) Sub(remain []bool) (*Cart, error) {
	if err := c.checkRemain(remain); err != nil {
		return nil, err
	}
	var dims []int
	var periods []bool
	for i, stays := range remain {
		if stays {
			dims, periods = append(dims, c.dims[i]), append(periods, c.periods[i])
		}
	}
	return NewCart(c.size, dims, periods)
}

// SubPlace returns the number of the grid made by Sub to which a process belongs, counted from 0 in
// the order of the coordinates that do not remain, and its rank there. These are the colour and the
// key for MPI_Comm_split.
func (c *Cart) SubPlace(rank int, remain []bool) (grid, subrank int, err error) {
	if err := checkRank(rank, c.size); err != nil {
		return 0, 0, err
	}
	if err := c.checkRemain(remain); err != nil {
		return 0, 0, err
	}
	for i, stays := range remain {
		if stays {
			subrank = subrank*c.dims[i] + c.coord(rank, i)
		} else {
			grid = grid*c.dims[i] + c.coord(rank, i)
		}
	}
	return grid, subrank, nil
}

func (c *Cart) checkRemain(remain []bool) error {
	if len(remain) != len(c.dims) {
		return errclass.New(errclass.Arg, "%d entries tell which of %d dimensions remain: give one for each", len(remain), len(c.dims))
	}
	return nil
}

// Map returns the best rank for a process in a communicator with this grid: its own, or Undefined
// if it is not in the grid (MPI_Cart_map; MPI-4.1, 8.5.8).
func (c *Cart) Map(rank int) int { return mapped(rank, c.size) }

// mapped returns every process's own rank.
func mapped(rank, size int) int {
	if rank < 0 || rank >= size {
		return Undefined
	}
	return rank
}
