package coll_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

// TestBarrier: no rank leaves before every rank has arrived.
func TestBarrier(t *testing.T) {
	every(t, coll.OpBarrier, func(t *testing.T, p *plain) {
		for range 5 {
			came := 0
			p.run(t, func(c coll.Comm, _ *coll.Scratch) error {
				came++
				if err := coll.Barrier(c, p.choose); err != nil {
					return err
				}
				assert.Equal(t, p.n, came, p)
				return nil
			})
		}
	})
}

func TestBcast(t *testing.T) {
	every(t, coll.OpBcast, func(t *testing.T, p *plain) {
		for _, length := range append(lengths, 70_000, 150_001) {
			for _, root := range p.roots() {
				want := p.bytes(length)
				p.run(t, func(c coll.Comm, s *coll.Scratch) error {
					buf := junk(length)
					if c.Rank() == root {
						copy(buf, want)
					}
					err := coll.Bcast(c, buf, root, s, p.choose)
					assert.True(t, bytes.Equal(want, buf), "%v length=%d root=%d", p, length, root)
					return err
				})
			}
		}
	})
}

func TestGather(t *testing.T) {
	every(t, coll.OpGather, func(t *testing.T, p *plain) {
		for i, length := range append(lengths, 9000) {
			for _, root := range p.roots() {
				in := p.pieces(p.n, length, false)
				p.run(t, func(c coll.Comm, s *coll.Scratch) error {
					rank := c.Rank()
					if rank != root {
						return coll.Gather(c, in[rank], nil, root, s, p.choose)
					}
					out, mine := junk(length*p.n), in[rank]
					if i%2 == 0 { // in place
						copy(out[rank*length:], mine)
						mine = nil
					}
					err := coll.Gather(c, mine, out, root, s, p.choose)
					assert.True(t, bytes.Equal(concat(in), out), "%v length=%d root=%d", p, length, root)
					return err
				})
			}
		}
	})
}

func TestScatter(t *testing.T) {
	every(t, coll.OpScatter, func(t *testing.T, p *plain) {
		for i, length := range append(lengths, 9000) {
			for _, root := range p.roots() {
				in := p.pieces(p.n, length, false)
				p.run(t, func(c coll.Comm, s *coll.Scratch) error {
					rank := c.Rank()
					out := junk(length)
					if rank != root {
						err := coll.Scatter(c, nil, out, root, s, p.choose)
						assert.True(t, bytes.Equal(in[rank], out), "%v length=%d root=%d", p, length, root)
						return err
					}
					if i%2 == 0 { // in place
						return coll.Scatter(c, concat(in), nil, root, s, p.choose)
					}
					err := coll.Scatter(c, concat(in), out, root, s, p.choose)
					assert.True(t, bytes.Equal(in[rank], out), "%v length=%d root=%d", p, length, root)
					return err
				})
			}
		}
	})
}

// TestGathervScatterv: both have one algorithm.
func TestGathervScatterv(t *testing.T) {
	every(t, "", func(t *testing.T, p *plain) {
		for i, length := range lengths {
			for _, root := range p.roots() {
				in := p.pieces(p.n, length, true)
				p.run(t, func(c coll.Comm, s *coll.Scratch) error {
					rank := c.Rank()
					out := like(in)
					mine := in[rank]
					if rank == root && i%2 == 0 { // in place
						out[rank] = mine
						mine = nil
					}
					if err := coll.Gatherv(c, mine, out, root, s); err != nil {
						return err
					}
					if rank == root {
						assert.Equal(t, in, out, "%v length=%d root=%d", p, length, root)
					}
					back := junk(len(in[rank]))
					err := coll.Scatterv(c, out, back, root, s)
					assert.True(t, bytes.Equal(in[rank], back), "%v length=%d root=%d", p, length, root)
					return err
				})
			}
		}
	})
}

func TestAllgather(t *testing.T) {
	every(t, coll.OpAllgather, func(t *testing.T, p *plain) {
		for i, length := range append(lengths, 9000) {
			in := p.pieces(p.n, length, false)
			p.run(t, func(c coll.Comm, s *coll.Scratch) error {
				rank := c.Rank()
				out, mine := junk(length*p.n), in[rank]
				if i%2 == 0 { // in place
					copy(out[rank*length:], mine)
					mine = nil
				}
				err := coll.Allgather(c, mine, out, s, p.choose)
				assert.True(t, bytes.Equal(concat(in), out), "%v length=%d", p, length)
				return err
			})
		}
	})
}

func TestAllgatherv(t *testing.T) {
	every(t, coll.OpAllgatherv, func(t *testing.T, p *plain) {
		for i, length := range append(lengths, 9000) {
			in := p.pieces(p.n, length, true)
			p.run(t, func(c coll.Comm, s *coll.Scratch) error {
				rank := c.Rank()
				out, mine := like(in), in[rank]
				if i%2 == 0 { // in place
					copy(out[rank], mine)
					mine = nil
				}
				err := coll.Allgatherv(c, mine, out, s, p.choose)
				assert.True(t, slices.EqualFunc(in, out, bytes.Equal), "%v length=%d", p, length)
				return err
			})
		}
	})
}

// matrix returns the pieces that every rank sends to every rank, in[from][to]. Its lengths are
// symmetric if the operation is in place.
func (p *plain) matrix(length int, vary, inPlace bool) (in, want [][][]byte) {
	in, want = make([][][]byte, p.n), make([][][]byte, p.n)
	for from := range p.n {
		in[from] = p.pieces(p.n, length, vary)
		want[from] = make([][]byte, p.n)
		for to := range from {
			if inPlace {
				in[from][to] = p.bytes(len(in[to][from]))
			}
		}
	}
	for from := range p.n {
		for to := range p.n {
			want[to][from] = in[from][to]
		}
	}
	return in, want
}

func TestAlltoall(t *testing.T) {
	every(t, coll.OpAlltoall, func(t *testing.T, p *plain) {
		for i, length := range lengths {
			inPlace := i%2 == 0
			in, want := p.matrix(length, false, inPlace)
			p.run(t, func(c coll.Comm, s *coll.Scratch) error {
				rank := c.Rank()
				out, mine := junk(length*p.n), concat(in[rank])
				if inPlace {
					out, mine = mine, nil
				}
				err := coll.Alltoall(c, mine, out, s, p.choose)
				assert.True(t, bytes.Equal(concat(want[rank]), out), "%v length=%d rank=%d", p, length, rank)
				return err
			})
		}
	})
}

func TestAlltoallv(t *testing.T) {
	every(t, coll.OpAlltoallv, func(t *testing.T, p *plain) {
		for i, length := range lengths {
			inPlace := i%2 == 0
			in, want := p.matrix(length, true, inPlace)
			p.run(t, func(c coll.Comm, s *coll.Scratch) error {
				rank := c.Rank()
				out, mine := like(want[rank]), in[rank]
				if inPlace {
					out = like(mine)
					for r := range out {
						copy(out[r], mine[r])
					}
					mine = nil
				}
				err := coll.Alltoallv(c, mine, out, s, p.choose)
				assert.True(t, slices.EqualFunc(want[rank], out, bytes.Equal), "%v length=%d rank=%d", p, length, rank)
				return err
			})
		}
	})
}
