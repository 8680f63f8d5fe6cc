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
	begin     func(how ...mpi.Mode) mpi.Request
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
			start(t, ops)
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
	require.NoError(t, w.Barrier(bg))
	require.NoError(t, mpi.WaitAll(bg, w.Ibarrier()))
}

// start begins all operations at once and waits for the last one first.
func start(t *checker, ops []operation) {
	requests := make(mpi.Requests, len(ops))
	for i, op := range ops {
		requests[len(ops)-1-i] = op.begin()
	}
	require.NoError(t, requests.WaitAll(bg, nil))
}

// again prepares all operations, and starts them twice.
func again(t *checker, ops []operation) {
	requests := make(mpi.Requests, len(ops))
	for i, op := range ops {
		requests[i] = op.begin(mpi.Persistent)
	}
	for range 2 {
		require.NoError(t, requests.StartAll())
		require.NoError(t, requests.WaitAll(bg, nil))
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
	one, few, many := mpi.Slice(mine), mpi.Slice(mine[:part]), mpi.Slice(everybodys)
	manyv, outv := many.Parts(counts, nil), mpi.Slice(gatheredv.out).Parts(counts, nil)
	return []operation{
		{"Gather",
			func() error { return w.Gather(bg, one, mpi.Slice(gathered.out), root) },
			func(how ...mpi.Mode) mpi.Request { return w.Igather(one, mpi.Slice(gathered.out), root, how...) }, gathered.out, gathered.want},
		{"Gatherv",
			func() error { return w.Gatherv(bg, few, outv, root) },
			func(how ...mpi.Mode) mpi.Request { return w.Igatherv(few, outv, root, how...) }, gatheredv.out, gatheredv.want},
		{"Scatter",
			func() error { return w.Scatter(bg, many, mpi.Slice(got), root) },
			func(how ...mpi.Mode) mpi.Request { return w.Iscatter(many, mpi.Slice(got), root, how...) }, got, mine},
		{"Scatterv",
			func() error { return w.Scatterv(bg, manyv, mpi.Slice(gotv), root) },
			func(how ...mpi.Mode) mpi.Request { return w.Iscatterv(manyv, mpi.Slice(gotv), root, how...) }, gotv, all(size, n)[begin : begin+part]},
		{"Reduce",
			func() error { return w.Reduce(bg, one, mpi.Slice(reduced.out), mpi.Sum, root) },
			func(how ...mpi.Mode) mpi.Request {
				return w.Ireduce(one, mpi.Slice(reduced.out), mpi.Sum, root, how...)
			}, reduced.out, reduced.want},
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
	one, many := mpi.Slice(mine), mpi.Slice(everybodys)
	few, operands := mpi.Slice(mine[:counts[me]]), mpi.Slice(row(me, total(counts))).Parts(counts, nil)
	return []operation{
		{"Allgather",
			func() error { return w.Allgather(bg, one, mpi.Slice(a)) },
			func(how ...mpi.Mode) mpi.Request { return w.Iallgather(one, mpi.Slice(a), how...) }, a, all(size, n)},
		{"Allgatherv",
			func() error { return w.Allgather(bg, few, mpi.Slice(b).Parts(counts, nil)) },
			func(how ...mpi.Mode) mpi.Request { return w.Iallgather(few, mpi.Slice(b).Parts(counts, nil), how...) }, b, unevenRows(counts)},
		{"Alltoall",
			func() error { return w.Alltoall(bg, many, mpi.Slice(c)) },
			func(how ...mpi.Mode) mpi.Request { return w.Ialltoall(many, mpi.Slice(c), how...) }, c, crossed},
		{"Alltoallv",
			func() error { return w.Alltoall(bg, many.Parts(counts, nil), mpi.Slice(d).Parts(alike, nil)) },
			func(how ...mpi.Mode) mpi.Request {
				return w.Ialltoall(many.Parts(counts, nil), mpi.Slice(d).Parts(alike, nil), how...)
			}, d, crossedv},
		{"Allreduce",
			func() error { return w.Allreduce(bg, one, mpi.Slice(e), mpi.Sum) },
			func(how ...mpi.Mode) mpi.Request { return w.Iallreduce(one, mpi.Slice(e), mpi.Sum, how...) }, e, sums(size, n)},
		{"ReduceScatterBlock",
			func() error { return w.ReduceScatter(bg, many, mpi.Slice(f), mpi.Sum) },
			func(how ...mpi.Mode) mpi.Request { return w.IreduceScatter(many, mpi.Slice(f), mpi.Sum, how...) }, f, sums(size, n*size)[me*n : (me+1)*n]},
		{"ReduceScatter",
			func() error { return w.ReduceScatter(bg, operands, mpi.Slice(g), mpi.Sum) },
			func(how ...mpi.Mode) mpi.Request { return w.IreduceScatter(operands, mpi.Slice(g), mpi.Sum, how...) }, g, wholeSums[at : at+counts[me]]},
		{"Scan",
			func() error { return w.Scan(bg, one, mpi.Slice(h), mpi.Sum) },
			func(how ...mpi.Mode) mpi.Request { return w.Iscan(one, mpi.Slice(h), mpi.Sum, how...) }, h, sums(me+1, n)},
		{"Exscan",
			func() error { return w.Exscan(bg, one, mpi.Slice(k), mpi.Sum) },
			func(how ...mpi.Mode) mpi.Request { return w.Iexscan(one, mpi.Slice(k), mpi.Sum, how...) }, k, before},
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
	require.NoError(t, w.Bcast(bg, mpi.Slice(x), root))
	same(t, row(root, n), x, "Bcast")
	fill()
	require.NoError(t, mpi.WaitAll(bg, w.Ibcast(mpi.Slice(x), root)))
	same(t, row(root, n), x, "Bcast")
	r := w.Ibcast(mpi.Slice(x), root, mpi.Persistent)
	fill()
	require.NoError(t, r.Start())
	require.NoError(t, mpi.WaitAll(bg, r))
	same(t, row(root, n), x, "Bcast")
	require.NoError(t, r.Free())
}
