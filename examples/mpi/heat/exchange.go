package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/heat"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// A grid is the processes, arranged like their blocks of the plate.
type grid struct {
	problem *heat.Problem
	comm    *mpi.Comm
	cart    *topo.Cart
	dims    []int // processes in each direction
}

// newGrid arranges the processes of w.
func newGrid(ctx context.Context, w *mpi.Comm, problem *heat.Problem) (*grid, error) {
	dims, err := topo.DimsCreate(w.Size(), []int{0, 0})
	if err != nil {
		return nil, err
	}
	if problem.Rows < dims[0] || problem.Cols < dims[1] {
		return nil, fmt.Errorf("heat: a plate of %d × %d cells is too small for %d × %d processes", problem.Rows, problem.Cols, dims[0], dims[1])
	}
	comm, err := w.CartCreate(ctx, dims, []bool{false, false}, false)
	if err != nil {
		return nil, err
	}
	cart, err := comm.Cart()
	return &grid{problem: problem, comm: comm, cart: cart, dims: dims}, err
}

// place returns where the block of a process begins on the plate, and its size.
func (g *grid) place(rank int) (row, col, rows, cols int, err error) {
	at, err := g.cart.Coords(rank)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	row, rows = heat.Split(g.problem.Rows, g.dims[0], at[0])
	col, cols = heat.Split(g.problem.Cols, g.dims[1], at[1])
	return row, col, rows, cols, nil
}

// free releases the communicator. After an error it is revoked first: other processes may be waiting in
// it for this one.
func (g *grid) free(err error) error {
	if err != nil {
		_ = g.comm.Revoke() // the first error matters
		_ = g.comm.Free()
		return err
	}
	return g.comm.Free()
}

// block returns this process's block at the start.
func (g *grid) block() (*heat.Block, error) {
	row, col, rows, cols, err := g.place(g.comm.Rank())
	if err != nil {
		return nil, err
	}
	return g.problem.Block(row, col, rows, cols), nil
}

// solve computes this process's block from a step on, at which it is now. While halos are exchanged,
// it computes the cells that do not need them.
func (g *grid) solve(ctx context.Context, now *heat.Block, step int, s *saver) (_ *heat.Block, err error) {
	next, err := g.block()
	if err != nil {
		return nil, err
	}
	haloNow, err := g.halo(now)
	if err != nil {
		return nil, err
	}
	haloNext, err := g.halo(next)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, haloNow.Free(), haloNext.Free()) }()
	for begin := step; step < g.problem.Steps; step++ {
		if step > begin {
			if err := s.save(ctx, step, now); err != nil {
				return nil, err
			}
		}
		if err := haloNow.Start(); err != nil {
			return nil, err
		}
		now.StepInner(next, g.problem.Rate)
		if _, err := haloNow.Wait(ctx); err != nil {
			return nil, err
		}
		now.StepEdge(next, g.problem.Rate)
		now, next, haloNow, haloNext = next, now, haloNext, haloNow
	}
	return now, nil
}

// halo returns a persistent request that exchanges the edge of a block with the neighbours: it
// sends the outermost cells and receives the halo. Rows are contiguous in memory, columns are
// vectors. At the frame of the plate there is no neighbour, and the halo does not change.
func (g *grid) halo(b *heat.Block) (mpi.Request, error) {
	row, err := datatype.Contiguous(b.Cols, datatype.Float64)
	if err != nil {
		return mpi.Request{}, err
	}
	column, err := datatype.Vector(b.Rows, 1, b.Stride(), datatype.Float64)
	if err != nil {
		return mpi.Request{}, err
	}
	// In the order of a grid's neighbours: above, below, left, right.
	var edges, around []mpi.Buffer
	for _, side := range []struct {
		line    *datatype.Type
		out, in int // where the line to send begins, and the line to receive
	}{
		{row, b.Index(0, 0), b.Index(-1, 0)},
		{row, b.Index(b.Rows-1, 0), b.Index(b.Rows, 0)},
		{column, b.Index(0, 0), b.Index(0, -1)},
		{column, b.Index(0, b.Cols-1), b.Index(0, b.Cols)},
	} {
		edges = append(edges, mpi.Typed(b.Cells(), side.out, 1, side.line))
		around = append(around, mpi.Typed(b.Cells(), side.in, 1, side.line))
	}
	return g.comm.IneighborAlltoall(mpi.Each(edges...), mpi.Each(around...), mpi.Persistent), nil
}

// collectTag is the tag of messages with blocks for rank 0.
const collectTag = 1

// collect gathers the plate on rank 0. Blocks are sent from their place and received into their
// place, without copies. Other ranks get nil.
func (g *grid) collect(ctx context.Context, b *heat.Block) (*heat.Block, error) {
	own, err := inside(b, 0, 0, b.Rows, b.Cols)
	if err != nil {
		return nil, err
	}
	sent := g.comm.Isend(own, 0, collectTag)
	var plate *heat.Block
	if g.comm.Rank() == 0 {
		if plate, err = g.receive(ctx); err != nil {
			return nil, err
		}
	}
	_, err = sent.Wait(ctx)
	return plate, err
}

// receive receives the blocks of all processes.
func (g *grid) receive(ctx context.Context) (*heat.Block, error) {
	plate := heat.NewBlock(g.problem.Rows, g.problem.Cols)
	for rank := range g.comm.Size() {
		row, col, rows, cols, err := g.place(rank)
		if err != nil {
			return nil, err
		}
		part, err := inside(plate, row, col, rows, cols)
		if err != nil {
			return nil, err
		}
		if _, err := g.comm.Recv(ctx, part, rank, collectTag); err != nil {
			return nil, err
		}
	}
	return plate, nil
}

// inside returns a Buffer of some of a block's cells, without a copy.
func inside(b *heat.Block, row, col, rows, cols int) (mpi.Buffer, error) {
	sizes, subsizes := []int{b.Rows + 2, b.Stride()}, []int{rows, cols}
	t, err := datatype.Subarray(sizes, subsizes, []int{row + 1, col + 1}, datatype.OrderC, datatype.Float64)
	if err != nil {
		return mpi.Buffer{}, err
	}
	return mpi.Typed(b.Cells(), 0, 1, t), nil
}
