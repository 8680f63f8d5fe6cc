package rma_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/info"
	"github.com/viaduct-hpc/viaduct/mpi/number"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// waited returns the error of a request.
func waited(r mpi.Request) error {
	_, err := r.Wait(bg)
	return err
}

// TestRequests: the request of an operation ends with it, and the error is nil.
func TestRequests(t *testing.T) {
	over(t, 3, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, mine := allocated(t, c, 3)
		require.NoError(t, w.LockAll(bg))
		me, x := c.Rank(), int64(7+c.Rank())
		next := (me + 1) % 3
		require.NoError(t, waited(w.Put(mpi.Value(&x), rma.At(next, me))))
		require.NoError(t, w.Flush(bg, next))
		got := int64(0)
		require.NoError(t, waited(w.Get(mpi.Value(&got), rma.At(next, me))))
		assert.Equal(t, x, got)
		old := int64(0)
		two := int64(2)
		require.NoError(t, waited(w.GetAccumulate(mpi.Value(&two), mpi.Value(&old), rma.At(next, me), mpi.Prod)))
		assert.Equal(t, x, old)
		require.NoError(t, waited(w.FetchAndOp(mpi.Value(&two), mpi.Value(&old), rma.At(next, me), mpi.Sum)))
		assert.Equal(t, 2*x, old)
		require.NoError(t, waited(w.FetchAndOp(mpi.InPlace, mpi.Value(&old), rma.At(next, me), mpi.NoOp)))
		assert.Equal(t, 2*x+2, old)
		expect, nine := old, int64(9)
		require.NoError(t, waited(w.CompareAndSwap(mpi.Value(&nine), mpi.Value(&two), mpi.Value(&old), rma.At(next, me))))
		assert.Equal(t, expect, old)
		require.NoError(t, waited(w.CompareAndSwap(mpi.Value(&nine), mpi.Value(&expect), mpi.Value(&old), rma.At(next, me))))
		assert.Equal(t, expect, old)
		require.NoError(t, waited(w.Accumulate(mpi.Value(&two), rma.At(next, me), mpi.Sum)))
		require.NoError(t, w.FlushLocal(bg, next))
		require.NoError(t, w.FlushLocalAll(bg))
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, c.Barrier(bg))
		require.NoError(t, w.Sync())
		assert.EqualValues(t, 11, mine[(me+2)%3])
		require.NoError(t, w.Free(bg))
	})
}

// TestLong: puts and gets of every length up to several pieces, and of long ones.
func TestLong(t *testing.T) {
	sizes := []int{0, 1, 8<<10 - 30, 8 << 10, 8<<10 + 1, 32<<10 - 1, 32 << 10, 100_001, 1 << 20}
	over(t, 2, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		most := sizes[len(sizes)-1]
		w, err := allocate(c, most+16, 1)
		require.NoError(t, err)
		other := 1 - c.Rank()
		for _, n := range sizes {
			require.NoError(t, w.Fence(bg))
			out, in := make([]byte, n), make([]byte, n)
			for i := range out {
				out[i] = byte(i*7 + n + c.Rank())
			}
			w.Put(mpi.Slice(out), rma.At(other, 5))
			require.NoError(t, w.Fence(bg))
			w.Get(mpi.Slice(in), rma.At(other, 5))
			require.NoError(t, w.Fence(bg))
			require.True(t, slices.Equal(out, in), "%d bytes", n)
			for i := range out {
				out[i] = byte(i*7 + n + other)
			}
			require.True(t, slices.Equal(out, w.Memory()[5:][:n]), "%d bytes", n)
		}
		require.NoError(t, w.Free(bg))
	})
}

// TestNothing: operations on no elements, of any type, do nothing.
func TestNothing(t *testing.T) {
	mixed, err := datatype.Of[struct {
		A int32
		B float64
	}]()
	require.NoError(t, err)
	over(t, 2, func(t *testing.T, p *mpi.Process) {
		w, err := rma.Allocate(bg, p.World(), 0, 1, nil)
		require.NoError(t, err)
		require.NoError(t, w.LockAll(bg))
		none := []int64{}
		for rank := range 2 {
			at := rma.At(rank, 0)
			require.NoError(t, waited(w.Put(mpi.Slice(none), at)))
			require.NoError(t, waited(w.Accumulate(mpi.Slice(none), at, mpi.Sum)))
			require.NoError(t, waited(w.GetAccumulate(mpi.InPlace, mpi.Slice(none), at, mpi.NoOp)))
			require.NoError(t, waited(w.Get(mpi.Typed(none, 0, 0, mixed), at)))
		}
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, w.Free(bg))
		require.Nil(t, w.Memory())
	})
}

