package coll_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

// A step is one operation of a random program: what every rank does, and what
// it must have then.
type step struct {
	do   func(c coll.Comm, s *coll.Scratch, rank int) (got []byte, err error)
	want [][]byte
	name coll.Operation
}

// TestMixture: random programs of operations one after the other on the same
// scratch memory, where fast ranks are operations ahead of slow ones.
func TestMixture(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := &plain{n: 1 + rng.IntN(9), seed: seed, rng: rng}
		if rng.IntN(2) == 0 {
			p.hosts = hostMaps(rng, p.n)[rng.IntN(3)]
		}
		program := make([]step, 10)
		for i := range program {
			program[i] = p.step()
		}
		p.run(t, func(c coll.Comm, s *coll.Scratch) error {
			rank := c.Rank()
			for i, step := range program {
				got, err := step.do(c, s, rank)
				if err != nil {
					return err
				}
				assert.True(t, bytes.Equal(step.want[rank], got), "%v step=%d %s rank=%d", p, i, step.name, rank)
			}
			return nil
		})
	}
}

// step is a random operation with a random algorithm.
func (p *plain) step() step {
	kinds := []coll.Operation{coll.OpBcast, coll.OpAllgather, coll.OpAlltoall, coll.OpAllreduce, coll.OpReduceScatter, coll.OpScan}
	name := kinds[p.rng.IntN(len(kinds))]
	algorithms := coll.Algorithms(name)
	choose := algorithms[p.rng.IntN(len(algorithms))].Name
	o := operators[p.rng.IntN(len(operators))]
	count := p.rng.IntN(200) * p.rng.IntN(20)
	piece := count * o.t.Size()
	in := p.pieces(p.n, piece*p.n, false) // a piece for each rank
	whole := folded(in, o.op, o.t)
	st := step{name: name, want: make([][]byte, p.n)}
	for rank := range p.n {
		mine := in[rank][:piece]
		switch name {
		case coll.OpBcast:
			st.want[rank] = in[0]
		case coll.OpAllgather:
			for _, b := range in {
				st.want[rank] = append(st.want[rank], b[:piece]...)
			}
		case coll.OpAlltoall:
			for _, b := range in {
				st.want[rank] = append(st.want[rank], b[rank*piece:(rank+1)*piece]...)
			}
		case coll.OpAllreduce:
			st.want[rank] = whole
		case coll.OpReduceScatter:
			st.want[rank] = whole[rank*piece : (rank+1)*piece]
		case coll.OpScan:
			st.want[rank] = mine
			if rank > 0 {
				st.want[rank] = folded([][]byte{st.want[rank-1], mine}, o.op, o.t)
			}
		}
	}
	st.do = func(c coll.Comm, s *coll.Scratch, rank int) (out []byte, err error) {
		switch name {
		case coll.OpBcast:
			out = bytes.Clone(in[rank])
			err = coll.Bcast(c, out, 0, s, choose)
		case coll.OpAllgather:
			out = junk(piece * p.n)
			err = coll.Allgather(c, in[rank][:piece], out, s, choose)
		case coll.OpAlltoall:
			out = junk(piece * p.n)
			err = coll.Alltoall(c, in[rank], out, s, choose)
		case coll.OpAllreduce:
			out = junk(piece * p.n)
			err = coll.Allreduce(c, in[rank], out, o.t, count*p.n, o.op, s, choose)
		case coll.OpReduceScatter:
			out = junk(piece)
			err = coll.ReduceScatterBlock(c, in[rank], out, o.t, count, o.op, s, choose)
		case coll.OpScan:
			out = junk(piece)
			err = coll.Scan(c, in[rank][:piece], out, o.t, count, o.op, s, choose)
		}
		return out, err
	}
	return st
}
