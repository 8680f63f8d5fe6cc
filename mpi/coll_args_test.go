package mpi_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

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
	mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(xs))), 4*len(xs))
	b, err := mpi.Typed(mem, 4*first, 1, vector)
	require.NoError(t, err)
	return b
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
			require.NoError(t, w.BcastBuffer(column(t, xs, rows, 3, 1), n-1))
			for i, x := range xs {
				want := mine()[i]
				if i%3 == 1 {
					want += 100 * (int32(n) - 1 - me)
				}
				assert.Equal(t, want, x, "bcast: element %d", i)
			}
			// The column of each process becomes a row.
			all := make([]int32, n*rows)
			rowsOut, err := mpi.BufferOf(all)
			require.NoError(t, err)
			require.NoError(t, w.AllgatherBuffer(column(t, mine(), rows, 3, 2), rowsOut))
			for i, x := range all {
				assert.Equal(t, int32(100*(i/rows)+10*(i%rows)+2), x, "allgather: element %d", i)
			}
			// Sums of columns, in place.
			xs = mine()
			require.NoError(t, w.AllreduceBuffer(mpi.Buffer{}, column(t, xs, rows, 3, 0), mpi.Sum))
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
		var err error
		out[r], err = mpi.BufferOf(got[r])
		require.NoError(t, err)
		if r%2 == 0 {
			in[r] = column(t, xs, rows, 3, 0)
			continue
		}
		two, err := datatype.Vector(rows, 2, 3, datatype.Int32)
		require.NoError(t, err)
		in[r] = column(t, xs, rows, 3, 1)
		in[r].Type = two
	}
	req, err := w.Ialltoallw(in, out)
	require.NoError(t, err)
	_, err = req.Wait()
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
	assert.ErrorIs(t, w.Alltoallw(in[:n-1], out), mpi.ErrCount)
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
		post := func(r mpi.Request, err error) {
			require.NoError(t, err)
			requests = append(requests, r)
		}
		for i := range each {
			sums[i], texts[i], alls[i] = []int{0}, make([]byte, 1+i*400), make([]int, n)
			if me == i%n {
				for j := range texts[i] {
					texts[i][j] = byte(i + j)
				}
			}
			post(mpi.Iallreduce(w, []int{me * i}, sums[i], mpi.Sum))
			post(mpi.Ibcast(w, texts[i], i%n))
			post(mpi.Ibarrier(w))
			post(mpi.Iallgather(w, []int{me + i}, alls[i]))
			if i%10 == 0 {
				require.NoError(t, mpi.Barrier(w))
			}
		}
		rand.New(rand.NewPCG(uint64(me), 1)).Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		for _, r := range requests {
			_, err := r.Wait()
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
		sum, err := mpi.AllreduceInit(w, in, out, mpi.Sum)
		require.NoError(t, err)
		most, err := mpi.AllreduceInit(w, in[:1], in[1:], mpi.Max)
		require.NoError(t, err)
		for i := range 50 {
			in[0], in[1] = float64(w.Rank()+i), math.Inf(-1)
			require.NoError(t, most.Start())
			_, err := most.Wait()
			require.NoError(t, err)
			require.NoError(t, sum.Start())
			_, err = sum.Wait()
			require.NoError(t, err)
			assert.Equal(t, []float64{float64(3 + 3*i), float64(3 * (2 + i))}, out)
		}
		_, err = sum.Wait() // inactive
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
			c, err := p.World().Dup()
			require.NoError(t, err)
			all.Go(func() {
				for i := range 200 {
					sum := []int{0}
					assert.NoError(t, mpi.Allreduce(c, []int{i}, sum, mpi.Sum))
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
			assert.ErrorIs(t, mpi.Bcast(w, xs, root), mpi.ErrRoot)
			assert.ErrorIs(t, mpi.Reduce(w, xs, xs, mpi.Sum, root), mpi.ErrRoot)
			assert.ErrorIs(t, mpi.Gather(w, xs, xs, root), mpi.ErrRoot)
			assert.ErrorIs(t, mpi.Scatterv(w, xs, xs, nil, nil, root), mpi.ErrRoot)
			_, err := mpi.Ibcast(w, xs, root)
			assert.ErrorIs(t, err, mpi.ErrRoot)
			_, err = mpi.BcastInit(w, xs, root)
			assert.ErrorIs(t, err, mpi.ErrRoot)
		}
		assert.ErrorIs(t, mpi.Allreduce(w, xs, xs[:2], mpi.Sum), mpi.ErrCount)
		assert.ErrorIs(t, mpi.Allreduce(w, xs, slices.Clone(xs), nil), mpi.ErrOp)
		assert.ErrorIs(t, mpi.Allreduce(w, []float64{1}, []float64{0}, mpi.BXor), mpi.ErrOp)
		assert.ErrorIs(t, mpi.Allreduce(w, []string{"a"}, []string{"b"}, mpi.Sum), mpi.ErrType)
		assert.ErrorIs(t, mpi.Bcast(w, []*int{nil}, 0), mpi.ErrType)
		assert.ErrorIs(t, mpi.Allgatherv(w, xs, xs, []int{1}, nil), mpi.ErrCount)
		assert.ErrorIs(t, mpi.Allgatherv(w, xs, xs, []int{3, 3}, nil), mpi.ErrBuffer)
		assert.ErrorIs(t, mpi.Allgatherv(w, xs, xs, []int{3, -1}, nil), mpi.ErrCount)
		assert.ErrorIs(t, mpi.Allgatherv(w, xs, xs, []int{math.MaxInt, 1}, nil), mpi.ErrCount)
		assert.ErrorIs(t, mpi.Allgatherv(w, xs, xs, []int{1, 1}, []int{0, math.MaxInt / 8}), mpi.ErrArg)
		assert.ErrorIs(t, mpi.Allgatherv(w, xs, xs, []int{1, 1}, []int{0, -1}), mpi.ErrBuffer)
		assert.ErrorIs(t, mpi.Allgatherv(w, xs, xs, []int{1, 1}, []int{0}), mpi.ErrArg)
		assert.ErrorIs(t, mpi.ReduceScatter(w, xs, xs[:1], []int{1}, mpi.Sum), mpi.ErrCount)
		assert.ErrorIs(t, mpi.ReduceScatterBlock(w, none, xs, mpi.Sum), mpi.ErrCount)
		assert.ErrorIs(t, mpi.NeighborAllgather(w, xs, xs), mpi.ErrTopology)
		assert.ErrorIs(t, mpi.Barrier(nil), mpi.ErrComm)
		assert.ErrorIs(t, mpi.Bcast[int](nil, xs, 0), mpi.ErrComm)
		assert.ErrorIs(t, w.BcastBuffer(mpi.Buffer{Mem: make([]byte, 7), Type: datatype.Int64, Count: 1}, 0), mpi.ErrBuffer)
		assert.ErrorIs(t, w.BcastBuffer(mpi.Buffer{Type: datatype.Int64, Count: -1}, 0), mpi.ErrCount)
		_, err := mpi.NewOp[string](func(_, _ []string) {}, true)
		assert.ErrorIs(t, err, mpi.ErrType)
		_, err = mpi.NewOp[int](nil, true)
		assert.ErrorIs(t, err, mpi.ErrOp)
		talk(t, w)
	})
}

