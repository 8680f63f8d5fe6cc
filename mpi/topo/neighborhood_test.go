package topo

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A letter is a message of a neighbourhood collective operation: its sender and the send buffer.
type letter struct{ from, buffer int }

// exchange does such a collective over queues that keep the order between each pair of
// processes and know no more: got[rank][i] is what arrived in buffer i.
func exchange(t *testing.T, neighborhoods []Neighborhood) (got [][]letter) {
	type pair struct{ from, to int }
	queues := map[pair][]letter{}
	for rank, n := range neighborhoods {
		for i, to := range n.Destinations {
			if to != ProcNull {
				queues[pair{rank, to}] = append(queues[pair{rank, to}], letter{rank, i})
			}
		}
	}
	for rank, n := range neighborhoods {
		in := make([]letter, len(n.Sources))
		for i := range n.Sources {
			slot := n.Recv(i)
			from := n.Sources[slot]
			if from == ProcNull {
				in[slot] = letter{from: ProcNull}
				continue
			}
			q := queues[pair{from, rank}]
			require.NotEmpty(t, q, "rank %d waits for rank %d", rank, from)
			in[slot], queues[pair{from, rank}] = q[0], q[1:]
		}
		got = append(got, in)
	}
	for p, q := range queues {
		require.Empty(t, q, "from %d to %d", p.from, p.to)
	}
	return got
}

func neighborhoods(t *testing.T, topo Topology) (all []Neighborhood) {
	for rank := range topo.Size() {
		n, err := topo.Neighborhood(rank)
		require.NoError(t, err)
		all = append(all, n)
	}
	return all
}

// Data sent down a dimension must arrive as from above, and the other way round, also in rings of
// one and of two processes, where both neighbours are the same.
func TestMessagesInAGridArriveFromTheOtherSide(t *testing.T) {
	const seed = 21
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		c := randomCart(t, r)
		got := exchange(t, neighborhoods(t, c))
		for rank := range c.Size() {
			for dim := range c.NDims() {
				down, up, err := c.Shift(rank, dim, 1)
				require.NoError(t, err)
				for side, from := range []int{down, up} {
					want := letter{from: ProcNull}
					if from != ProcNull {
						want = letter{from, 2*dim + 1 - side}
					}
					require.Equal(t, want, got[rank][2*dim+side], "seed %d: rank %d of %v %v, buffer %d", seed, rank, c.Dims(), c.Periods(), 2*dim+side)
				}
			}
		}
	}
}

func TestNeighboursInAGridAreInTheStandardsOrder(t *testing.T) {
	c, err := NewCart(6, []int{2, 3}, []bool{false, true})
	require.NoError(t, err)
	n, err := c.Neighborhood(1)
	require.NoError(t, err)
	assert.Equal(t, []int{ProcNull, 4, 0, 2}, n.Sources)
	assert.Equal(t, n.Sources, n.Destinations)
	n, err = c.Neighborhood(3)
	require.NoError(t, err)
	assert.Equal(t, []int{0, ProcNull, 5, 4}, n.Sources)
}

// In a distributed graph the i-th edge between two processes at one end is the i-th at the other,
// so the weights tell that the right message arrived.
func TestEdgesOfADistributedGraphArePaired(t *testing.T) {
	const seed = 22
	r := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		procs := 1 + r.IntN(7)
		graphs, _ := distributed(t, r, procs)
		var all []Neighborhood
		for rank, g := range graphs {
			n, err := g.Neighborhood(rank)
			require.NoError(t, err)
			all = append(all, n)
		}
		for rank, in := range exchange(t, all) {
			_, weights := graphs[rank].Sources()
			for i, l := range in {
				_, sent := graphs[l.from].Destinations()
				require.Equal(t, sent[l.buffer], weights[i], "seed %d", seed)
			}
		}
	}
}
