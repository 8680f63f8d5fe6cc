package mpi_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// column returns a buffer of every stride-th of n·stride numbers, as one element.
func column(t *testing.T, xs []int32, n, stride, first int) mpi.Buffer {
	t.Helper()
	vector, err := datatype.Vector(n, 1, stride, datatype.Int32)
	require.NoError(t, err)
	return mpi.Typed(xs, first, 1, vector)
}

// TestCollectiveBuffers moves columns of matrices, which are not contiguous.
func TestCollectiveBuffers(t *testing.T) {
	const rows = 5
	for _, n := range []int{1, 2, 3, 6} {
		mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			me := int32(w.Rank())
			mine := func() []int32 { // row i is 10i, 10i+1 and so on, plus 100 times the rank
				xs := make([]int32, rows*3)
				for i := range xs {
					xs[i] = int32(10*(i/3)+i%3) + 100*me
				}
				return xs
			}
			xs := mine()
			require.NoError(t, w.Bcast(bg, column(t, xs, rows, 3, 1), n-1))
			for i, x := range xs {
				want := mine()[i]
				if i%3 == 1 {
					want += 100 * (int32(n) - 1 - me)
				}
				assert.Equal(t, want, x, "bcast: element %d", i)
			}
			// The column of each process becomes a row.
			all := make([]int32, n*rows)
			require.NoError(t, w.Allgather(bg, column(t, mine(), rows, 3, 2), mpi.Slice(all)))
			for i, x := range all {
				assert.Equal(t, int32(100*(i/rows)+10*(i%rows)+2), x, "allgather: element %d", i)
			}
			// Sums of columns, in place.
			xs = mine()
			require.NoError(t, w.Allreduce(bg, mpi.InPlace, column(t, xs, rows, 3, 0), mpi.Sum))
			for i, x := range xs {
				want := mine()[i]
				if i%3 == 0 {
					want = int32(n*10*(i/3) + 100*n*(n-1)/2)
				}
				assert.Equal(t, want, x, "allreduce: element %d", i)
			}
			alltoallw(t, w, mine())
		})
	}
}

// alltoallw sends column 0 to even ranks and columns 1 and 2 to odd ones.
func alltoallw(t *testing.T, w *mpi.Comm, xs []int32) {
	t.Helper()
	const rows = 5
	n := w.Size()
	in, out := make([]mpi.Buffer, n), make([]mpi.Buffer, n)
	got := make([][]int32, n)
	for r := range n {
		got[r] = make([]int32, rows*(1+w.Rank()%2))
		out[r] = mpi.Slice(got[r])
		if r%2 == 0 {
			in[r] = column(t, xs, rows, 3, 0)
			continue
		}
		two, err := datatype.Vector(rows, 2, 3, datatype.Int32)
		require.NoError(t, err)
		in[r] = mpi.Typed(xs, 1, 1, two)
	}
	_, err := w.Ialltoall(mpi.Each(in...), mpi.Each(out...)).Wait(bg)
	require.NoError(t, err)
	for r := range n {
		var want []int32
		for row := range rows {
			base := int32(100*r + 10*row)
			if w.Rank()%2 == 0 {
				want = append(want, base)
			} else {
				want = append(want, base+1, base+2)
			}
		}
		assert.Equal(t, want, got[r], "from rank %d", r)
	}
	assert.ErrorIs(t, w.Alltoall(bg, mpi.Each(in[:n-1]...), mpi.Each(out...)), mpi.ErrCount)
}

