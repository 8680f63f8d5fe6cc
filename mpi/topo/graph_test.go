package topo

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The example of the standard (MPI-4.1, 8.5.3), with a node more that has no neighbours.
func TestGraphOfTheStandard(t *testing.T) {
	g, err := NewGraph(8, []int{2, 3, 4, 6, 6}, []int{1, 3, 0, 3, 0, 2})
	require.NoError(t, err)
	assert.Equal(t, 5, g.Size())
	assert.Equal(t, 6, g.NEdges())
	for rank, want := range [][]int{{1, 3}, {0}, {3}, {0, 2}, {}} {
		got, err := g.Neighbors(rank)
		require.NoError(t, err)
		assert.Equal(t, want, append([]int{}, got...))
	}
	for _, rank := range []int{-1, 5} {
		_, err = g.Neighbors(rank)
		assert.ErrorIs(t, err, errclass.Rank)
		_, err = g.Neighborhood(rank)
		assert.ErrorIs(t, err, errclass.Rank)
		assert.Equal(t, Undefined, g.Map(rank))
	}
	assert.Equal(t, 4, g.Map(4))
	assert.Equal(t, []int{2, 3, 4, 6, 6}, g.Index())
	assert.Equal(t, []int{1, 3, 0, 3, 0, 2}, g.Edges())
	n, err := g.Neighborhood(0)
	require.NoError(t, err)
	n.Sources[0] = 99
	again, err := g.Neighborhood(0)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 3}, again.Sources, "a graph does not change")
	assert.Equal(t, []int{1, 3}, again.Destinations)
	assert.Equal(t, 1, again.Recv(1))
}

func TestBadGraphs(t *testing.T) {
	for _, c := range []struct {
		index, edges []int
	}{
		{[]int{1, 1, 1, 1, 1}, []int{0}},     // five nodes
		{[]int{1, 0}, []int{0}},              // goes back
		{[]int{-1, 1}, []int{0}},             //
		{[]int{1, 5}, []int{0, 1}},           // beyond the edges
		{[]int{1, math.MaxInt}, []int{0, 1}}, //
		{[]int{1}, []int{0, 0}},              // an edge left over
		{nil, []int{0}},                      //
		{[]int{1, 2}, []int{1, 2}},           // no such node
		{[]int{1, 2}, []int{1, -1}},          //
		{[]int{1, 2}, []int{1, math.MinInt}}, //
	} {
		_, err := NewGraph(4, c.index, c.edges)
		assert.ErrorIs(t, err, errclass.Topology, "%v %v", c.index, c.edges)
	}
	g, err := NewGraph(4, nil, nil)
	require.NoError(t, err)
	assert.Zero(t, g.Size())
}

func TestDistAdjacent(t *testing.T) {
	d, err := NewDistAdjacent(4, 1, []int{3, 0, 3}, []int{7, 0, 2}, []int{1}, []int{5})
	require.NoError(t, err)
	assert.True(t, d.Weighted())
	ranks, weights := d.Sources()
	assert.Equal(t, []int{3, 0, 3}, ranks)
	assert.Equal(t, []int{7, 0, 2}, weights)
	ranks, weights = d.Destinations()
	assert.Equal(t, []int{1}, ranks)
	assert.Equal(t, []int{5}, weights)
	_, err = d.Neighborhood(0)
	assert.ErrorIs(t, err, errclass.Rank)

	for _, c := range []struct {
		what     string
		sw, dw   []int
		weighted bool
	}{
		{"unweighted", nil, nil, false},
		{"weights on the side with neighbours", []int{1}, nil, true},
		{"weights of no neighbours", []int{1}, []int{}, true},
	} {
		d, err := NewDistAdjacent(2, 0, []int{1}, c.sw, nil, c.dw)
		require.NoError(t, err, c.what)
		assert.Equal(t, c.weighted, d.Weighted(), c.what)
		_, weights := d.Sources()
		assert.Equal(t, c.weighted, weights != nil, c.what)
	}
	empty, err := NewDistAdjacent(2, 0, nil, []int{}, nil, nil)
	require.NoError(t, err)
	assert.True(t, empty.Weighted())
}

func TestBadDistAdjacent(t *testing.T) {
	for _, c := range []struct {
		what         string
		rank         int
		s, sw, d, dw []int
		class        errclass.Class
	}{
		{"rank", 4, nil, nil, nil, nil, errclass.Rank},
		{"source", 0, []int{0, 4}, nil, nil, nil, errclass.Rank},
		{"destination", 0, nil, nil, []int{-1}, nil, errclass.Rank},
		{"null source", 0, []int{ProcNull}, nil, nil, nil, errclass.Rank},
		{"weights missing", 0, []int{0, 1}, []int{1}, nil, nil, errclass.Arg},
		{"weights on one side", 0, []int{0}, []int{1}, []int{1}, nil, errclass.Arg},
		{"weights too many", 0, []int{0}, nil, []int{1}, []int{1, 2}, errclass.Arg},
		{"weight below 0", 0, []int{0}, []int{-1}, nil, nil, errclass.Arg},
	} {
		_, err := NewDistAdjacent(4, c.rank, c.s, c.sw, c.d, c.dw)
		assert.ErrorIs(t, err, c.class, c.what)
	}
}

