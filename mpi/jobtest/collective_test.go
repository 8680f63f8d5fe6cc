package jobtest

import (
	"os"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// An operation is a collective operation in its three forms, with its expected result.
type operation struct {
	name      string
	run       func() error
	begin     func() (mpi.Request, error)
	prepare   func() (mpi.Request, error)
	out, want []int64
}

// collectives runs every collective operation: alone, all at once, and again and again.
func collectives(t *checker, w *mpi.Comm) {
	for _, n := range []int{1, 300, 6000} {
		for _, root := range []int{0, w.Size() - 1} {
			ops := append(rooted(w, n, root), unrooted(w, n)...)
			for _, op := range ops {
				require.NoError(t, op.run(), op.name)
			}
			check(t, ops, "blocking")
			start(t, ops, func(op operation) (mpi.Request, error) { return op.begin() })
			check(t, ops, "non-blocking")
			if n == 300 {
				again(t, ops)
			}
			broadcasts(t, w, n, root)
			if n == 6000 && os.Getenv(shortVariable) == "true" {
				break // another root changes nothing about the size
			}
		}
	}
	require.NoError(t, mpi.Barrier(w))
	r, err := mpi.Ibarrier(w)
	require.NoError(t, err)
	require.NoError(t, mpi.WaitAll(r))
}

// start begins all operations at once and waits for the last one first.
func start(t *checker, ops []operation, begin func(operation) (mpi.Request, error)) []mpi.Request {
	requests := make([]mpi.Request, len(ops))
	for i, op := range ops {
		var err error
		requests[len(ops)-1-i], err = begin(op)
		require.NoError(t, err, op.name)
	}
	require.NoError(t, mpi.WaitAll(requests...))
	return requests
}

// again prepares all operations, and starts them twice.
func again(t *checker, ops []operation) {
	requests := make([]mpi.Request, len(ops))
	for i, op := range ops {
		var err error
		requests[i], err = op.prepare()
		require.NoError(t, err, op.name)
	}
	for range 2 {
		require.NoError(t, mpi.StartAll(requests...))
		require.NoError(t, mpi.WaitAll(requests...))
		check(t, ops, "persistent")
	}
	for _, r := range requests {
		require.NoError(t, r.Free())
	}
}

// check compares the results of the operations, and overwrites them for the next time.
func check(t *checker, ops []operation, form string) {
	for _, op := range ops {
		same(t, op.want, op.out, form+" "+op.name)
		for i := range op.out {
			op.out[i] = -1
		}
	}
}

// same is require.Equal, which is slow for long slices.
func same(t *checker, want, got []int64, what string) {
	if !slices.Equal(want, got) {
		require.Equal(t, want, got, what)
	}
}

// all returns the rows of all processes one after another, of n elements each.
func all(size, n int) (xs []int64) {
	for rank := range size {
		xs = append(xs, row(rank, n)...)
	}
	return xs
}

// sums returns the sums of the rows of the first processes.
func sums(size, n int) []int64 {
	xs := make([]int64, n)
	for rank := range size {
		for i, x := range row(rank, n) {
			xs[i] += x
		}
	}
	return xs
}

// rooted returns the operations in which one process, the root, has a special part. Most of them
// have a result only there.
func rooted(w *mpi.Comm, n, root int) []operation {
	size, me := w.Size(), w.Rank()
	mine, counts := row(me, n), uneven(size, n)
	part, begin := counts[me], begins(counts)[me]
	var gathered, gatheredv, reduced operation
	var everybodys []int64
	if me == root {
		everybodys = all(size, n)
		gathered.out, gathered.want = make([]int64, size*n), everybodys
		gatheredv.out, gatheredv.want = make([]int64, total(counts)), unevenRows(counts)
		reduced.out, reduced.want = make([]int64, n), sums(size, n)
	}
	got, gotv := make([]int64, n), make([]int64, part)
	return []operation{
		{"Gather",
			func() error { return mpi.Gather(w, mine, gathered.out, root) },
			func() (mpi.Request, error) { return mpi.Igather(w, mine, gathered.out, root) },
			func() (mpi.Request, error) { return mpi.GatherInit(w, mine, gathered.out, root) }, gathered.out, gathered.want},
		{"Gatherv",
			func() error { return mpi.Gatherv(w, mine[:part], gatheredv.out, counts, nil, root) },
			func() (mpi.Request, error) { return mpi.Igatherv(w, mine[:part], gatheredv.out, counts, nil, root) },
			func() (mpi.Request, error) { return mpi.GathervInit(w, mine[:part], gatheredv.out, counts, nil, root) }, gatheredv.out, gatheredv.want},
		{"Scatter",
			func() error { return mpi.Scatter(w, everybodys, got, root) },
			func() (mpi.Request, error) { return mpi.Iscatter(w, everybodys, got, root) },
			func() (mpi.Request, error) { return mpi.ScatterInit(w, everybodys, got, root) }, got, mine},
		{"Scatterv",
			func() error { return mpi.Scatterv(w, everybodys, gotv, counts, nil, root) },
			func() (mpi.Request, error) { return mpi.Iscatterv(w, everybodys, gotv, counts, nil, root) },
			func() (mpi.Request, error) { return mpi.ScattervInit(w, everybodys, gotv, counts, nil, root) }, gotv, all(size, n)[begin : begin+part]},
		{"Reduce",
			func() error { return mpi.Reduce(w, mine, reduced.out, mpi.Sum, root) },
			func() (mpi.Request, error) { return mpi.Ireduce(w, mine, reduced.out, mpi.Sum, root) },
			func() (mpi.Request, error) { return mpi.ReduceInit(w, mine, reduced.out, mpi.Sum, root) }, reduced.out, reduced.want},
	}
}

// uneven returns lengths of parts, all different, of at most n.
func uneven(size, n int) []int {
	counts := make([]int, size)
	for rank := range counts {
		counts[rank] = n * (rank%4 + 1) / 4
	}
	return counts
}

// begins returns where parts of some lengths begin when they are contiguous.
func begins(counts []int) []int {
	at := make([]int, len(counts))
	for i := 1; i < len(counts); i++ {
		at[i] = at[i-1] + counts[i-1]
	}
	return at
}

func total(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// unevenRows returns the beginnings of the processes' rows, of some lengths.
func unevenRows(counts []int) []int64 {
	xs := []int64{}
	for rank, n := range counts {
		xs = append(xs, row(rank, n)...)
	}
	return xs
}

// unrooted returns the operations in which all processes are alike; the first, a broadcast, is here
// because all processes have its result.
func unrooted(w *mpi.Comm, n int) []operation {
	size, me := w.Size(), w.Rank()
	mine, everybodys, counts := row(me, n), row(me, n*size), uneven(size, n)
	at := begins(counts)[me]
	a, b, c, d := make([]int64, n*size), make([]int64, total(counts)), make([]int64, n*size), make([]int64, size*counts[me])
	e, f, g, h, k := make([]int64, n), make([]int64, n), make([]int64, counts[me]), make([]int64, n), make([]int64, n)
	var alike []int // every process sends this one as many as it expects
	var crossed, crossedv []int64
	for rank := range size {
		alike = append(alike, counts[me])
		crossed = append(crossed, row(rank, n*size)[me*n:(me+1)*n]...)
		crossedv = append(crossedv, row(rank, n*size)[at:at+counts[me]]...)
	}
	if crossedv == nil {
		crossedv = []int64{}
	}
	before := k // what Exscan gives rank 0 is undefined
	if me > 0 {
		before = sums(me, n)
	}
	wholeSums := sums(size, total(counts))
	operands := row(me, total(counts))
	return []operation{
		{"Allgather",
			func() error { return mpi.Allgather(w, mine, a) },
			func() (mpi.Request, error) { return mpi.Iallgather(w, mine, a) },
			func() (mpi.Request, error) { return mpi.AllgatherInit(w, mine, a) }, a, all(size, n)},
		{"Allgatherv",
			func() error { return mpi.Allgatherv(w, mine[:counts[me]], b, counts, nil) },
			func() (mpi.Request, error) { return mpi.Iallgatherv(w, mine[:counts[me]], b, counts, nil) },
			func() (mpi.Request, error) { return mpi.AllgathervInit(w, mine[:counts[me]], b, counts, nil) }, b, unevenRows(counts)},
		{"Alltoall",
			func() error { return mpi.Alltoall(w, everybodys, c) },
			func() (mpi.Request, error) { return mpi.Ialltoall(w, everybodys, c) },
			func() (mpi.Request, error) { return mpi.AlltoallInit(w, everybodys, c) }, c, crossed},
		{"Alltoallv",
			func() error { return mpi.Alltoallv(w, everybodys, d, counts, nil, alike, nil) },
			func() (mpi.Request, error) { return mpi.Ialltoallv(w, everybodys, d, counts, nil, alike, nil) },
			func() (mpi.Request, error) { return mpi.AlltoallvInit(w, everybodys, d, counts, nil, alike, nil) }, d, crossedv},
		{"Allreduce",
			func() error { return mpi.Allreduce(w, mine, e, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.Iallreduce(w, mine, e, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.AllreduceInit(w, mine, e, mpi.Sum) }, e, sums(size, n)},
		{"ReduceScatterBlock",
			func() error { return mpi.ReduceScatterBlock(w, everybodys, f, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.IreduceScatterBlock(w, everybodys, f, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.ReduceScatterBlockInit(w, everybodys, f, mpi.Sum) }, f, sums(size, n*size)[me*n : (me+1)*n]},
		{"ReduceScatter",
			func() error { return mpi.ReduceScatter(w, operands, g, counts, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.IreduceScatter(w, operands, g, counts, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.ReduceScatterInit(w, operands, g, counts, mpi.Sum) }, g, wholeSums[at : at+counts[me]]},
		{"Scan",
			func() error { return mpi.Scan(w, mine, h, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.Iscan(w, mine, h, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.ScanInit(w, mine, h, mpi.Sum) }, h, sums(me+1, n)},
		{"Exscan",
			func() error { return mpi.Exscan(w, mine, k, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.Iexscan(w, mine, k, mpi.Sum) },
			func() (mpi.Request, error) { return mpi.ExscanInit(w, mine, k, mpi.Sum) }, k, before},
	}
}

// broadcasts is Bcast in its three forms; the buffer is input at one process and output at the
// others.
func broadcasts(t *checker, w *mpi.Comm, n, root int) {
	x := make([]int64, n)
	fill := func() {
		clear(x)
		if w.Rank() == root {
			copy(x, row(root, n))
		}
	}
	fill()
	require.NoError(t, mpi.Bcast(w, x, root))
	same(t, row(root, n), x, "Bcast")
	fill()
	r, err := mpi.Ibcast(w, x, root)
	require.NoError(t, err)
	require.NoError(t, mpi.WaitAll(r))
	same(t, row(root, n), x, "Bcast")
	r, err = mpi.BcastInit(w, x, root)
	require.NoError(t, err)
	fill()
	require.NoError(t, mpi.StartAll(r))
	require.NoError(t, mpi.WaitAll(r))
	same(t, row(root, n), x, "Bcast")
	require.NoError(t, r.Free())
}