// TestMismatch: ranks that disagree on a length get an error, or the part that fits.
func TestMismatch(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup()
		require.NoError(t, err)
		err = mpi.Bcast(c, make([]int, 3+c.Rank()), 0)
		if c.Rank() == 0 {
			assert.NoError(t, err)
		} else {
			assert.ErrorIs(t, err, mpi.ErrTruncate)
		}
		assert.ErrorIs(t, mpi.Allreduce(c, make([]int, 3+c.Rank()), make([]int, 3+c.Rank()), mpi.Sum), mpi.ErrTruncate)
		talk(t, c)
	})
}

// TestMismatchEnds: if one rank passes other counts, no rank waits for ever.
func TestMismatchEnds(t *testing.T) {
	const ranks = 7
	mpitest.Run(t, ranks, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup()
		require.NoError(t, err)
		for odd := range ranks {
			for _, more := range []int{-2, 3} {
				n := 4
				if c.Rank() == odd {
					n += more
				}
				xs, ys := make([]int, n), make([]int, n)
				errs := []error{mpi.Bcast(c, xs, 0), mpi.Allreduce(c, xs, ys, mpi.Sum), mpi.Reduce(c, xs, ys, mpi.Sum, 0)}
				r, err := mpi.Iallreduce(c, xs, ys, mpi.Sum)
				require.NoError(t, err)
				_, err = r.Wait()
				errs = append(errs, err, mpi.Allgather(c, xs, make([]int, n*ranks)), mpi.Gather(c, xs, make([]int, n*ranks), 0), mpi.Scan(c, xs, ys, mpi.Sum))
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
	require.NoError(t, mpi.ReduceLocal([]int32{1}, []int32{2}, op))
	require.NoError(t, mpi.ReduceLocal([]number{1}, []number{2}, op))
	require.NoError(t, mpi.ReduceLocal([][3]int32{{1}}, [][3]int32{{2}}, op))
	xs := []int32{1, 2, 3, 4, 5, 6}
	require.NoError(t, mpi.ReduceLocalBuffer(column(t, []int32{1, 1, 1, 1, 1, 1}, 3, 2, 1), column(t, xs, 3, 2, 1), op))
	assert.Equal(t, []int32{1, 3, 3, 5, 5, 7}, xs)
	for _, err := range []error{
		mpi.ReduceLocal([]int64{1}, []int64{2}, op),
		mpi.ReduceLocal([]uint32{1}, []uint32{2}, op),
		mpi.ReduceLocal([]float32{1}, []float32{2}, op),
		mpi.ReduceLocal([]byte{1, 2, 3, 4}, []byte{1, 2, 3, 4}, op),
		mpi.ReduceLocal([]ends{{}}, []ends{{}}, op),
	} {
		assert.ErrorIs(t, err, mpi.ErrOp)
	}
	k := firstsAndLasts(t)
	type other struct {
		Sum         uint32
		First, Last uint16
	}
	assert.ErrorIs(t, mpi.ReduceLocal([]other{{}}, []other{{}}, k.op), mpi.ErrOp)
	assert.ErrorIs(t, mpi.ReduceLocal(make([]byte, 12), make([]byte, 12), k.op), mpi.ErrOp)
	require.NoError(t, mpi.ReduceLocal([][2]ends{{}}, [][2]ends{{}}, k.op))
	bytes, err := mpi.NewOp(func(in, inout []uint8) { copy(inout, in) }, true)
	require.NoError(t, err)
	require.NoError(t, mpi.ReduceLocalBuffer(mpi.Buffer{Mem: []byte{1}}, mpi.Buffer{Mem: []byte{2}}, bytes))
	nothing, err := mpi.NewOp(func(_, _ []struct{}) {}, true)
	require.NoError(t, err)
	assert.ErrorIs(t, mpi.ReduceLocal([]int32{1}, []int32{2}, nothing), mpi.ErrOp)
	require.NoError(t, mpi.ReduceLocal([]struct{}{{}}, []struct{}{{}}, nothing))
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		assert.ErrorIs(t, mpi.Allreduce(p.World(), []int64{1}, []int64{2}, op), mpi.ErrOp)
		talk(t, p.World())
	})
}

func TestReduceLocal(t *testing.T) {
	acc := []int{1, 2, 3}
	require.NoError(t, mpi.ReduceLocal([]int{10, 20, 30}, acc, mpi.Sum))
	assert.Equal(t, []int{11, 22, 33}, acc)
	k := firstsAndLasts(t)
	a, b := k.slice(1, 0, 4), k.slice(2, 0, 4)
	require.NoError(t, mpi.ReduceLocal(a, b, k.op))
	assert.Equal(t, k.folded(1, 3, 0, 4), b)
	assert.ErrorIs(t, mpi.ReduceLocal([]int{1}, acc, mpi.Sum), mpi.ErrCount)
}

// TestMaxLoc finds the largest number and its place.
func TestMaxLoc(t *testing.T) {
	mpitest.Run(t, 4, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		type place = datatype.Pair[float64, int32]
		mine := []place{{Value: float64(w7(p.World().Rank())), Index: int32(p.World().Rank())}}
		got := make([]place, 1)
		require.NoError(t, mpi.Allreduce(p.World(), mine, got, mpi.MaxLoc))
		assert.Equal(t, place{Value: 6, Index: 2}, got[0])
	})
}

// w7 is a walk around a ring of seven: 0, 3, 6, 2.
func w7(i int) int { return 3 * i % 7 }

// TestCollectiveErrorHandler: a communicator's handler sees the errors of collectives, and duplicates
// have it too.
func TestCollectiveErrorHandler(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup()
		require.NoError(t, err)
		seen := 0
		require.NoError(t, c.SetErrorHandler(func(*mpi.Comm, error) { seen++ }))
		d, err := c.Dup()
		require.NoError(t, err)
		assert.Error(t, mpi.Bcast(d, []int{1}, 9))
		assert.Error(t, mpi.Allreduce(d, []int{1}, []int{}, mpi.Sum))
		_, err = c.Split(-5, 0)
		assert.Error(t, err)
		assert.Equal(t, 3, seen)
	})
}
