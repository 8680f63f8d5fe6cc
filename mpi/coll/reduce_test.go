package coll_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// reductions calls f for every operator, length, and way to give the input.
func reductions(t *testing.T, name coll.Operation, f func(t *testing.T, p *plain, op *reduce.Op, ty *datatype.Type, count int, inPlace bool)) {
	every(t, name, func(t *testing.T, p *plain) {
		for i, o := range operators {
			for j, count := range lengths {
				f(t, p, o.op, o.t, count, (i+j)%2 == 0)
			}
		}
	})
}

func TestReduce(t *testing.T) {
	reductions(t, coll.OpReduce, func(t *testing.T, p *plain, op *reduce.Op, ty *datatype.Type, count int, inPlace bool) {
		for _, root := range p.roots() {
			in := p.pieces(p.n, count*ty.Size(), false)
			want := folded(in, op, ty)
			p.run(t, func(c coll.Comm, s *coll.Scratch) error {
				rank := c.Rank()
				mine := slices.Clone(in[rank])
				if rank != root {
					err := coll.Reduce(c, mine, nil, ty, count, op, root, s, p.choose)
					assert.True(t, bytes.Equal(in[rank], mine), "%v: in was changed", p)
					return err
				}
				out := junk(len(mine))
				if inPlace {
					out, mine = mine, nil
				}
				err := coll.Reduce(c, mine, out, ty, count, op, root, s, p.choose)
				assert.True(t, bytes.Equal(want, out), "%v op=%v count=%d root=%d in place=%t", p, op, count, root, inPlace)
				return err
			})
		}
	})
}

func TestAllreduce(t *testing.T) {
	reductions(t, coll.OpAllreduce, func(t *testing.T, p *plain, op *reduce.Op, ty *datatype.Type, count int, inPlace bool) {
		in := p.pieces(p.n, count*ty.Size(), false)
		want := folded(in, op, ty)
		p.run(t, func(c coll.Comm, s *coll.Scratch) error {
			mine := slices.Clone(in[c.Rank()])
			out := junk(len(mine))
			if inPlace {
				out, mine = mine, nil
			}
			err := coll.Allreduce(c, mine, out, ty, count, op, s, p.choose)
			assert.True(t, bytes.Equal(want, out), "%v op=%v count=%d in place=%t", p, op, count, inPlace)
			return err
		})
	})
}

func TestReduceScatter(t *testing.T) {
	reductions(t, coll.OpReduceScatter, func(t *testing.T, p *plain, op *reduce.Op, ty *datatype.Type, count int, inPlace bool) {
		counts, sum := make([]int, p.n), 0
		for i := range counts {
			counts[i] = p.rng.IntN(2*count/p.n + 2)
			sum += counts[i]
		}
		in := p.pieces(p.n, sum*ty.Size(), false)
		want := folded(in, op, ty)
		p.run(t, func(c coll.Comm, s *coll.Scratch) error {
			rank := c.Rank()
			mine := slices.Clone(in[rank])
			begin := 0
			for _, k := range counts[:rank] {
				begin += k * ty.Size()
			}
			part := want[begin : begin+counts[rank]*ty.Size()]
			out := junk(len(part))
			if inPlace {
				out, mine = mine, nil
			}
			err := coll.ReduceScatter(c, mine, out, counts, ty, op, s, p.choose)
			assert.True(t, bytes.Equal(part, out[:len(part)]), "%v op=%v counts=%v in place=%t", p, op, counts, inPlace)
			if !inPlace {
				assert.True(t, bytes.Equal(in[rank], mine), "%v: in was changed", p)
			}
			return err
		})
	})
}

func TestReduceScatterBlock(t *testing.T) {
	reductions(t, coll.OpReduceScatter, func(t *testing.T, p *plain, op *reduce.Op, ty *datatype.Type, count int, inPlace bool) {
		count /= 4
		in := p.pieces(p.n, p.n*count*ty.Size(), false)
		want := folded(in, op, ty)
		p.run(t, func(c coll.Comm, s *coll.Scratch) error {
			rank := c.Rank()
			mine := slices.Clone(in[rank])
			block := count * ty.Size()
			out := junk(block)
			if inPlace {
				out, mine = mine, nil
			}
			err := coll.ReduceScatterBlock(c, mine, out, ty, count, op, s, p.choose)
			assert.True(t, bytes.Equal(want[rank*block:(rank+1)*block], out[:block]),
				"%v op=%v count=%d in place=%t", p, op, count, inPlace)
			return err
		})
	})
}

func TestScan(t *testing.T) {
	reductions(t, coll.OpScan, func(t *testing.T, p *plain, op *reduce.Op, ty *datatype.Type, count int, inPlace bool) {
		in := p.pieces(p.n, count*ty.Size(), false)
		p.run(t, func(c coll.Comm, s *coll.Scratch) error {
			rank := c.Rank()
			mine := slices.Clone(in[rank])
			out := junk(len(mine))
			if inPlace {
				out, mine = mine, nil
			}
			err := coll.Scan(c, mine, out, ty, count, op, s, p.choose)
			assert.True(t, bytes.Equal(folded(in[:rank+1], op, ty), out), "%v op=%v count=%d rank=%d", p, op, count, rank)
			return err
		})
	})
}

func TestExscan(t *testing.T) {
	reductions(t, coll.OpExscan, func(t *testing.T, p *plain, op *reduce.Op, ty *datatype.Type, count int, inPlace bool) {
		in := p.pieces(p.n, count*ty.Size(), false)
		p.run(t, func(c coll.Comm, s *coll.Scratch) error {
			rank := c.Rank()
			mine := slices.Clone(in[rank])
			out := junk(len(mine))
			if inPlace {
				out, mine = mine, nil
			}
			err := coll.Exscan(c, mine, out, ty, count, op, s, p.choose)
			if rank > 0 {
				assert.True(t, bytes.Equal(folded(in[:rank], op, ty), out), "%v op=%v count=%d rank=%d", p, op, count, rank)
			}
			return err
		})
	})
}

// TestAllreduceAgrees: all ranks have the same result, to the last bit, even if the operator
// commutes only approximately. This one does not commute at all, but claims to.
func TestAllreduceAgrees(t *testing.T) {
	rough := must(reduce.New("rough", true, func(in, inout []byte, ty *datatype.Type, count int) {
		for i := range count * ty.Size() {
			inout[i] = 3*in[i] + inout[i]
		}
	}))
	every(t, coll.OpAllreduce, func(t *testing.T, p *plain) {
		for _, count := range lengths {
			in, outs := p.pieces(p.n, count, false), make([][]byte, p.n)
			p.run(t, func(c coll.Comm, s *coll.Scratch) error {
				outs[c.Rank()] = junk(count)
				return coll.Allreduce(c, in[c.Rank()], outs[c.Rank()], datatype.Uint8, count, rough, s, p.choose)
			})
			for rank, out := range outs {
				assert.True(t, bytes.Equal(outs[0], out), "%v count=%d rank=%d", p, count, rank)
			}
		}
	})
}
