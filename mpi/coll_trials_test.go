package mpi_test

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi"
)

func barrierTrial[T comparable](tr *trial, _ kind[T]) {
	tr.mode.do(tr.t,
		func() error { return mpi.Barrier(tr.c) },
		func() (mpi.Request, error) { return mpi.Ibarrier(tr.c) },
		func() (mpi.Request, error) { return mpi.BarrierInit(tr.c) })
}

func bcastTrial[T comparable](tr *trial, k kind[T]) {
	xs := make([]T, tr.count)
	if tr.c.Rank() == tr.root {
		xs = k.slice(tr.root, 0, tr.count)
	}
	tr.mode.do(tr.t,
		func() error { return mpi.Bcast(tr.c, xs, tr.root) },
		func() (mpi.Request, error) { return mpi.Ibcast(tr.c, xs, tr.root) },
		func() (mpi.Request, error) { return mpi.BcastInit(tr.c, xs, tr.root) })
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
	tr.mode.do(tr.t,
		func() error { return mpi.Gather(tr.c, in, out, tr.root) },
		func() (mpi.Request, error) { return mpi.Igather(tr.c, in, out, tr.root) },
		func() (mpi.Request, error) { return mpi.GatherInit(tr.c, in, out, tr.root) })
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
	tr.mode.do(tr.t,
		func() error { return mpi.Gatherv(tr.c, in, out, counts, displs, tr.root) },
		func() (mpi.Request, error) { return mpi.Igatherv(tr.c, in, out, counts, displs, tr.root) },
		func() (mpi.Request, error) { return mpi.GathervInit(tr.c, in, out, counts, displs, tr.root) })
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
	tr.mode.do(tr.t,
		func() error { return mpi.Scatter(tr.c, in, out, tr.root) },
		func() (mpi.Request, error) { return mpi.Iscatter(tr.c, in, out, tr.root) },
		func() (mpi.Request, error) { return mpi.ScatterInit(tr.c, in, out, tr.root) })
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
	tr.mode.do(tr.t,
		func() error { return mpi.Scatterv(tr.c, in, out, counts, displs, tr.root) },
		func() (mpi.Request, error) { return mpi.Iscatterv(tr.c, in, out, counts, displs, tr.root) },
		func() (mpi.Request, error) { return mpi.ScattervInit(tr.c, in, out, counts, displs, tr.root) })
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
	tr.mode.do(tr.t,
		func() error { return mpi.Allgather(tr.c, in, out) },
		func() (mpi.Request, error) { return mpi.Iallgather(tr.c, in, out) },
		func() (mpi.Request, error) { return mpi.AllgatherInit(tr.c, in, out) })
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
	tr.mode.do(tr.t,
		func() error { return mpi.Allgatherv(tr.c, in, out, counts, displs) },
		func() (mpi.Request, error) { return mpi.Iallgatherv(tr.c, in, out, counts, displs) },
		func() (mpi.Request, error) { return mpi.AllgathervInit(tr.c, in, out, counts, displs) })
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
	tr.mode.do(tr.t,
		func() error { return mpi.Alltoall(tr.c, in, out) },
		func() (mpi.Request, error) { return mpi.Ialltoall(tr.c, in, out) },
		func() (mpi.Request, error) { return mpi.AlltoallInit(tr.c, in, out) })
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
	inCounts := counts
	if tr.inPlace {
		copy(out, in)
		in, inCounts, inDispls = nil, nil, nil
	}
	tr.mode.do(tr.t,
		func() error { return mpi.Alltoallv(tr.c, in, out, inCounts, inDispls, counts, outDispls) },
		func() (mpi.Request, error) {
			return mpi.Ialltoallv(tr.c, in, out, inCounts, inDispls, counts, outDispls)
		},
		func() (mpi.Request, error) {
			return mpi.AlltoallvInit(tr.c, in, out, inCounts, inDispls, counts, outDispls)
		})
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
	tr.mode.do(tr.t,
		func() error { return mpi.Reduce(tr.c, in, out, k.op, tr.root) },
		func() (mpi.Request, error) { return mpi.Ireduce(tr.c, in, out, k.op, tr.root) },
		func() (mpi.Request, error) { return mpi.ReduceInit(tr.c, in, out, k.op, tr.root) })
	same(tr.t, want, out, "reduce")
}

// in and out of a reduction, and how it is called, for those where all ranks get something.
func reductionTrial[T comparable](tr *trial, in, out, want []T, what string,
	now func(in, out []T) error, begin, prepare func(in, out []T) (mpi.Request, error)) {
	before := slices.Clone(in)
	if tr.inPlace {
		out, in = in, nil
	}
	tr.mode.do(tr.t,
		func() error { return now(in, out) },
		func() (mpi.Request, error) { return begin(in, out) },
		func() (mpi.Request, error) { return prepare(in, out) })
	same(tr.t, want, out[:len(want)], what)
	if !tr.inPlace {
		same(tr.t, before, in, what+" must not change in")
	}
}

func allreduceTrial[T comparable](tr *trial, k kind[T]) {
	reductionTrial(tr, k.slice(tr.c.Rank(), 0, tr.count), make([]T, tr.count), k.folded(0, tr.c.Size(), 0, tr.count), "allreduce",
		func(in, out []T) error { return mpi.Allreduce(tr.c, in, out, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.Iallreduce(tr.c, in, out, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.AllreduceInit(tr.c, in, out, k.op) })
}

func reduceScatterBlockTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	reductionTrial(tr, k.slice(me, 0, n*tr.count), make([]T, tr.count), k.folded(0, n, me*tr.count, tr.count), "reduce-scatter-block",
		func(in, out []T) error { return mpi.ReduceScatterBlock(tr.c, in, out, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.IreduceScatterBlock(tr.c, in, out, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.ReduceScatterBlockInit(tr.c, in, out, k.op) })
}

func reduceScatterTrial[T comparable](tr *trial, k kind[T]) {
	n, me := tr.c.Size(), tr.c.Rank()
	counts, sum := tr.counts(n)
	reductionTrial(tr, k.slice(me, 0, sum), make([]T, counts[me]), k.folded(0, n, at(nil, counts, me), counts[me]), "reduce-scatter",
		func(in, out []T) error { return mpi.ReduceScatter(tr.c, in, out, counts, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.IreduceScatter(tr.c, in, out, counts, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.ReduceScatterInit(tr.c, in, out, counts, k.op) })
}

func scanTrial[T comparable](tr *trial, k kind[T]) {
	me := tr.c.Rank()
	reductionTrial(tr, k.slice(me, 0, tr.count), make([]T, tr.count), k.folded(0, me+1, 0, tr.count), "scan",
		func(in, out []T) error { return mpi.Scan(tr.c, in, out, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.Iscan(tr.c, in, out, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.ScanInit(tr.c, in, out, k.op) })
}

func exscanTrial[T comparable](tr *trial, k kind[T]) {
	me := tr.c.Rank()
	var want []T // undefined on rank 0
	if me > 0 {
		want = k.folded(0, me, 0, tr.count)
	}
	reductionTrial(tr, k.slice(me, 0, tr.count), make([]T, tr.count), want, "exscan",
		func(in, out []T) error { return mpi.Exscan(tr.c, in, out, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.Iexscan(tr.c, in, out, k.op) },
		func(in, out []T) (mpi.Request, error) { return mpi.ExscanInit(tr.c, in, out, k.op) })
}