// TestManyCollectivesAtOnce runs many operations of all kinds at once on one communicator, and
// waits for their requests in any order.
func TestManyCollectivesAtOnce(t *testing.T) {
	each := 30
	if testing.Short() {
		each = 12
	}
	mpitest.Run(t, 5, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		n, me := w.Size(), w.Rank()
		var requests []mpi.Request
		sums, texts, alls := make([][]int, each), make([][]byte, each), make([][]int, each)
		post := func(r mpi.Request) { requests = append(requests, r) }
		for i := range each {
			sums[i], texts[i], alls[i] = []int{0}, make([]byte, 1+i*400), make([]int, n)
			if me == i%n {
				for j := range texts[i] {
					texts[i][j] = byte(i + j)
				}
			}
			post(w.Iallreduce(mpi.Slice([]int{me * i}), mpi.Slice(sums[i]), mpi.Sum))
			post(w.Ibcast(mpi.Slice(texts[i]), i%n))
			post(w.Ibarrier())
			post(w.Iallgather(mpi.Slice([]int{me + i}), mpi.Slice(alls[i])))
			if i%10 == 0 {
				require.NoError(t, w.Barrier(bg))
			}
		}
		rand.New(rand.NewPCG(uint64(me), 1)).Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		for _, r := range requests {
			_, err := r.Wait(bg)
			require.NoError(t, err)
		}
		for i := range each {
			assert.Equal(t, i*n*(n-1)/2, sums[i][0])
			for j, x := range texts[i] {
				require.Equal(t, byte(i+j), x)
			}
			for r, x := range alls[i] {
				require.Equal(t, r+i, x)
			}
		}
	})
}

// TestPersistentCollective starts one operation many times with other elements.
func TestPersistentCollective(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		in, out := []float64{0, 0}, make([]float64, 2)
		sum := w.Iallreduce(mpi.Slice(in), mpi.Slice(out), mpi.Sum, mpi.Persistent)
		most := w.Iallreduce(mpi.Slice(in[:1]), mpi.Slice(in[1:]), mpi.Max, mpi.Persistent)
		for i := range 50 {
			in[0], in[1] = float64(w.Rank()+i), math.Inf(-1)
			require.NoError(t, most.Start())
			_, err := most.Wait(bg)
			require.NoError(t, err)
			require.NoError(t, sum.Start())
			_, err = sum.Wait(bg)
			require.NoError(t, err)
			assert.Equal(t, []float64{float64(3 + 3*i), float64(3 * (2 + i))}, out)
		}
		_, err := sum.Wait(bg) // inactive
		require.NoError(t, err)
		require.NoError(t, sum.Free())
		require.NoError(t, most.Free())
	})
}

// TestGoroutinesAndComms runs collective operations in several goroutines of each process at once,
// each on its own communicator.
func TestGoroutinesAndComms(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		var all sync.WaitGroup
		for range 4 {
			c, err := p.World().Dup(bg)
			require.NoError(t, err)
			all.Go(func() {
				for i := range 200 {
					sum := []int{0}
					assert.NoError(t, c.Allreduce(bg, mpi.Slice([]int{i}), mpi.Slice(sum), mpi.Sum))
					assert.Equal(t, 3*i, sum[0])
				}
			})
		}
		all.Wait()
	})
}

