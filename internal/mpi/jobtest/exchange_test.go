package jobtest

import (
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// everything is the operations that must work over every method, with any number of processes.
func everything(t *checker, p *mpi.Process) {
	w := p.World()
	ring(t, w)
	wildcards(t, w)
	collectives(t, w)
	communicators(t, w)
	manyAtOnce(t, w)
	halo(t, w)
	require.NoError(t, w.Barrier(bg))
}

// lengths are those of short messages, of long ones, and of those in between.
var lengths = []int{0, 1, 1000, 60_000}

// ring passes messages to the next process in every mode.
func ring(t *checker, w *mpi.Comm) {
	next, before := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	for _, n := range lengths {
		out, in := row(w.Rank(), n), make([]int64, n)
		st, err := w.Sendrecv(bg, mpi.Slice(out), next, 1, mpi.Slice(in), before, 1)
		require.NoError(t, err)
		require.Equal(t, before, st.Source)
		require.Equal(t, n, mpi.GetCount[int64](st))
		same(t, row(before, n), in, "message")
		for tag, how := range [][]mpi.Mode{nil, {mpi.Synchronous}} {
			clear(in)
			s := w.Isend(mpi.Slice(out), next, tag, how...)
			m, st, err := w.Mprobe(bg, before, tag)
			require.NoError(t, err)
			require.Equal(t, 8*n, st.Bytes)
			_, err = m.Recv(bg, mpi.Slice(in))
			require.NoError(t, err)
			require.NoError(t, mpi.WaitAll(bg, s))
			same(t, row(before, n), in, "message")
		}
	}
}

// row returns the data of a process, different for every one.
func row(rank, n int) []int64 {
	xs := make([]int64, n)
	for i := range xs {
		xs[i] = int64(rank*1_000_003 + i)
	}
	return xs
}

// wildcards makes rank 0 receive from all processes, itself included, in the order of arrival:
// messages of one sender do not overtake each other (MPI-4.1, 3.5).
func wildcards(t *checker, w *mpi.Comm) {
	const each = 24
	length := func(rank, i int) int { return []int{1, 30, 2000, 20_000}[(rank+i)%4] }
	sends := make([]mpi.Request, each)
	for i := range sends {
		sends[i] = w.Isend(mpi.Slice(row(w.Rank()+i, length(w.Rank(), i))), 0, 100+i)
	}
	if w.Rank() == 0 {
		next, in := make([]int, w.Size()), make([]int64, 20_000)
		for k := range each * w.Size() {
			var st mpi.Status
			var err error
			if k%2 == 0 {
				st, err = w.Recv(bg, mpi.Slice(in), mpi.AnySource, mpi.AnyTag)
			} else {
				st, err = w.Probe(bg, mpi.AnySource, mpi.AnyTag)
				require.NoError(t, err)
				st, err = w.Recv(bg, mpi.Slice(in), st.Source, st.Tag)
			}
			require.NoError(t, err)
			i := next[st.Source]
			next[st.Source]++
			require.Equal(t, 100+i, st.Tag, "rank %d", st.Source)
			same(t, row(st.Source+i, length(st.Source, i)), in[:mpi.GetCount[int64](st)], "message")
		}
	}
	require.NoError(t, mpi.WaitAll(bg, sends...))
}

// communicators makes several communicators, whose messages must not mix.
func communicators(t *checker, w *mpi.Comm) {
	dup, err := w.Dup(bg)
	require.NoError(t, err)
	x := []int{0}
	a := w.Isend(mpi.Slice([]int{1}), w.Rank(), 5)
	b := dup.Isend(mpi.Slice([]int{2}), w.Rank(), 5)
	for want, c := range map[int]*mpi.Comm{1: w, 2: dup} {
		_, err = c.Recv(bg, mpi.Slice(x), mpi.AnySource, mpi.AnyTag)
		require.NoError(t, err)
		require.Equal(t, want, x[0])
	}
	require.NoError(t, mpi.WaitAll(bg, a, b))

	back := w.Size() - w.Rank() // reverses the order
	part, err := dup.Split(bg, w.Rank()%3, back)
	require.NoError(t, err)
	require.Equal(t, (w.Size()+2-w.Rank()%3)/3, part.Size())
	ranks := make([]int, part.Size())
	require.NoError(t, part.Allgather(bg, mpi.Slice([]int{w.Rank()}), mpi.Slice(ranks)))
	for i, rank := range ranks {
		require.Equal(t, w.Rank()%3, rank%3)
		require.True(t, i == 0 || ranks[i-1] > rank, "%v", ranks)
	}
	shared, err := w.SplitType(bg, mpi.SplitShared, 0, nil)
	require.NoError(t, err)
	require.Equal(t, w.Size(), shared.Size(), "all are on one machine")
	for _, c := range []*mpi.Comm{shared, part, dup} {
		require.NoError(t, c.Free())
	}
}

// manyAtOnce makes communicators, communicates and computes in several goroutines at once
// (MPI_THREAD_MULTIPLE; MPI-4.1, 11.6).
func manyAtOnce(t *checker, w *mpi.Comm) {
	var goroutines sync.WaitGroup
	for tag := range 4 {
		goroutines.Go(func() {
			c, err := w.CreateGroup(bg, w.Group(), tag)
			require.NoError(t, err)
			next, before := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
			for round := range 10 {
				n := []int{1, 500, 9000}[round%3]
				sum, in := make([]int64, n), make([]int64, n)
				require.NoError(t, c.Allreduce(bg, mpi.Slice(row(tag, n)), mpi.Slice(sum), mpi.Sum))
				for i, x := range row(tag, n) {
					require.Equal(t, int64(c.Size())*x, sum[i])
				}
				_, err := w.Sendrecv(bg, mpi.Slice(row(tag+w.Rank(), n)), next, 1000+tag, mpi.Slice(in), before, 1000+tag)
				require.NoError(t, err)
				same(t, row(tag+before, n), in, "message")
			}
			require.NoError(t, c.Free())
		})
	}
	goroutines.Wait()
}
