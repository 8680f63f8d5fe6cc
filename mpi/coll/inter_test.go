package coll_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/colltest"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// groups are pairs of numbers of ranks.
var groups = [][2]int{{1, 1}, {1, 2}, {2, 1}, {1, 5}, {5, 1}, {2, 3}, {4, 4}, {7, 3}, {3, 8}}

// An inter is one world of two groups after another.
type inter struct {
	plain
	n [2]int
}

func (p *inter) String() string {
	return fmt.Sprintf("seed=%d groups=%v algorithm=%q", p.seed, p.n, p.choose)
}

// between calls f for each pair of groups with some choices. Most operations have only one or two.
func between(t *testing.T, f func(t *testing.T, p *inter)) {
	for _, n := range groups {
		for i, choose := range []coll.Choice{coll.Auto, coll.Linear, coll.Binomial, coll.Ring, coll.Pairwise} {
			p := &inter{n: n}
			p.seed = uint64(100*n[0] + 10*n[1] + i)
			p.choose = choose
			p.rng = rand.New(rand.NewPCG(p.seed, 4))
			f(t, p)
		}
	}
}

func (p *inter) run(t *testing.T, f func(group int, c coll.Remote, s *coll.Scratch) error) {
	t.Helper()
	p.seed++
	err := colltest.NewInter(p.n[0], p.n[1], p.seed).RunInter(func(group int, c coll.Remote) error {
		return f(group, c, new(coll.Scratch))
	})
	require.NoError(t, err, p.String())
}

// rooted calls f for some roots, with the group of the root and what every
// rank gives for root.
func (p *inter) rooted(f func(group, root int, as func(mine, rank int) int)) {
	for group, n := range p.n {
		for _, root := range []int{0, n - 1} {
			f(group, root, func(mine, rank int) int {
				switch {
				case mine != group:
					return root
				case rank == root:
					return coll.Root
				}
				return coll.ProcNull
			})
		}
	}
}

func TestInterBarrier(t *testing.T) {
	between(t, func(t *testing.T, p *inter) {
		came := 0
		p.run(t, func(_ int, c coll.Remote, _ *coll.Scratch) error {
			came++
			err := coll.InterBarrier(c, p.choose)
			assert.Equal(t, p.n[0]+p.n[1], came, p)
			return err
		})
	})
}

func TestInterBcast(t *testing.T) {
	between(t, func(t *testing.T, p *inter) {
		for _, length := range []int{0, 10, 20_000} {
			p.rooted(func(group, root int, as func(mine, rank int) int) {
				want := p.bytes(length)
				p.run(t, func(mine int, c coll.Remote, s *coll.Scratch) error {
					buf := junk(length)
					if as(mine, c.Rank()) == coll.Root {
						copy(buf, want)
					}
					err := coll.InterBcast(c, buf, as(mine, c.Rank()), s, p.choose)
					assert.True(t, mine == group || bytes.Equal(want, buf), "%v length=%d", p, length)
					return err
				})
			})
		}
	})
}

func TestInterGatherScatter(t *testing.T) {
	between(t, func(t *testing.T, p *inter) {
		for _, length := range []int{0, 10, 9000} {
			p.rooted(func(group, root int, as func(mine, rank int) int) {
				in := p.pieces(p.n[1-group], length, false)
				p.run(t, func(mine int, c coll.Remote, s *coll.Scratch) error {
					switch as := as(mine, c.Rank()); as {
					case coll.Root:
						out := junk(len(in) * length)
						err := coll.InterGather(c, nil, out, as, s, p.choose)
						assert.True(t, bytes.Equal(concat(in), out), "%v length=%d", p, length)
						if err != nil {
							return err
						}
						return coll.InterScatter(c, out, nil, as, s, p.choose)
					case coll.ProcNull:
						if err := coll.InterGather(c, nil, nil, as, s, p.choose); err != nil {
							return err
						}
						return coll.InterScatter(c, nil, nil, as, s, p.choose)
					default:
						if err := coll.InterGather(c, in[c.Rank()], nil, as, s, p.choose); err != nil {
							return err
						}
						out := junk(length)
						err := coll.InterScatter(c, nil, out, as, s, p.choose)
						assert.True(t, bytes.Equal(in[c.Rank()], out), "%v length=%d", p, length)
						return err
					}
				})
			})
		}
	})
}

func TestInterGathervScatterv(t *testing.T) {
	between(t, func(t *testing.T, p *inter) {
		p.rooted(func(group, root int, as func(mine, rank int) int) {
			in := p.pieces(p.n[1-group], 5, true)
			p.run(t, func(mine int, c coll.Remote, s *coll.Scratch) error {
				switch as := as(mine, c.Rank()); as {
				case coll.Root:
					out := like(in)
					err := coll.InterGatherv(c, nil, out, as, s)
					assert.True(t, slices.EqualFunc(in, out, bytes.Equal), p)
					if err != nil {
						return err
					}
					return coll.InterScatterv(c, out, nil, as, s)
				case coll.ProcNull:
					if err := coll.InterGatherv(c, nil, nil, as, s); err != nil {
						return err
					}
					return coll.InterScatterv(c, nil, nil, as, s)
				default:
					if err := coll.InterGatherv(c, in[c.Rank()], nil, as, s); err != nil {
						return err
					}
					out := junk(len(in[c.Rank()]))
					err := coll.InterScatterv(c, nil, out, as, s)
					assert.True(t, bytes.Equal(in[c.Rank()], out), p)
					return err
				}
			})
		})
	})
}