// TestCollectiveErrors: all modes refuse bad arguments in the same way, before anything is sent.
func TestCollectiveErrors(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		xs, none := []int{1, 2, 3}, []int(nil)
		for _, root := range []int{-1, -3, 2, math.MaxInt, math.MinInt} {
			assert.ErrorIs(t, w.Bcast(bg, mpi.Slice(xs), root), mpi.ErrRoot)
			assert.ErrorIs(t, w.Reduce(bg, mpi.Slice(xs), mpi.Slice(xs), mpi.Sum, root), mpi.ErrRoot)
			assert.ErrorIs(t, w.Gather(bg, mpi.Slice(xs), mpi.Slice(xs), root), mpi.ErrRoot)
			assert.ErrorIs(t, w.Scatterv(bg, mpi.Slice(xs).Parts(nil, nil), mpi.Slice(xs), root), mpi.ErrRoot)
			_, err := w.Ibcast(mpi.Slice(xs), root).Wait(bg)
			assert.ErrorIs(t, err, mpi.ErrRoot)
			_, err = w.Ibcast(mpi.Slice(xs), root, mpi.Persistent).Wait(bg)
			assert.ErrorIs(t, err, mpi.ErrRoot)
		}
		assert.ErrorIs(t, w.Allreduce(bg, mpi.Slice(xs), mpi.Slice(xs[:2]), mpi.Sum), mpi.ErrCount)
		assert.ErrorIs(t, w.Allreduce(bg, mpi.Slice(xs), mpi.Slice(slices.Clone(xs)), nil), mpi.ErrOp)
		assert.ErrorIs(t, w.Allreduce(bg, mpi.Slice([]float64{1}), mpi.Slice([]float64{0}), mpi.BXor), mpi.ErrOp)
		assert.ErrorIs(t, w.Allreduce(bg, mpi.Slice([]string{"a"}), mpi.Slice([]string{"b"}), mpi.Sum), mpi.ErrType)
		assert.ErrorIs(t, w.Bcast(bg, mpi.Slice([]*int{nil}), 0), mpi.ErrType)
		assert.ErrorIs(t, w.Allgather(bg, mpi.Slice(xs), mpi.Slice(xs).Parts([]int{1}, nil)), mpi.ErrCount)
		assert.ErrorIs(t, w.Allgather(bg, mpi.Slice(xs), mpi.Slice(xs).Parts([]int{3, 3}, nil)), mpi.ErrBuffer)
		assert.ErrorIs(t, w.Allgather(bg, mpi.Slice(xs), mpi.Slice(xs).Parts([]int{3, -1}, nil)), mpi.ErrCount)
		assert.ErrorIs(t, w.Allgather(bg, mpi.Slice(xs), mpi.Slice(xs).Parts([]int{math.MaxInt, 1}, nil)), mpi.ErrCount)
		assert.ErrorIs(t, w.Allgather(bg, mpi.Slice(xs), mpi.Slice(xs).Parts([]int{1, 1}, []int{0, math.MaxInt / 8})), mpi.ErrArg)
		assert.ErrorIs(t, w.Allgather(bg, mpi.Slice(xs), mpi.Slice(xs).Parts([]int{1, 1}, []int{0, -1})), mpi.ErrBuffer)
		assert.ErrorIs(t, w.Allgather(bg, mpi.Slice(xs), mpi.Slice(xs).Parts([]int{1, 1}, []int{0})), mpi.ErrArg)
		assert.ErrorIs(t, w.ReduceScatter(bg, mpi.Slice(xs).Parts([]int{1}, nil), mpi.Slice(xs[:1]), mpi.Sum), mpi.ErrCount)
		assert.ErrorIs(t, w.ReduceScatter(bg, mpi.Slice(none), mpi.Slice(xs), mpi.Sum), mpi.ErrCount)
		assert.ErrorIs(t, w.NeighborAllgather(bg, mpi.Slice(xs), mpi.Slice(xs)), mpi.ErrTopology)
		assert.ErrorIs(t, (*mpi.Comm)(nil).Barrier(bg), mpi.ErrComm)
		assert.ErrorIs(t, (*mpi.Comm)(nil).Bcast(bg, mpi.Slice(xs), 0), mpi.ErrComm)
		assert.ErrorIs(t, w.Bcast(bg, mpi.Typed(make([]byte, 7), 0, 1, datatype.Int64), 0), mpi.ErrBuffer)
		assert.ErrorIs(t, w.Bcast(bg, mpi.Typed([]byte(nil), 0, -1, datatype.Int64), 0), mpi.ErrCount)
		_, err := mpi.NewOp[string](func(_, _ []string) {}, true)
		assert.ErrorIs(t, err, mpi.ErrType)
		_, err = mpi.NewOp[int](nil, true)
		assert.ErrorIs(t, err, mpi.ErrOp)
		talk(t, w)
	})
}

