package coll_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// cartesian is the neighbours of a rank on a grid, row-major.
func cartesian(dims []int, periodic []bool, rank int) coll.Neighbors {
	nb := coll.Neighbors{Cartesian: true}
	stride := 1
	for _, d := range dims {
		stride *= d
	}
	for i, d := range dims {
		stride /= d
		at := rank / stride % d
		for _, step := range []int{-1, 1} {
			to := at + step
			if periodic[i] {
				to = (to + d) % d
			}
			if to < 0 || to >= d {
				nb.Sources = append(nb.Sources, coll.ProcNull)
				continue
			}
			nb.Sources = append(nb.Sources, rank+(to-at)*stride)
		}
	}
	nb.Destinations = nb.Sources
	return nb
}

// TestCartesian: data in one direction arrives from the other, on any grid, also if both neighbours
// are the same rank or the rank itself.
func TestCartesian(t *testing.T) {
	for _, dims := range [][]int{{1}, {2}, {3}, {5}, {1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 2}, {2, 1, 3}, {1, 1, 1}} {
		for mask := range 1 << len(dims) {
			n, periodic := 1, make([]bool, len(dims))
			for i, d := range dims {
				n *= d
				periodic[i] = mask>>i&1 != 0
			}
			t.Run(fmt.Sprintf("dims=%v/periodic=%v", dims, periodic), func(t *testing.T) {
				p := &plain{n: n, seed: uint64(mask), rng: rand.New(rand.NewPCG(uint64(mask), 2))}
				for range 10 {
					p.cartesian(t, dims, periodic)
				}
			})
		}
	}
}

func (p *plain) cartesian(t *testing.T, dims []int, periodic []bool) {
	const length = 4
	in := make([][]byte, p.n)
	for r := range in {
		in[r] = p.bytes(2 * len(dims) * length)
	}
	p.run(t, func(c coll.Comm, s *coll.Scratch) error {
		rank := c.Rank()
		nb := cartesian(dims, periodic, rank)
		alltoall, allgather := junk(len(in[rank])), junk(len(in[rank]))
		if err := coll.NeighborAlltoall(c, in[rank], alltoall, nb, s).Land(); err != nil {
			return err
		}
		if err := coll.NeighborAllgather(c, in[rank][:length], allgather, nb, s).Land(); err != nil {
			return err
		}
		for i, from := range nb.Sources {
			fromAlltoall, fromAllgather := junk(length), junk(length)
			if from != coll.ProcNull {
				opposite := (i ^ 1) * length
				fromAlltoall = in[from][opposite : opposite+length]
				fromAllgather = in[from][:length]
			}
			assert.Equal(t, fromAlltoall, alltoall[i*length:(i+1)*length], "%v rank=%d piece %d", p, rank, i)
			assert.Equal(t, fromAllgather, allgather[i*length:(i+1)*length], "%v rank=%d piece %d", p, rank, i)
		}
		return nil
	})
}

// TestGraph: on random graphs with edges that repeat and edges to oneself, the
// k-th piece for a rank arrives as the k-th piece from it.
func TestGraph(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		p := &plain{n: 1 + rng.IntN(6), seed: seed, rng: rng}
		nbs := make([]coll.Neighbors, p.n)
		ins, wants := make([][][]byte, p.n), make([][][]byte, p.n) // of an alltoallv
		null := func(r int) {
			if rng.IntN(4) == 0 {
				nbs[r].Sources = append(nbs[r].Sources, coll.ProcNull)
				wants[r] = append(wants[r], junk(2))
			}
			if rng.IntN(4) == 0 {
				nbs[r].Destinations = append(nbs[r].Destinations, coll.ProcNull)
				ins[r] = append(ins[r], p.bytes(3))
			}
		}
		for range rng.IntN(20) {
			from, to := rng.IntN(p.n), rng.IntN(p.n)
			null(from)
			null(to)
			piece := p.bytes(rng.IntN(5))
			nbs[from].Destinations = append(nbs[from].Destinations, to)
			nbs[to].Sources = append(nbs[to].Sources, from)
			ins[from] = append(ins[from], piece)
			wants[to] = append(wants[to], piece)
		}
		own := p.pieces(p.n, 6, true) // of an allgatherv
		p.run(t, func(c coll.Comm, s *coll.Scratch) error {
			rank := c.Rank()
			nb := nbs[rank]
			out := like(wants[rank])
			if err := coll.NeighborAlltoallv(c, ins[rank], out, nb, s).Land(); err != nil {
				return err
			}
			assert.True(t, slices.EqualFunc(wants[rank], out, bytes.Equal), "%v rank=%d %+v", p, rank, nb)
			var gathered [][]byte
			for i, from := range nb.Sources {
				want := junk(i)
				if from != coll.ProcNull {
					want = own[from]
				}
				gathered = append(gathered, want)
			}
			out = like(gathered)
			err := coll.NeighborAllgatherv(c, own[rank], out, nb, s).Land()
			assert.True(t, slices.EqualFunc(gathered, out, bytes.Equal), "%v rank=%d %+v", p, rank, nb)
			return err
		})
	}
}

func TestBadNeighbors(t *testing.T) {
	self := []int{0}
	for name, tc := range map[string]struct {
		nb      coll.Neighbors
		in, out []byte
		class   errclass.Class
	}{
		"no rank":           {coll.Neighbors{Sources: []int{1}}, nil, make([]byte, 2), errclass.Topology},
		"half a dimension":  {coll.Neighbors{Sources: self, Destinations: self, Cartesian: true}, nil, nil, errclass.Topology},
		"sends too often":   {coll.Neighbors{Destinations: self}, make([]byte, 2), nil, errclass.Topology},
		"receives too much": {coll.Neighbors{Sources: self}, nil, make([]byte, 2), errclass.Topology},
		"lengths":           {coll.Neighbors{Sources: self, Destinations: self}, make([]byte, 2), make([]byte, 3), errclass.Truncate},
		"in pieces":         {coll.Neighbors{Destinations: []int{0, 0}}, make([]byte, 3), nil, errclass.Count},
		"out pieces":        {coll.Neighbors{Sources: []int{0, 0}}, nil, make([]byte, 3), errclass.Count},
	} {
		err := colltestOne(func(c coll.Comm) error { return coll.NeighborAlltoall(c, tc.in, tc.out, tc.nb, nil).Land() })
		require.ErrorIs(t, err, tc.class, name)
	}
	require.ErrorIs(t, colltestOne(func(c coll.Comm) error {
		return coll.NeighborAllgather(c, nil, make([]byte, 3), coll.Neighbors{Sources: []int{0, 0}}, nil).Land()
	}), errclass.Count)
	require.ErrorIs(t, colltestOne(func(c coll.Comm) error {
		return coll.NeighborAllgatherv(c, nil, nil, coll.Neighbors{Sources: self}, nil).Land()
	}), errclass.Count)
	require.ErrorIs(t, colltestOne(func(c coll.Comm) error {
		return coll.NeighborAlltoallv(c, nil, nil, coll.Neighbors{Destinations: self}, nil).Land()
	}), errclass.Count)
}
