package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/topo"
)

// TestCart sends around a torus of 2 by 3, in which some neighbours are the same process.
func TestCart(t *testing.T) {
	mpitest.Run(t, 7, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		dims, err := topo.DimsCreate(6, []int{0, 0})
		require.NoError(t, err)
		require.ElementsMatch(t, []int{3, 2}, dims)
		torus, err := w.CartCreate(bg, []int{2, 3}, []bool{true, true}, true)
		require.NoError(t, err)
		if w.Rank() == 6 {
			assert.Nil(t, torus)
			return
		}
		talk(t, torus)
		cart, err := torus.Cart()
		require.NoError(t, err)
		coords, err := cart.Coords(torus.Rank())
		require.NoError(t, err)
		assert.Equal(t, []int{torus.Rank() / 3, torus.Rank() % 3}, coords)
		rank, err := cart.Rank([]int{coords[0] - 4, coords[1] + 6})
		require.NoError(t, err)
		assert.Equal(t, torus.Rank(), rank)
		// Data for one side arrives from the other one: 10 times the sender, plus the side.
		in, out := make([]int, 4), make([]int, 4)
		for side := range in {
			in[side] = 10*torus.Rank() + side
		}
		require.NoError(t, torus.NeighborAlltoall(bg, mpi.Slice(in), mpi.Slice(out)))
		for dim := range 2 {
			source, dest, err := cart.Shift(torus.Rank(), dim, 1)
			require.NoError(t, err)
			assert.Equal(t, []int{10*source + 2*dim + 1, 10*dest + 2*dim}, out[2*dim:2*dim+2], "dimension %d", dim)
		}
		row, err := torus.CartSub(bg, []bool{false, true})
		require.NoError(t, err)
		assert.Equal(t, 3, row.Size())
		assert.Equal(t, coords[1], row.Rank())
		grid, err := row.Cart()
		require.NoError(t, err)
		assert.Equal(t, []int{3}, grid.Dims())
		talk(t, row)
		dup, err := row.Dup(bg)
		require.NoError(t, err)
		same, err := dup.Cart()
		require.NoError(t, err)
		assert.Equal(t, grid, same)
		_, err = dup.Graph()
		assert.ErrorIs(t, err, mpi.ErrTopology)
		_, err = dup.DistGraph()
		assert.ErrorIs(t, err, mpi.ErrTopology)
		_, err = torus.CartCreate(bg, []int{7}, []bool{true}, false)
		assert.ErrorIs(t, err, mpi.ErrDims)
		_, err = w.Cart()
		assert.ErrorIs(t, err, mpi.ErrTopology)
	})
}

// TestBorder: there is no process beyond the ends of a line, and the parts for it do not change.
func TestBorder(t *testing.T) {
	mpitest.Run(t, 4, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		line, err := p.World().CartCreate(bg, []int{4}, []bool{false}, false)
		require.NoError(t, err)
		me := line.Rank()
		got := []int{-5, -6}
		want := []int{me - 1, me + 1}
		if me == 0 {
			want[0] = -5
		}
		if me == 3 {
			want[1] = -6
		}
		require.NoError(t, line.NeighborAllgather(bg, mpi.Slice([]int{me}), mpi.Slice(got)))
		assert.Equal(t, want, got)
		got = []int{-5, -6}
		r := line.IneighborAllgather(mpi.Slice([]int{me}), mpi.Slice(got).Parts([]int{1, 1}, nil))
		_, err = r.Wait(bg)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	})
}

func TestGraph(t *testing.T) {
	mpitest.Run(t, 4, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		// Node 0 is connected with all others.
		star, err := p.World().GraphCreate(bg, []int{3, 4, 5, 6}, []int{1, 2, 3, 0, 0, 0}, false)
		require.NoError(t, err)
		me := star.Rank()
		graph, err := star.Graph()
		require.NoError(t, err)
		neighbors, err := graph.Neighbors(me)
		require.NoError(t, err)
		got := make([]int, len(neighbors))
		require.NoError(t, star.NeighborAllgather(bg, mpi.Slice([]int{me}), mpi.Slice(got)))
		assert.Equal(t, neighbors, got)
		_, err = p.World().GraphCreate(bg, []int{1}, []int{5}, false)
		assert.ErrorIs(t, err, mpi.ErrTopology)
	})
}

// TestDistGraph makes the same graph in two ways: a directed ring with an edge from every process
// to rank 0.
func TestDistGraph(t *testing.T) {
	const n = 5
	mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		me := w.Rank()
		// Every process passes the edges of the next one.
		next := (me + 1) % n
		g, err := w.DistGraphCreate(bg, []int{next}, []int{2}, []int{(next + 1) % n, 0}, []int{next, 100}, nil, false)
		require.NoError(t, err)
		mine, err := g.DistGraph()
		require.NoError(t, err)
		assert.True(t, mine.Weighted())
		sources, weights := mine.Sources()
		destinations, _ := mine.Destinations()
		assert.Len(t, destinations, 2)
		if me != 0 {
			assert.Equal(t, []int{me - 1}, sources)
			assert.Equal(t, []int{me - 1}, weights)
		} else {
			assert.Len(t, sources, n+1)
		}
		// Sources receive in the order in which destinations are sent to.
		in, out := make([]int, len(destinations)), make([]int, len(sources))
		for i, d := range destinations {
			in[i] = 10*me + d
		}
		require.NoError(t, g.NeighborAlltoall(bg, mpi.Slice(in), mpi.Slice(out)))
		for i, s := range sources {
			assert.Equal(t, 10*s+me, out[i])
		}
		sw, dw := mine.Sources()
		_ = sw
		dd, ddw := mine.Destinations()
		a, err := w.DistGraphCreateAdjacent(bg, sources, dw, dd, ddw, nil, false)
		require.NoError(t, err)
		clear(out)
		counts := make([]int, len(sources))
		for i := range counts {
			counts[i] = 1
		}
		sent := make([]int, len(destinations))
		for i := range sent {
			sent[i] = 1
		}
		require.NoError(t, a.NeighborAlltoall(bg, mpi.Slice(in).Parts(sent, nil), mpi.Slice(out).Parts(counts, nil)))
		for i, s := range sources {
			assert.Equal(t, 10*s+me, out[i])
		}
		_, err = w.DistGraphCreateAdjacent(bg, []int{n}, nil, nil, nil, nil, false)
		assert.ErrorIs(t, err, mpi.ErrRank)
	})
}
