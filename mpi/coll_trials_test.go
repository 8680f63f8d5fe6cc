package mpi_test

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi"
)

func barrierTrial[T comparable](tr *trial, _ kind[T]) {
	tr.mode.do(tr.t,
		func() error { return tr.c.Barrier(tr.ctx) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Ibarrier(how...) })
}

func bcastTrial[T comparable](tr *trial, k kind[T]) {
	xs := make([]T, tr.count)
	if tr.c.Rank() == tr.root {
		xs = k.slice(tr.root, 0, tr.count)
	}
	b := mpi.Slice(xs)
	tr.mode.do(tr.t,
		func() error { return tr.c.Bcast(tr.ctx, b, tr.root) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Ibcast(b, tr.root, how...) })
	same(tr.t, k.slice(tr.root, 0, tr.count), xs, "bcast")
}

func gatherTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	in := k.slice(me, 0, tr.count)
	var out, want []T
	if me == tr.root {
		out = make([]T, n*tr.count)
		for r := range n {
			want = append(want, k.slice(r, 0, tr.count)...)
		}
		if tr.inPlace {
			copy(out[me*tr.count:], in)
			in = nil
		}
	}
	give, get := given(in), mpi.Slice(out)
	tr.mode.do(tr.t,
		func() error { return tr.c.Gather(tr.ctx, give, get, tr.root) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Igather(give, get, tr.root, how...) })
	same(tr.t, want, out, "gather")
}

// spread returns the elements of the ranks at their displacements.
func spread[T comparable](k kind[T], counts, displs []int, length int) []T {
	out := make([]T, length)
	for r, n := range counts {
		copy(out[at(displs, counts, r):], k.slice(r, 0, n))
	}
	return out
}

func gathervTrial[T comparable](tr *trial, k kind[T]) {
	me := tr.c.Rank()
	counts, _ := tr.counts(tr.c.Size())
	displs, length := tr.displs(counts)
	in := k.slice(me, 0, counts[me])
	var out, want []T
	if me == tr.root {
		out, want = make([]T, length), spread(k, counts, displs, length)
		if tr.inPlace {
			copy(out[at(displs, counts, me):], in)
			in = nil
		}
	}
	give, get := given(in), mpi.Slice(out).Parts(counts, displs)
	tr.mode.do(tr.t,
		func() error { return tr.c.Gatherv(tr.ctx, give, get, tr.root) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Igatherv(give, get, tr.root, how...) })
	same(tr.t, want, out, "gatherv")
}

func scatterTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	var in []T
	out, want := make([]T, tr.count), k.slice(tr.root, me*tr.count, tr.count)
	if me == tr.root {
		in = k.slice(me, 0, n*tr.count)
		if tr.inPlace {
			out, want = nil, nil
		}
	}
	give, get := mpi.Slice(in), given(out)
	tr.mode.do(tr.t,
		func() error { return tr.c.Scatter(tr.ctx, give, get, tr.root) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Iscatter(give, get, tr.root, how...) })
	same(tr.t, want, out, "scatter")
}

func scattervTrial[T comparable](tr *trial, k kind[T]) {
	me := tr.c.Rank()
	counts, _ := tr.counts(tr.c.Size())
	displs, length := tr.displs(counts)
	var in []T
	out, want := make([]T, counts[me]), k.slice(tr.root, at(displs, counts, me), counts[me])
	if me == tr.root {
		in = k.slice(me, 0, length)
		if tr.inPlace {
			out, want = nil, nil
		}
	}
	give, get := mpi.Slice(in).Parts(counts, displs), given(out)
	tr.mode.do(tr.t,
		func() error { return tr.c.Scatterv(tr.ctx, give, get, tr.root) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Iscatterv(give, get, tr.root, how...) })
	same(tr.t, want, out, "scatterv")
}

func allgatherTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	in, out := k.slice(me, 0, tr.count), make([]T, n*tr.count)
	var want []T
	for r := range n {
		want = append(want, k.slice(r, 0, tr.count)...)
	}
	if tr.inPlace {
		copy(out[me*tr.count:], in)
		in = nil
	}
	give, get := given(in), mpi.Slice(out)
	tr.mode.do(tr.t,
		func() error { return tr.c.Allgather(tr.ctx, give, get) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Iallgather(give, get, how...) })
	same(tr.t, want, out, "allgather")
}

func allgathervTrial[T comparable](tr *trial, k kind[T]) {
	me := tr.c.Rank()
	counts, _ := tr.counts(tr.c.Size())
	displs, length := tr.displs(counts)
	in, out := k.slice(me, 0, counts[me]), make([]T, length)
	if tr.inPlace {
		copy(out[at(displs, counts, me):], in)
		in = nil
	}
	give, get := given(in), mpi.Slice(out).Parts(counts, displs)
	tr.mode.do(tr.t,
		func() error { return tr.c.Allgather(tr.ctx, give, get) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Iallgather(give, get, how...) })
	same(tr.t, spread(k, counts, displs, length), out, "allgatherv")
}

func alltoallTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	in, out := k.slice(me, 0, n*tr.count), make([]T, n*tr.count)
	var want []T
	for r := range n {
		want = append(want, k.slice(r, me*tr.count, tr.count)...)
	}
	if tr.inPlace {
		copy(out, in)
		in = nil
	}
	give, get := given(in), mpi.Slice(out)
	tr.mode.do(tr.t,
		func() error { return tr.c.Alltoall(tr.ctx, give, get) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Ialltoall(give, get, how...) })
	same(tr.t, want, out, "alltoall")
}

