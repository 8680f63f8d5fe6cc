package mpiperf

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// A moving is a collective operation that moves blocks: the blocks that a rank has and
// gets, in the order of memory, and the call.
type moving struct {
	has, gets func(me, ranks int) []block
	call      func(m *mover) error
}

// A mover is a rank's part in a moving.
type mover struct {
	*moving
	c            *mpi.Comm
	size         int
	in, out      []byte
	whole, parts buffers
}

// buffers are a mover's memory, as the calls take it.
type buffers struct{ in, out mpi.Buffer }

func (m *moving) open(c *mpi.Comm, s setup) (job, error) {
	me, ranks, size := c.Rank(), c.Size(), s.size
	in, out := touched(size*len(m.has(me, ranks))), touched(size*len(m.gets(me, ranks)))
	whole, counts := buffers{mpi.Slice(in), mpi.Slice(out)}, slices.Repeat([]int{size}, ranks)
	parts := buffers{whole.in.Parts(counts, nil), whole.out.Parts(counts, nil)}
	return &mover{moving: m, c: c, size: size, in: in, out: out, whole: whole, parts: parts}, nil
}

func (m *mover) ready(int) error { return nil }
func (m *mover) once() error     { return m.call(m) }

func (m *mover) fill(round int) {
	for i, b := range m.has(m.c.Rank(), m.c.Size()) {
		b.fill(m.in[i*m.size:][:m.size], round)
	}
	for i, b := range m.gets(m.c.Rank(), m.c.Size()) {
		spoil(m.out[i*m.size:][:m.size], b, round)
	}
}

func (m *mover) check(round int) error {
	for i, b := range m.gets(m.c.Rank(), m.c.Size()) {
		if err := b.check(m.out[i*m.size:][:m.size], round); err != nil {
			return err
		}
	}
	return nil
}

// The blocks that ranks have and get.
func none(int, int) []block { return nil }

// ofMe is one block, for any receiver.
func ofMe(me, _ int) []block { return []block{{from: me}} }

func forMe(me, _ int) []block { return []block{{to: me}} }

func ofEach(_, ranks int) []block { return blocks(ranks, func(i int) block { return block{from: i} }) }

func forEach(_, ranks int) []block { return blocks(ranks, func(i int) block { return block{to: i} }) }

func meToEach(me, ranks int) []block {
	return blocks(ranks, func(i int) block { return block{from: me, to: i} })
}

func eachToMe(me, ranks int) []block {
	return blocks(ranks, func(i int) block { return block{from: i, to: me} })
}

func blocks(n int, each func(i int) block) []block {
	out := make([]block, n)
	for i := range out {
		out[i] = each(i)
	}
	return out
}

// atRoot gives the blocks only to rank 0, which is the root of all operations here.
func atRoot(blocks func(me, ranks int) []block) func(me, ranks int) []block {
	return func(me, ranks int) []block {
		if me != 0 {
			return nil
		}
		return blocks(me, ranks)
	}
}

// atOthers gives the blocks to all ranks except rank 0.
func atOthers(blocks func(me, ranks int) []block) func(me, ranks int) []block {
	return func(me, ranks int) []block {
		if me == 0 {
			return nil
		}
		return blocks(me, ranks)
	}
}

// The operations. In a broadcast the root sends and the others receive; the block of rank
// 0 is for all.
var movings = []spec{
	{test: "barrier", kind: collectives, blocks: nothing.blocks, open: nothing.open},
	moves("bcast", apart, atRoot(ofMe), atOthers(func(int, int) []block { return []block{{}} }), func(m *mover) error {
		if m.c.Rank() == 0 {
			return m.c.Bcast(forever, m.whole.in, 0)
		}
		return m.c.Bcast(forever, m.whole.out, 0)
	}),
	moves("gather", apart, ofMe, atRoot(ofEach), func(m *mover) error { return m.c.Gather(forever, m.whole.in, m.whole.out, 0) }),
	moves("gatherv", apart, ofMe, atRoot(ofEach), func(m *mover) error { return m.c.Gatherv(forever, m.whole.in, m.parts.out, 0) }),
	moves("scatter", apart, atRoot(forEach), forMe, func(m *mover) error { return m.c.Scatter(forever, m.whole.in, m.whole.out, 0) }),
	moves("scatterv", apart, atRoot(forEach), forMe, func(m *mover) error { return m.c.Scatterv(forever, m.parts.in, m.whole.out, 0) }),
	moves("allgather", jointly, ofMe, ofEach, func(m *mover) error { return m.c.Allgather(forever, m.whole.in, m.whole.out) }),
	moves("allgatherv", jointly, ofMe, ofEach, func(m *mover) error { return m.c.Allgather(forever, m.whole.in, m.parts.out) }),
	moves("alltoall", jointly, meToEach, eachToMe, func(m *mover) error { return m.c.Alltoall(forever, m.whole.in, m.whole.out) }),
	moves("alltoallv", jointly, meToEach, eachToMe, func(m *mover) error { return m.c.Alltoall(forever, m.parts.in, m.parts.out) }),
}

// The values of spec.apart.
const (
	apart   = true
	jointly = false
)

func moves(test perf.Test, apart bool, has, gets func(me, ranks int) []block, call func(m *mover) error) spec {
	m := &moving{has, gets, call}
	return spec{test: test, kind: collectives, sizeMin: 1, sizeMax: collectiveMax, apart: apart, blocks: m.blocks, open: m.open}
}

// blocks are those of the rank that has and gets most: the root, or any.
func (m *moving) blocks(ranks, _ int) int { return len(m.has(0, ranks)) + len(m.gets(0, ranks)) }

// nothing is the operation that moves nothing.
var nothing = &moving{none, none, func(m *mover) error { return m.c.Barrier(forever) }}