// TestTyped: columns of a matrix move to columns, with datatypes on both sides.
func TestTyped(t *testing.T) {
	const rows, cols = 50, 60
	column, err := datatype.Vector(rows, 1, cols, datatype.Int32)
	require.NoError(t, err)
	over(t, 2, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		other := 1 - c.Rank()
		w, err := allocate(c, 4*rows*cols, 4)
		require.NoError(t, err)
		here := make([]int32, rows*cols)
		for i := range here {
			here[i] = int32(i)
		}
		require.NoError(t, w.Fence(bg))
		w.Put(mpi.Typed(here, 3, 1, column), rma.At(other, 7))
		w.Accumulate(mpi.Typed(here, 4, 1, column), rma.At(other, 8), mpi.Sum)
		row := make([]int32, rows)
		for i := range row {
			row[i] = int32(-i)
		}
		w.Accumulate(mpi.Slice(row), rma.At(other, 8).Typed(1, column), mpi.Sum)
		require.NoError(t, w.Fence(bg))
		got, was := make([]int32, rows), make([]int32, rows)
		w.Get(mpi.Slice(got), rma.At(other, 7).Typed(1, column))
		w.GetAccumulate(mpi.Slice(row), mpi.Slice(was), rma.At(other, 8).Typed(1, column), mpi.Replace)
		require.NoError(t, w.Fence(bg))
		for i := range rows {
			assert.EqualValues(t, i*cols+3, got[i])
			assert.EqualValues(t, i*cols+4-i, was[i])
		}
		mem := w.Memory()
		for i := range rows {
			assert.EqualValues(t, -i, int32At(mem, 4*(i*cols+8)))
		}
		require.NoError(t, w.Free(bg))
	})
}

func int32At(mem []byte, at int) int32 {
	return int32(mem[at]) | int32(mem[at+1])<<8 | int32(mem[at+2])<<16 | int32(mem[at+3])<<24
}

// TestPairs: MaxLoc on pairs with and without gaps in them.
func TestPairs(t *testing.T) {
	over(t, 3, func(t *testing.T, p *mpi.Process) {
		maxLoc[int16, int32](t, p.World())
		maxLoc[int32, int32](t, p.World())
		maxLoc[float64, int32](t, p.World())
		maxLoc[int64, int64](t, p.World())
	})
}

func maxLoc[V int16 | int32 | int64 | float64, I int32 | int64](t *testing.T, c *mpi.Comm) {
	const n = 1500 // several pieces
	xs := make([]datatype.Pair[V, I], n)
	w, err := rma.Create(bg, c, mpi.Slice(xs), 0, nil)
	require.NoError(t, err)
	require.NoError(t, w.Fence(bg))
	mine := make([]datatype.Pair[V, I], n)
	for i := range mine {
		mine[i] = datatype.Pair[V, I]{Value: V((i + c.Rank()) % 3), Index: I(c.Rank())}
	}
	for rank := range c.Size() {
		w.Accumulate(mpi.Slice(mine), rma.At(rank, 0), mpi.MaxLoc)
	}
	require.NoError(t, w.Fence(bg))
	for i := range xs {
		require.EqualValues(t, 2, xs[i].Value, "element %d of %T", i, xs)
		require.EqualValues(t, (5-i%3)%3, xs[i].Index, "element %d of %T", i, xs)
	}
	require.NoError(t, w.Free(bg))
}