// TestWrongDivision: calls refuse buffers that are divided wrongly, or that they do not take divided.
func TestWrongDivision(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		ring, err := w.CartCreate(bg, []int{2}, []bool{true}, false) // both neighbours are the other process
		require.NoError(t, err)
		one, two, root := mpi.Value(new(int)), mpi.Slice(make([]int, 2)), w.Rank()
		parts := two.Parts([]int{1, 1}, nil)
		typed := mpi.Typed(make([]int, 2), 0, 3, datatype.Int)
		for i, c := range []struct {
			err   error
			class mpi.ErrorClass
		}{
			// Too few, too many, or something else than counts.
			{w.Allgather(bg, one, two.Parts(nil, nil)), mpi.ErrCount},
			{w.Allgather(bg, one, two.Parts([]int{1, 1, 0}, nil)), mpi.ErrCount},
			{w.Allgather(bg, one, two.Parts(nil, []int{0, 1})), mpi.ErrCount},
			{w.Allgather(bg, one, mpi.Each(one)), mpi.ErrCount},
			{w.Allgather(bg, one, mpi.Each()), mpi.ErrCount},
			{w.Alltoall(bg, mpi.Each(one, one, one), two), mpi.ErrCount},
			{w.Alltoall(bg, two.Parts([]int{2}, nil), two), mpi.ErrCount},
			{w.Alltoall(bg, parts, two.Parts([]int{1, 2}, nil)), mpi.ErrBuffer},
			{w.Gatherv(bg, one, two.Parts([]int{2}, nil), root), mpi.ErrCount},
			{w.Gatherv(bg, one, mpi.Each(one, one, one), root), mpi.ErrCount},
			{w.Scatterv(bg, mpi.Each(one), one, root), mpi.ErrCount},
			{w.Scatterv(bg, two.Parts([]int{1, 1}, []int{0}), one, root), mpi.ErrArg},
			{ring.NeighborAllgather(bg, one, two.Parts([]int{2}, nil)), mpi.ErrCount},
			{ring.NeighborAlltoall(bg, mpi.Each(one), two), mpi.ErrCount},
			{w.ReduceScatter(bg, two.Parts([]int{1, 1, 0}, nil), one, mpi.Sum), mpi.ErrCount},
			{w.ReduceScatter(bg, two.Parts([]int{1, 1}, []int{0, 1}), one, mpi.Sum), mpi.ErrArg},
			// Divided where only whole buffers make sense, or twice.
			{w.Allgather(bg, parts, two), mpi.ErrBuffer},
			{w.Allgather(bg, mpi.Each(one), parts), mpi.ErrBuffer},
			{w.Gather(bg, one, parts, root), mpi.ErrBuffer},
			{w.Gatherv(bg, parts, parts, root), mpi.ErrBuffer},
			{w.Scatter(bg, parts, one, root), mpi.ErrBuffer},
			{w.Scatterv(bg, parts, mpi.Each(one), root), mpi.ErrBuffer},
			{w.Bcast(bg, parts, 0), mpi.ErrBuffer},
			{w.Reduce(bg, parts, two, mpi.Sum, 0), mpi.ErrBuffer},
			{w.Allreduce(bg, two, mpi.Each(two), mpi.Sum), mpi.ErrBuffer},
			{w.Exscan(bg, parts, two, mpi.Sum), mpi.ErrBuffer},
			{w.ReduceScatter(bg, mpi.Each(one, one), one, mpi.Sum), mpi.ErrBuffer},
			{w.ReduceScatter(bg, two, one.Parts([]int{1}, nil), mpi.Sum), mpi.ErrBuffer},
			{w.Alltoall(bg, mpi.Each(parts, one), two), mpi.ErrBuffer},
			{w.Alltoall(bg, two, mpi.Each(one, mpi.Each(one))), mpi.ErrBuffer},
			{w.Send(bg, mpi.Each(one), mpi.ProcNull, 0), mpi.ErrBuffer},
			// Memory that is none.
			{w.Allgather(bg, one, mpi.InPlace), mpi.ErrBuffer},
			{w.Allgather(bg, one, mpi.InPlace.Parts([]int{1, 1}, nil)), mpi.ErrBuffer},
			{w.Bcast(bg, mpi.InPlace, 0), mpi.ErrBuffer},
			{w.Scatter(bg, two, mpi.InPlace, 1-root), mpi.ErrBuffer},
			{w.Allgather(bg, one, mpi.Each(one, typed)), mpi.ErrBuffer},
			{w.Allgather(bg, one, typed.Parts([]int{1, 1}, nil)), mpi.ErrBuffer},
			{w.Allgather(bg, one, mpi.Value[int](nil).Parts([]int{1, 1}, nil)), mpi.ErrBuffer},
			{w.ReduceScatter(bg, typed.Parts([]int{1, 1}, nil), one, mpi.Sum), mpi.ErrBuffer},
			{w.Alltoall(bg, mpi.Slice([]string{"a", "b"}), two), mpi.ErrType},
		} {
			assert.ErrorIs(t, c.err, c.class, "case %d", i)
		}
		require.NoError(t, w.Alltoall(bg, parts, mpi.Each(one, one)), "and nothing is left over")
		talk(t, w)
	})
}