// alltoallvTrial: rank r sends 1+(r+s) mod m elements to rank s, numbered from 1000 times s on;
// m is the same both ways, so that it can be done in place.
func alltoallvTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	m := 1 + tr.rng.IntN(min(tr.count, 900)+1)
	counts := make([]int, n)
	for r := range counts {
		counts[r] = (me + r) % m
	}
	inDispls, inLength := tr.displs(counts)
	outDispls, outLength := tr.displs(counts)
	if tr.inPlace {
		inDispls, inLength = outDispls, outLength
	}
	in, out, want := make([]T, inLength), make([]T, outLength), make([]T, outLength)
	for r, count := range counts {
		copy(in[at(inDispls, counts, r):], k.slice(me, 1000*r, count))
		copy(want[at(outDispls, counts, r):], k.slice(r, 1000*me, count))
	}
	give, get := mpi.Slice(in).Parts(counts, inDispls), mpi.Slice(out).Parts(counts, outDispls)
	if tr.inPlace {
		copy(out, in)
		give = mpi.InPlace
	}
	tr.mode.do(tr.t,
		func() error { return tr.c.Alltoall(tr.ctx, give, get) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Ialltoall(give, get, how...) })
	same(tr.t, want, out, "alltoallv")
}

func reduceTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	in := k.slice(me, 0, tr.count)
	var out, want []T
	if me == tr.root {
		out, want = make([]T, tr.count), k.folded(0, n, 0, tr.count)
		if tr.inPlace {
			out, in = in, nil
		}
	}
	give, get := given(in), mpi.Slice(out)
	tr.mode.do(tr.t,
		func() error { return tr.c.Reduce(tr.ctx, give, get, k.op, tr.root) },
		func(how ...mpi.Mode) mpi.Request { return tr.c.Ireduce(give, get, k.op, tr.root, how...) })
	same(tr.t, want, out, "reduce")
}

// in and out of a reduction, and how it is called, for those where all ranks get something.
func reductionTrial[T comparable](tr *trial, in, out, want []T, what string,
	now func(in, out mpi.Buffer) error, begin func(in, out mpi.Buffer, how []mpi.Mode) mpi.Request) {
	before := slices.Clone(in)
	if tr.inPlace {
		out, in = in, nil
	}
	give, get := given(in), mpi.Slice(out)
	tr.mode.do(tr.t,
		func() error { return now(give, get) },
		func(how ...mpi.Mode) mpi.Request { return begin(give, get, how) })
	same(tr.t, want, out[:len(want)], what)
	if !tr.inPlace {
		same(tr.t, before, in, what+" must not change in")
	}
}

func allreduceTrial[T comparable](tr *trial, k kind[T]) {
	reductionTrial(tr, k.slice(tr.c.Rank(), 0, tr.count), make([]T, tr.count), k.folded(0, tr.c.Size(), 0, tr.count), "allreduce",
		func(in, out mpi.Buffer) error { return tr.c.Allreduce(tr.ctx, in, out, k.op) },
		func(in, out mpi.Buffer, how []mpi.Mode) mpi.Request { return tr.c.Iallreduce(in, out, k.op, how...) })
}

func reduceScatterBlockTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	reductionTrial(tr, k.slice(me, 0, n*tr.count), make([]T, tr.count), k.folded(0, n, me*tr.count, tr.count), "reduce-scatter-block",
		func(in, out mpi.Buffer) error { return tr.c.ReduceScatter(tr.ctx, in, out, k.op) },
		func(in, out mpi.Buffer, how []mpi.Mode) mpi.Request {
			return tr.c.IreduceScatter(in, out, k.op, how...)
		})
}

func reduceScatterTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	counts, sum := tr.counts(n)
	divide := func(in, out mpi.Buffer) (mpi.Buffer, mpi.Buffer) {
		if tr.inPlace {
			return in, out.Parts(counts, nil)
		}
		return in.Parts(counts, nil), out
	}
	reductionTrial(tr, k.slice(me, 0, sum), make([]T, counts[me]), k.folded(0, n, at(nil, counts, me), counts[me]), "reduce-scatter",
		func(in, out mpi.Buffer) error {
			in, out = divide(in, out)
			return tr.c.ReduceScatter(tr.ctx, in, out, k.op)
		},
		func(in, out mpi.Buffer, how []mpi.Mode) mpi.Request {
			in, out = divide(in, out)
			return tr.c.IreduceScatter(in, out, k.op, how...)
		})
}

func scanTrial[T comparable](tr *trial, k kind[T]) {
	me := tr.c.Rank()
	reductionTrial(tr, k.slice(me, 0, tr.count), make([]T, tr.count), k.folded(0, me+1, 0, tr.count), "scan",
		func(in, out mpi.Buffer) error { return tr.c.Scan(tr.ctx, in, out, k.op) },
		func(in, out mpi.Buffer, how []mpi.Mode) mpi.Request { return tr.c.Iscan(in, out, k.op, how...) })
}

func exscanTrial[T comparable](tr *trial, k kind[T]) {
	me := tr.c.Rank()
	var want []T // undefined on rank 0
	if me > 0 {
		want = k.folded(0, me, 0, tr.count)
	}
	reductionTrial(tr, k.slice(me, 0, tr.count), make([]T, tr.count), want, "exscan",
		func(in, out mpi.Buffer) error { return tr.c.Exscan(tr.ctx, in, out, k.op) },
		func(in, out mpi.Buffer, how []mpi.Mode) mpi.Request { return tr.c.Iexscan(in, out, k.op, how...) })
}
