package topo

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// consecutive puts each processes on a host.
func consecutive(n, each int) []int32 {
	hosts := make([]int32, n)
	for p := range hosts {
		hosts[p] = int32(p / each)
	}
	return hosts
}

func cut(t *testing.T, topology Topology, hosts []int32, order []int) int {
	edges, err := edgesOf(topology)
	require.NoError(t, err)
	if order == nil {
		for i := range topology.Size() {
			order = append(order, i)
		}
	}
	return between(edges, hosts, order)
}

// TestBlocks: 4 hosts of 16 take a square each of a grid of 8 by 8, and not two rows.
func TestBlocks(t *testing.T) {
	grid := must(NewCart(64, []int{8, 8}, []bool{false, false}))
	hosts := consecutive(64, 16)
	order, err := Arrange(grid, hosts)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 2, 3, 16, 17, 18, 19}, order[:8])
	assert.Equal(t, 48, cut(t, grid, hosts, nil))
	assert.Equal(t, 32, cut(t, grid, hosts, order))
}

// TestRows: where rows are best, nothing changes.
func TestRows(t *testing.T) {
	for _, periods := range [][]bool{{false, false}, {true, true}} {
		order, err := Arrange(must(NewCart(12, []int{6, 2}, periods)), consecutive(12, 4))
		require.NoError(t, err)
		assert.Nil(t, order)
	}
}

// TestCommunities: pairs of hosts' nodes that are numbered alternately come together.
func TestCommunities(t *testing.T) {
	// Even nodes form a ring, and so do odd ones.
	const n = 10
	var index, edges []int
	for i := range n {
		edges = append(edges, (i+2)%n, (i+n-2)%n)
		index = append(index, len(edges))
	}
	g := must(NewGraph(n, index, edges))
	hosts := consecutive(n, 5)
	order, err := Arrange(g, hosts)
	require.NoError(t, err)
	assert.Positive(t, cut(t, g, hosts, nil))
	assert.Zero(t, cut(t, g, hosts, order))
}

// TestArrangements: every order is a permutation of the processes of the topology, and better than
// their own.
func TestArrangements(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var topology Topology
		n := 1 + rng.IntN(40)
		if rng.IntN(2) == 0 {
			dims := []int{1 + rng.IntN(5), 1 + rng.IntN(4), 1 + rng.IntN(2)}
			grid := must(NewCart(40, dims, []bool{rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0}))
			topology, n = grid, grid.Size()
		} else {
			var index, edges []int
			for range n {
				for range rng.IntN(5) {
					edges = append(edges, rng.IntN(n))
				}
				index = append(index, len(edges))
			}
			topology = must(NewGraph(n, index, edges))
		}
		hosts := consecutive(n+5, 1+rng.IntN(7)) // some processes are not in the topology
		if rng.IntN(2) == 0 {
			rng.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		}
		order, err := Arrange(topology, hosts)
		require.NoError(t, err)
		if order == nil {
			continue
		}
		require.Less(t, cut(t, topology, hosts, order), cut(t, topology, hosts, nil), "seed %d", seed)
		sorted := slices.Sorted(slices.Values(order))
		for i, p := range sorted {
			require.Equal(t, i, p, "seed %d", seed)
		}
		require.Len(t, order, n)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
