package mpiperf

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// A combining is a collective operation that sums up numbers of ranks.
type combining struct {
	// gives is how many numbers a rank contributes, if the point has n.
	gives func(n, ranks int) int
	// gets is the part of the sums that a rank gets; the sums are over the ranks below
	// upTo.
	gets func(n, me, ranks int) (first, count, upTo int)
	call func(b *combiner) error
}

// A combiner is a rank's part in a combining.
type combiner struct {
	*combining
	c       *mpi.Comm
	n       int
	in, out []float64
	buffers buffers
	parts   mpi.Buffer // in, as ReduceScatter divides it
}

func (o *combining) open(c *mpi.Comm, s setup) (job, error) {
	n, me, ranks := s.size/floatBytes, c.Rank(), c.Size()
	_, count, _ := o.gets(n, me, ranks)
	b := &combiner{combining: o, c: c, n: n, in: make([]float64, o.gives(n, ranks)), out: make([]float64, count)}
	b.buffers = buffers{mpi.Slice(b.in), mpi.Slice(b.out)}
	counts := make([]int, ranks)
	for rank := range counts {
		first, next := share(n, rank, ranks)
		counts[rank] = next - first
	}
	b.parts = b.buffers.in.Parts(counts, nil)
	b.fill(0) // so that all pages exist
	return b, nil
}

func (b *combiner) ready(int) error { return nil }
func (b *combiner) once() error     { return b.call(b) }

func (b *combiner) fill(round int) {
	for i := range b.in {
		b.in[i] = number(round, b.c.Rank(), i)
	}
	for i := range b.out {
		b.out[i] = -1
	}
}

func (b *combiner) check(round int) error {
	first, _, upTo := b.gets(b.n, b.c.Rank(), b.c.Size())
	if upTo == 0 {
		return nil // the result is undefined
	}
	for i, got := range b.out {
		if want := sum(round, upTo, first+i); got != want {
			return fmt.Errorf("sum %d of %d is %v and should be %v", first+i, b.n, got, want)
		}
	}
	return nil
}

func wholeVector(n, _ int) int { return n }

// share returns the start and end of a rank's numbers, if all get the same number, or
// one more.
func share(n, rank, ranks int) (first, next int) { return n * rank / ranks, n * (rank + 1) / ranks }

// The operations. The result of Exscan is undefined at rank 0, because there are no ranks below it. In
// ReduceScatter a rank may get nothing, if there is too little for all.
var combinings = []spec{
	sums("reduce", apart, wholeVector, func(n, me, ranks int) (int, int, int) {
		if me != 0 {
			return 0, 0, 0
		}
		return 0, n, ranks
	}, func(b *combiner) error { return b.c.Reduce(forever, b.buffers.in, b.buffers.out, mpi.Sum, 0) }),
	sums("allreduce", jointly, wholeVector, func(n, _, ranks int) (int, int, int) { return 0, n, ranks },
		func(b *combiner) error { return b.c.Allreduce(forever, b.buffers.in, b.buffers.out, mpi.Sum) }),
	sums("reduce_scatter", apart, wholeVector, func(n, me, ranks int) (int, int, int) {
		first, next := share(n, me, ranks)
		return first, next - first, ranks
	}, func(b *combiner) error { return b.c.ReduceScatter(forever, b.parts, b.buffers.out, mpi.Sum) }),
	sums("reduce_scatter_block", jointly, func(n, ranks int) int { return n * ranks },
		func(n, me, ranks int) (int, int, int) { return me * n, n, ranks },
		func(b *combiner) error { return b.c.ReduceScatter(forever, b.buffers.in, b.buffers.out, mpi.Sum) }),
	sums("scan", apart, wholeVector, func(n, me, _ int) (int, int, int) { return 0, n, me + 1 },
		func(b *combiner) error { return b.c.Scan(forever, b.buffers.in, b.buffers.out, mpi.Sum) }),
	sums("exscan", apart, wholeVector, func(n, me, _ int) (int, int, int) { return 0, n, me },
		func(b *combiner) error { return b.c.Exscan(forever, b.buffers.in, b.buffers.out, mpi.Sum) }),
}

func sums(test perf.Test, apart bool, gives func(n, ranks int) int, gets func(n, me, ranks int) (int, int, int), call func(b *combiner) error) spec {
	o := &combining{gives, gets, call}
	blocks := func(ranks, _ int) int { return gives(1, ranks) + 1 }
	return spec{test: test, kind: collectives, sizeMin: floatBytes, sizeMax: collectiveMax, apart: apart, blocks: blocks, open: o.open}
}