// TestInterAllgather: the groups need not send the same length.
func TestInterAllgather(t *testing.T) {
	between(t, func(t *testing.T, p *inter) {
		for _, lengths := range [][2]int{{0, 0}, {3, 0}, {0, 4}, {5, 7}, {9000, 100}} {
			for _, vary := range []bool{false, true} {
				in := [2][][]byte{p.pieces(p.n[0], lengths[0], vary), p.pieces(p.n[1], lengths[1], vary)}
				p.run(t, func(mine int, c coll.Remote, s *coll.Scratch) error {
					want := in[1-mine]
					out := like(want)
					if vary {
						err := coll.InterAllgatherv(c, in[mine][c.Rank()], out, s, p.choose)
						assert.True(t, slices.EqualFunc(want, out, bytes.Equal), "%v %v", p, lengths)
						return err
					}
					all := concat(out)
					err := coll.InterAllgather(c, in[mine][c.Rank()], all, s, p.choose)
					assert.True(t, bytes.Equal(concat(want), all), "%v %v", p, lengths)
					return err
				})
			}
		}
	})
}

func TestInterAlltoall(t *testing.T) {
	between(t, func(t *testing.T, p *inter) {
		for _, lengths := range [][2]int{{0, 0}, {3, 0}, {5, 7}} {
			for _, vary := range []bool{false, true} {
				var in [2][][][]byte // by group, from, to
				for g := range in {
					for range p.n[g] {
						in[g] = append(in[g], p.pieces(p.n[1-g], lengths[g], vary))
					}
				}
				p.run(t, func(mine int, c coll.Remote, s *coll.Scratch) error {
					rank := c.Rank()
					var want [][]byte
					for _, from := range in[1-mine] {
						want = append(want, from[rank])
					}
					out := like(want)
					if vary {
						err := coll.InterAlltoallv(c, in[mine][rank], out, s, p.choose)
						assert.True(t, slices.EqualFunc(want, out, bytes.Equal), "%v %v", p, lengths)
						return err
					}
					all := concat(out)
					err := coll.InterAlltoall(c, concat(in[mine][rank]), all, s, p.choose)
					assert.True(t, bytes.Equal(concat(want), all), "%v %v", p, lengths)
					return err
				})
			}
		}
	})
}

func TestInterReductions(t *testing.T) {
	between(t, func(t *testing.T, p *inter) {
		for i, o := range operators {
			for _, count := range []int{0, p.n[0] * p.n[1], 600 * p.n[0] * p.n[1]} {
				if testing.Short() && i > 0 && count > p.n[0]*p.n[1] {
					continue // another operator changes nothing about the length
				}
				size := o.t.Size()
				in := [2][][]byte{p.pieces(p.n[0], count*size, false), p.pieces(p.n[1], count*size, false)}
				p.rooted(func(group, root int, as func(mine, rank int) int) {
					p.run(t, func(mine int, c coll.Remote, s *coll.Scratch) error {
						out := junk(count * size)
						err := coll.InterReduce(c, in[mine][c.Rank()], out, o.t, count, o.op, as(mine, c.Rank()), s, p.choose)
						if as(mine, c.Rank()) == coll.Root {
							assert.True(t, bytes.Equal(folded(in[1-mine], o.op, o.t), out), "%v op=%v", p, o.op)
						}
						return err
					})
				})
				p.run(t, func(mine int, c coll.Remote, s *coll.Scratch) error {
					rank := c.Rank()
					want, out := folded(in[1-mine], o.op, o.t), junk(count*size)
					if err := coll.InterAllreduce(c, in[mine][rank], out, o.t, count, o.op, s, p.choose); err != nil {
						return err
					}
					assert.True(t, bytes.Equal(want, out), "%v op=%v", p, o.op)
					block := count / p.n[mine]
					part := want[rank*block*size : (rank+1)*block*size]
					out = junk(len(part))
					if err := coll.InterReduceScatterBlock(c, in[mine][rank], out, o.t, block, o.op, s, p.choose); err != nil {
						return err
					}
					assert.True(t, bytes.Equal(part, out), "%v op=%v", p, o.op)
					// All to the last rank.
					counts := make([]int, p.n[mine])
					counts[len(counts)-1] = count
					out = junk(counts[rank] * size)
					err := coll.InterReduceScatter(c, in[mine][rank], out, counts, o.t, o.op, s, p.choose)
					assert.True(t, rank != len(counts)-1 || bytes.Equal(want, out), "%v op=%v", p, o.op)
					return err
				})
			}
		}
	})
}

func TestInterBadRoot(t *testing.T) {
	sum, ty := operators[0].op, operators[0].t
	for _, root := range []int{-1, -4, 2} {
		for name, f := range map[string]func(c coll.Remote) error{
			"bcast":    func(c coll.Remote) error { return coll.InterBcast(c, nil, root, nil, coll.Auto) },
			"gather":   func(c coll.Remote) error { return coll.InterGather(c, nil, nil, root, nil, coll.Auto) },
			"gatherv":  func(c coll.Remote) error { return coll.InterGatherv(c, nil, nil, root, nil) },
			"scatter":  func(c coll.Remote) error { return coll.InterScatter(c, nil, nil, root, nil, coll.Auto) },
			"scatterv": func(c coll.Remote) error { return coll.InterScatterv(c, nil, nil, root, nil) },
			"reduce": func(c coll.Remote) error {
				return coll.InterReduce(c, nil, nil, ty, 0, sum, root, nil, coll.Auto)
			},
		} {
			err := colltest.NewInter(2, 2, 1).RunInter(func(_ int, c coll.Remote) error { return f(c) })
			require.ErrorIs(t, err, errclass.Root, name)
		}
	}
}