// TestNumbersOfC: accumulates of numbers that Go lacks, and of types with other operators.
func TestNumbersOfC(t *testing.T) {
	over(t, 2, func(t *testing.T, p *mpi.Process) {
		w, err := allocate(p.World(), 64, 1)
		require.NoError(t, err)
		next := 1 - p.World().Rank()
		require.NoError(t, w.LockAll(bg))
		long := number.LongDoubleFromFloat64(0x1p60)
		var old number.LongDouble
		require.NoError(t, waited(w.Accumulate(mpi.Value(&long), rma.At(next, 0), mpi.Sum)))
		require.NoError(t, w.Flush(bg, next))
		one := number.LongDoubleFromFloat64(1)
		require.NoError(t, waited(w.FetchAndOp(mpi.Value(&one), mpi.Value(&old), rma.At(next, 0), mpi.Sum)))
		assert.Equal(t, long, old)
		require.NoError(t, waited(w.FetchAndOp(mpi.InPlace, mpi.Value(&old), rma.At(next, 0), mpi.NoOp)))
		assert.Equal(t, long.Add(one), old, "more digits than a float64 has")

		zero, wide, was := number.Int128{}, number.Int128FromBits(1, 2), number.Int128{}
		swap := func(with, expect *number.Int128) error {
			return waited(w.CompareAndSwap(mpi.Value(with), mpi.Value(expect), mpi.Value(&was), rma.At(next, 16)))
		}
		require.NoError(t, swap(&wide, &zero))
		assert.Equal(t, zero, was)
		require.NoError(t, swap(&zero, &zero))
		assert.Equal(t, wide, was)

		mem, got := []int64{5}, []int64{0}
		aint := func(xs []int64) mpi.Buffer { return mpi.Typed(xs, 0, 1, datatype.Aint) }
		require.NoError(t, waited(w.FetchAndOp(aint(mem), aint(got), rma.At(next, 32), mpi.Sum)))
		require.NoError(t, waited(w.FetchAndOp(aint(mem), aint(got), rma.At(next, 32), mpi.BXor)))
		assert.Equal(t, []int64{5}, got)
		assert.ErrorIs(t, waited(w.FetchAndOp(aint(mem), aint(got), rma.At(next, 32), mpi.LAnd)), mpi.ErrOp)
		assert.ErrorIs(t, w.UnlockAll(bg), mpi.ErrOp, "the same error")
		require.NoError(t, w.Free(bg))
	})
}

// TestConcurrentSums: all ranks add to the same elements of many kinds at once, and no addition is
// lost.
func TestConcurrentSums(t *testing.T) {
	over(t, 4, func(t *testing.T, p *mpi.Process) {
		sums[int8](t, p.World())
		sums[int32](t, p.World())
		sums[uint64](t, p.World())
		sums[float32](t, p.World())
		sums[float64](t, p.World())
		sums[complex128](t, p.World())
	})
}

func sums[T int8 | int32 | uint64 | float32 | float64 | complex128](t *testing.T, c *mpi.Comm) {
	const rounds, n = 20, 3
	w, err := allocate(c, 16*n, 1)
	require.NoError(t, err)
	require.NoError(t, w.LockAll(bg))
	ones := []T{1, 1, 1}
	for range rounds {
		for rank := range c.Size() {
			w.Accumulate(mpi.Slice(ones), rma.At(rank, 0), mpi.Sum)
		}
	}
	require.NoError(t, w.UnlockAll(bg))
	require.NoError(t, c.Barrier(bg))
	got := make([]T, n)
	require.NoError(t, w.Lock(bg, rma.LockShared, c.Rank()))
	w.Get(mpi.Slice(got), rma.At(c.Rank(), 0))
	require.NoError(t, w.Unlock(bg, c.Rank()))
	total := T(0)
	for range rounds * c.Size() {
		total++
	}
	assert.Equal(t, []T{total, total, total}, got, "%T", got)
	require.NoError(t, w.Free(bg))
}

// TestOrder: accumulates of one rank to one place happen in the order of the calls.
func TestOrder(t *testing.T) {
	over(t, 3, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, mine := allocated(t, c, 2*c.Size())
		require.NoError(t, w.Fence(bg))
		for i := range int64(100) {
			xs := []int64{i, i}
			for rank := range c.Size() {
				w.Accumulate(mpi.Slice(xs), rma.At(rank, 2*c.Rank()), mpi.Replace)
			}
		}
		require.NoError(t, w.Fence(bg))
		for i := range mine {
			assert.EqualValues(t, 99, mine[i])
		}
		require.NoError(t, w.Free(bg))
	})
}