// TestEach: each part has a datatype of its own.
func TestEach(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, x := p.World(), int32(p.World().Rank()+1)
		one := mpi.Value(&x)
		// Rank i is in column i of row i.
		table := make([]int32, 9)
		each := mpi.Each(mpi.Value(&table[0]), mpi.Slice(table[4:5]), column(t, table[8:], 1, 1, 0))
		require.NoError(t, w.Allgather(bg, one, each))
		assert.Equal(t, []int32{1, 0, 0, 0, 2, 0, 0, 0, 3}, table)
		clear(table)
		require.NoError(t, w.Gatherv(bg, one, each, 1))
		if w.Rank() == 1 {
			assert.Equal(t, []int32{1, 0, 0, 0, 2, 0, 0, 0, 3}, table)
			table[8] = 4
		}
		require.NoError(t, w.Scatterv(bg, each, one, 1))
		assert.Equal(t, []int32{1, 2, 4}[w.Rank()], x)
	})
}

// TestMismatch: ranks that disagree on a length get an error, or the part that fits.
func TestMismatch(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup(bg)
		require.NoError(t, err)
		err = c.Bcast(bg, mpi.Slice(make([]int, 3+c.Rank())), 0)
		if c.Rank() == 0 {
			assert.NoError(t, err)
		} else {
			assert.ErrorIs(t, err, mpi.ErrTruncate)
		}
		assert.ErrorIs(t, c.Allreduce(bg, mpi.Slice(make([]int, 3+c.Rank())), mpi.Slice(make([]int, 3+c.Rank())), mpi.Sum), mpi.ErrTruncate)
		talk(t, c)
	})
}

// TestMismatchEnds: if one rank passes other counts, no rank waits for ever.
func TestMismatchEnds(t *testing.T) {
	const ranks = 7
	mpitest.Run(t, ranks, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup(bg)
		require.NoError(t, err)
		for odd := range ranks {
			for _, more := range []int{-2, 3} {
				n := 4
				if c.Rank() == odd {
					n += more
				}
				xs, ys := make([]int, n), make([]int, n)
				errs := []error{c.Bcast(bg, mpi.Slice(xs), 0), c.Allreduce(bg, mpi.Slice(xs), mpi.Slice(ys), mpi.Sum), c.Reduce(bg, mpi.Slice(xs), mpi.Slice(ys), mpi.Sum, 0)}
				_, err := c.Iallreduce(mpi.Slice(xs), mpi.Slice(ys), mpi.Sum).Wait(bg)
				errs = append(errs, err, c.Allgather(bg, mpi.Slice(xs), mpi.Slice(make([]int, n*ranks))), c.Gather(bg, mpi.Slice(xs), mpi.Slice(make([]int, n*ranks)), 0), c.Scan(bg, mpi.Slice(xs), mpi.Slice(ys), mpi.Sum))
				found := 0
				for _, err := range errs {
					if err != nil {
						assert.ErrorIs(t, err, mpi.ErrTruncate)
						found++
					}
				}
				if c.Rank() == odd {
					assert.Positive(t, found)
				}
				talk(t, c) // and nothing is left over
			}
		}
	})
}