// distributed makes a graph of edges that random processes give, and returns each process's
// part of it and all edges.
func distributed(t *testing.T, r *rand.Rand, procs int) (graphs []*DistGraph, all []Edge) {
	sent := make([][][]Edge, procs) // [to][from]
	for range procs {
		var sources, degrees, destinations, weights []int
		for range r.IntN(4) {
			sources, degrees = append(sources, r.IntN(procs)), append(degrees, r.IntN(4)*r.IntN(8))
			for range degrees[len(degrees)-1] {
				destinations, weights = append(destinations, r.IntN(procs)), append(weights, r.IntN(1000))
				all = append(all, Edge{sources[len(sources)-1], destinations[len(destinations)-1], weights[len(weights)-1]})
			}
		}
		edges, err := Edges(procs, sources, degrees, destinations, weights)
		require.NoError(t, err)
		for to, some := range Route(procs, edges) {
			sent[to] = append(sent[to], some)
		}
	}
	for rank := range procs {
		g, err := NewDistGraph(procs, rank, true, sent[rank])
		require.NoError(t, err)
		graphs = append(graphs, g)
	}
	return graphs, all
}

func TestEveryProcessKnowsItsEdgesAndNoOthers(t *testing.T) {
	const seed = 31
	r := rand.New(rand.NewPCG(seed, 0))
	for range 80 {
		procs := 1 + r.IntN(6)
		graphs, all := distributed(t, r, procs)
		for rank, g := range graphs {
			var in, out, inWeights, outWeights []int
			for neighbour := range procs {
				for _, e := range all {
					if e.Source == neighbour && e.Destination == rank {
						in, inWeights = append(in, neighbour), append(inWeights, e.Weight)
					}
					if e.Source == rank && e.Destination == neighbour {
						out, outWeights = append(out, neighbour), append(outWeights, e.Weight)
					}
				}
			}
			ranks, weights := g.Sources()
			require.Equal(t, in, ranks, "seed %d", seed)
			require.True(t, slices.Equal(inWeights, weights), "seed %d", seed)
			ranks, weights = g.Destinations()
			require.Equal(t, out, ranks, "seed %d", seed)
			require.True(t, slices.Equal(outWeights, weights), "seed %d", seed)
		}
	}
}

func TestBadEdges(t *testing.T) {
	for _, c := range []struct {
		what                string
		sources, degrees    []int
		destinations, given []int
		class               errclass.Class
	}{
		{"degrees missing", []int{0, 1}, []int{1}, []int{1}, nil, errclass.Arg},
		{"weights missing", []int{0}, []int{2}, []int{1, 2}, []int{1}, errclass.Arg},
		{"degree below 0", []int{0}, []int{-1}, nil, nil, errclass.Arg},
		{"degree too large", []int{0}, []int{2}, []int{1}, nil, errclass.Arg},
		{"degree much too large", []int{0, 1}, []int{1, math.MaxInt}, []int{1}, nil, errclass.Arg},
		{"destination left over", []int{0}, []int{1}, []int{1, 1}, nil, errclass.Arg},
		{"source", []int{4}, []int{1}, []int{1}, nil, errclass.Rank},
		{"source without edges", []int{-1}, []int{0}, nil, nil, errclass.Rank},
		{"destination", []int{0}, []int{1}, []int{4}, nil, errclass.Rank},
		{"weight", []int{0}, []int{1}, []int{1}, []int{-5}, errclass.Arg},
	} {
		_, err := Edges(4, c.sources, c.degrees, c.destinations, c.given)
		assert.ErrorIs(t, err, c.class, c.what)
	}
	edges, err := Edges(4, []int{2}, []int{1}, []int{3}, nil)
	require.NoError(t, err)
	assert.Equal(t, []Edge{{2, 3, 1}}, edges)
}

// Edges from other processes are checked before they are used.
func TestEdgesFromOthersAreChecked(t *testing.T) {
	for _, e := range []Edge{{0, 2, 1}, {1, 4, 0}, {-1, 1, 0}, {1, 1, -1}, {1, math.MaxInt, 0}} {
		_, err := NewDistGraph(4, 1, true, [][]Edge{nil, {e}})
		assert.ErrorIs(t, err, errclass.Topology, "%v", e)
	}
	_, err := NewDistGraph(4, 4, true, nil)
	assert.ErrorIs(t, err, errclass.Rank)
	g, err := NewDistGraph(4, 1, false, [][]Edge{{{0, 1, 1}}})
	require.NoError(t, err)
	ranks, weights := g.Sources()
	assert.Equal(t, []int{0}, ranks)
	assert.Nil(t, weights)
	assert.False(t, g.Weighted())
}

func TestKinds(t *testing.T) {
	c, err := NewCart(1, nil, nil)
	require.NoError(t, err)
	g, err := NewGraph(1, nil, nil)
	require.NoError(t, err)
	d, err := NewDistGraph(3, 0, false, nil)
	require.NoError(t, err)
	for name, topology := range map[string]Topology{"MPI_CART": c, "MPI_GRAPH": g, "MPI_DIST_GRAPH": d} {
		assert.Equal(t, name, topology.Kind().String())
	}
	assert.Equal(t, 3, d.Size())
	assert.Equal(t, "MPI_UNDEFINED", KindNone.String())
}