// TestDynamic: memory is attached, accessed, and detached.
func TestDynamic(t *testing.T) {
	over(t, 2, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, err := rma.CreateDynamic(bg, c, nil)
		require.NoError(t, err)
		xs, ys := make([]int64, 4), make([]float64, 30_000)
		dx, err := w.Attach(mpi.Slice(xs))
		require.NoError(t, err)
		dy, err := w.Attach(mpi.Slice(ys))
		require.NoError(t, err)
		_, err = w.Attach(mpi.Slice(xs[1:2]))
		require.ErrorIs(t, err, mpi.ErrRMAAttach)
		places := make([]int, 4)
		require.NoError(t, c.Allgather(bg, mpi.Slice([]int{dx, dy}), mpi.Slice(places)))
		other := 1 - c.Rank()
		require.NoError(t, w.LockAll(bg))
		one := int64(1)
		w.Accumulate(mpi.Value(&one), rma.At(other, places[2*other]+8), mpi.Sum)
		w.Accumulate(mpi.Value(&one), rma.At(c.Rank(), dx+8), mpi.Sum)
		out := make([]float64, len(ys))
		for i := range out {
			out[i] = float64(i + c.Rank())
		}
		w.Put(mpi.Slice(out), rma.At(other, places[2*other+1]))
		require.NoError(t, w.FlushAll(bg))
		r := w.Put(mpi.Slice(out), rma.At(other, places[2*other+1]+8))
		require.ErrorIs(t, waited(r), mpi.ErrRMARange, "beyond the end")
		require.ErrorIs(t, w.FlushAll(bg), mpi.ErrRMARange, "again, for programs that ignore requests")
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, c.Barrier(bg))
		assert.Equal(t, []int64{0, 2, 0, 0}, xs)
		assert.EqualValues(t, other, ys[0])
		assert.EqualValues(t, 29_999+other, ys[29_999])
		require.NoError(t, w.Detach(mpi.Slice(xs)))
		require.ErrorIs(t, w.Detach(mpi.Slice(xs)), mpi.ErrRMAAttach)
		require.NoError(t, w.Free(bg))
	})
}

// TestShared: ranks of one host load and store in each other's memory, contiguous if they do not
// allow gaps.
func TestShared(t *testing.T) {
	for _, noncontig := range []bool{false, true} {
		t.Run(fmt.Sprintf("noncontig=%t", noncontig), func(t *testing.T) {
			place{"", "mem", 0}.run(t, 3, func(t *testing.T, p *mpi.Process) {
				c := p.World()
				hints, err := info.New("alloc_shared_noncontig", fmt.Sprint(noncontig))
				require.NoError(t, err)
				w, err := rma.AllocateShared(bg, c, 8*c.Rank(), 8, hints)
				require.NoError(t, err)
				assert.Equal(t, rma.Shared, w.Flavor())
				first, unit, err := w.SharedQuery(mpi.ProcNull)
				require.NoError(t, err)
				assert.Equal(t, 8, unit)
				assert.Len(t, first, 8, "the part of rank 1")
				require.NoError(t, w.LockAll(bg))
				for i := range numbers(w.Memory()) {
					numbers(w.Memory())[i] = int64(10*c.Rank() + i)
				}
				require.NoError(t, w.Sync())
				require.NoError(t, c.Barrier(bg))
				require.NoError(t, w.Sync())
				for rank := range 3 {
					mem, _, err := w.SharedQuery(rank)
					require.NoError(t, err)
					for i, x := range numbers(mem) {
						assert.EqualValues(t, 10*rank+i, x)
					}
				}
				two, _, err := w.SharedQuery(2)
				require.NoError(t, err)
				assert.Equal(t, !noncontig, address(two)-address(first) == 8)
				require.NoError(t, w.UnlockAll(bg))
				require.NoError(t, w.Free(bg))
			})
		})
	}
	place{"", "mem", 64}.run(t, 2, func(t *testing.T, p *mpi.Process) {
		_, err := rma.AllocateShared(bg, p.World(), 8, 8, nil)
		require.ErrorIs(t, err, mpi.ErrRMAShared)
	})
}