// TestOpOfAnotherType: an operator on one type never gets values of another.
func TestOpOfAnotherType(t *testing.T) {
	add := func(in, inout []int32) {
		for i := range in {
			inout[i] += in[i]
		}
	}
	op, err := mpi.NewOp(add, true)
	require.NoError(t, err)
	type number int32
	require.NoError(t, mpi.ReduceLocal(mpi.Slice([]int32{1}), mpi.Slice([]int32{2}), op))
	require.NoError(t, mpi.ReduceLocal(mpi.Slice([]number{1}), mpi.Slice([]number{2}), op))
	require.NoError(t, mpi.ReduceLocal(mpi.Slice([][3]int32{{1}}), mpi.Slice([][3]int32{{2}}), op))
	xs := []int32{1, 2, 3, 4, 5, 6}
	require.NoError(t, mpi.ReduceLocal(column(t, []int32{1, 1, 1, 1, 1, 1}, 3, 2, 1), column(t, xs, 3, 2, 1), op))
	assert.Equal(t, []int32{1, 3, 3, 5, 5, 7}, xs)
	for _, err := range []error{
		mpi.ReduceLocal(mpi.Slice([]int64{1}), mpi.Slice([]int64{2}), op),
		mpi.ReduceLocal(mpi.Slice([]uint32{1}), mpi.Slice([]uint32{2}), op),
		mpi.ReduceLocal(mpi.Slice([]float32{1}), mpi.Slice([]float32{2}), op),
		mpi.ReduceLocal(mpi.Slice([]byte{1, 2, 3, 4}), mpi.Slice([]byte{1, 2, 3, 4}), op),
		mpi.ReduceLocal(mpi.Slice([]ends{{}}), mpi.Slice([]ends{{}}), op),
	} {
		assert.ErrorIs(t, err, mpi.ErrOp)
	}
	k := firstsAndLasts(t)
	type other struct {
		Sum         uint32
		First, Last uint16
	}
	assert.ErrorIs(t, mpi.ReduceLocal(mpi.Slice([]other{{}}), mpi.Slice([]other{{}}), k.op), mpi.ErrOp)
	assert.ErrorIs(t, mpi.ReduceLocal(mpi.Slice(make([]byte, 12)), mpi.Slice(make([]byte, 12)), k.op), mpi.ErrOp)
	require.NoError(t, mpi.ReduceLocal(mpi.Slice([][2]ends{{}}), mpi.Slice([][2]ends{{}}), k.op))
	bytes, err := mpi.NewOp(func(in, inout []uint8) { copy(inout, in) }, true)
	require.NoError(t, err)
	require.NoError(t, mpi.ReduceLocal(mpi.Typed([]byte{1}, 0, 1, datatype.Byte), mpi.Typed([]byte{2}, 0, 1, datatype.Byte), bytes))
	nothing, err := mpi.NewOp(func(_, _ []struct{}) {}, true)
	require.NoError(t, err)
	assert.ErrorIs(t, mpi.ReduceLocal(mpi.Slice([]int32{1}), mpi.Slice([]int32{2}), nothing), mpi.ErrOp)
	require.NoError(t, mpi.ReduceLocal(mpi.Slice([]struct{}{{}}), mpi.Slice([]struct{}{{}}), nothing))
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		assert.ErrorIs(t, p.World().Allreduce(bg, mpi.Slice([]int64{1}), mpi.Slice([]int64{2}), op), mpi.ErrOp)
		talk(t, p.World())
	})
}

func TestReduceLocal(t *testing.T) {
	acc := []int{1, 2, 3}
	require.NoError(t, mpi.ReduceLocal(mpi.Slice([]int{10, 20, 30}), mpi.Slice(acc), mpi.Sum))
	assert.Equal(t, []int{11, 22, 33}, acc)
	k := firstsAndLasts(t)
	a, b := k.slice(1, 0, 4), k.slice(2, 0, 4)
	require.NoError(t, mpi.ReduceLocal(mpi.Slice(a), mpi.Slice(b), k.op))
	assert.Equal(t, k.folded(1, 3, 0, 4), b)
	assert.ErrorIs(t, mpi.ReduceLocal(mpi.Slice([]int{1}), mpi.Slice(acc), mpi.Sum), mpi.ErrCount)
}

// TestMaxLoc finds the largest number and its place.
func TestMaxLoc(t *testing.T) {
	mpitest.Run(t, 4, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		type place = datatype.Pair[float64, int32]
		mine := []place{{Value: float64(w7(p.World().Rank())), Index: int32(p.World().Rank())}}
		got := make([]place, 1)
		require.NoError(t, p.World().Allreduce(bg, mpi.Slice(mine), mpi.Slice(got), mpi.MaxLoc))
		assert.Equal(t, place{Value: 6, Index: 2}, got[0])
	})
}

// w7 is a walk around a ring of seven: 0, 3, 6, 2.
func w7(i int) int { return 3 * i % 7 }

// TestCollectiveErrorHandler: a communicator's handler sees the errors of collectives, and duplicates
// have it too.
func TestCollectiveErrorHandler(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup(bg)
		require.NoError(t, err)
		seen := 0
		require.NoError(t, c.SetErrorHandler(func(*mpi.Comm, error) { seen++ }))
		d, err := c.Dup(bg)
		require.NoError(t, err)
		assert.Error(t, d.Bcast(bg, mpi.Slice([]int{1}), 9))
		assert.Error(t, d.Allreduce(bg, mpi.Slice([]int{1}), mpi.Slice([]int{}), mpi.Sum))
		_, err = c.Split(bg, -5, 0)
		assert.Error(t, err)
		assert.Equal(t, 3, seen)
	})
}
