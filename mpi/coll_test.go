package mpi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// ends is a semigroup that does not commute, in a struct with padding: of several values in a row
// it keeps the first, the last, and the sum of all.
type ends struct {
	First uint8
	Sum   uint32
	Last  uint16
}

func (a ends) then(b ends) ends { return ends{First: a.First, Sum: a.Sum + b.Sum, Last: b.Last} }

// kind is a type of elements: how to make element i of a rank, and how to combine them.
type kind[T comparable] struct {
	of   func(rank, i int) T
	op   *mpi.Op
	fold func(lower, higher T) T
}

func integers() kind[int64] {
	return kind[int64]{
		of:   func(rank, i int) int64 { return int64(rank*1000003 + i*i) },
		op:   mpi.Sum,
		fold: func(a, b int64) int64 { return a + b },
	}
}

func bytesXored() kind[uint8] {
	return kind[uint8]{
		of:   func(rank, i int) uint8 { return uint8(rank*37 + i*11) },
		op:   mpi.BXor,
		fold: func(a, b uint8) uint8 { return a ^ b },
	}
}

func floats() kind[float32] {
	return kind[float32]{
		of:   func(rank, i int) float32 { return float32((rank*7919+i*104729)%1000) / 8 },
		op:   mpi.Max,
		fold: func(a, b float32) float32 { return max(a, b) },
	}
}

func firstsAndLasts(t *testing.T) kind[ends] {
	op, err := mpi.NewOp(func(in, inout []ends) {
		for i := range in {
			inout[i] = in[i].then(inout[i])
		}
	}, false)
	require.NoError(t, err)
	return kind[ends]{
		of: func(rank, i int) ends {
			return ends{First: uint8(rank + i), Sum: uint32(rank*i + 1), Last: uint16(rank*3 + i)}
		},
		op:   op,
		fold: ends.then,
	}
}

// slice returns n elements of a rank, from element at on.
func (k kind[T]) slice(rank, at, n int) []T { return k.folded(rank, rank+1, at, n) }

// folded returns elements at to at+n-1 of ranks from to to-1, combined in rank order.
func (k kind[T]) folded(from, to, at, n int) []T {
	xs := make([]T, n)
	k.compute(xs, from, to, at)
	return slices.Clone(xs)
}

// compute returns the result of folded. The race detector need not check each element: it sees the
// whole slice when that is copied.
//
//go:norace
func (k kind[T]) compute(xs []T, from, to, at int) {
	for i := range xs {
		xs[i] = k.of(from, at+i)
		for r := from + 1; r < to; r++ {
			xs[i] = k.fold(xs[i], k.of(r, at+i))
		}
	}
}

// A mode is the form in which a collective operation is called.
type mode int

const (
	blocking mode = iota
	nonBlocking
	persistent
	modes
)

// do runs an operation in the mode.
func (m mode) do(t *testing.T, now func() error, begin func(how ...mpi.Mode) mpi.Request) {
	t.Helper()
	switch m {
	case blocking:
		require.NoError(t, now())
	case nonBlocking:
		_, err := begin().Wait(bg)
		require.NoError(t, err)
	case persistent:
		r := begin(mpi.Persistent)
		require.NoError(t, r.Start())
		_, err := r.Wait(bg)
		require.NoError(t, err)
		require.NoError(t, r.Free())
	}
}

// given returns the memory of xs, or InPlace if xs is nil.
func given[T any](xs []T) mpi.Buffer {
	if xs == nil {
		return mpi.InPlace
	}
	return mpi.Slice(xs)
}

// A trial is the parameters of one operation, the same on all ranks.
type trial struct {
	t       *testing.T
	c       *mpi.Comm
	ctx     context.Context // of blocking calls
	rng     *rand.Rand      // the same on all ranks
	mode    mode
	count   int
	root    int
	inPlace bool
}

// counts returns how many elements each of n ranks has.
func (tr *trial) counts(n int) (counts []int, sum int) {
	counts = make([]int, n)
	for i := range counts {
		counts[i] = tr.rng.IntN(tr.count + 1)
		sum += counts[i]
	}
	return counts, sum
}

// displs places counts in any order with gaps between, or returns nil.
func (tr *trial) displs(counts []int) (displs []int, length int) {
	if tr.rng.IntN(3) == 0 {
		for _, n := range counts {
			length += n
		}
		return nil, length
	}
	displs = make([]int, len(counts))
	for _, r := range tr.rng.Perm(len(counts)) {
		length += tr.rng.IntN(3)
		displs[r] = length
		length += counts[r]
	}
	return displs, length
}

// at returns displacement r; for nil displs the sum of the counts before it.
func at(displs, counts []int, r int) int {
	if displs != nil {
		return displs[r]
	}
	sum := 0
	for _, n := range counts[:r] {
		sum += n
	}
	return sum
}

// TestCollectives runs random programs of collective operations on communicators of up to 16 ranks,
// and compares every element with the result of a plain loop.
func TestCollectives(t *testing.T) {
	sizes := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 16}
	if testing.Short() {
		sizes = []int{1, 2, 3, 7}
	}
	for _, n := range sizes {
		seeds := uint64(max(4, 16-n))
		if testing.Short() {
			seeds = 3
		}
		t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) {
			mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
				for seed := range seeds {
					collectiveProgram(t, p.World(), seed)
				}
			})
		})
	}
}

// TestCollectivesOver runs shorter programs over methods that go through the kernel.
func TestCollectivesOver(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 4, o, func(t *testing.T, p *mpi.Process) { collectiveProgram(t, p.World(), 99) })
	})
}

func collectiveProgram(t *testing.T, c *mpi.Comm, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, uint64(c.Size())))
	contexts := []context.Context{bg, t.Context()} // the second may end
	for range 10 {
		tr := &trial{
			t: t, c: c, ctx: contexts[rng.IntN(len(contexts))], rng: rng,
			mode:    mode(rng.IntN(int(modes))),
			count:   []int{0, 1, 2, 7, 100, 3000, 40_000}[rng.IntN(7)],
			root:    rng.IntN(c.Size()),
			inPlace: rng.IntN(3) == 0,
		}
		switch rng.IntN(4) {
		case 0:
			oneOf(tr, integers(), seed)
		case 1:
			oneOf(tr, bytesXored(), seed)
		case 2:
			oneOf(tr, floats(), seed)
		case 3:
			oneOf(tr, firstsAndLasts(t), seed)
		}
	}
}

// oneOf does one operation.
func oneOf[T comparable](tr *trial, k kind[T], seed uint64) {
	ops := []struct {
		name string
		run  func(*trial, kind[T])
	}{
		{"bcast", bcastTrial[T]}, {"gather", gatherTrial[T]}, {"gatherv", gathervTrial[T]},
		{"scatter", scatterTrial[T]}, {"scatterv", scattervTrial[T]}, {"allgather", allgatherTrial[T]},
		{"allgatherv", allgathervTrial[T]}, {"alltoall", alltoallTrial[T]}, {"alltoallv", alltoallvTrial[T]},
		{"reduce", reduceTrial[T]}, {"allreduce", allreduceTrial[T]}, {"reduce-scatter-block", reduceScatterBlockTrial[T]},
		{"reduce-scatter", reduceScatterTrial[T]}, {"scan", scanTrial[T]}, {"exscan", exscanTrial[T]},
		{"barrier", barrierTrial[T]},
	}
	op := ops[tr.rng.IntN(len(ops))]
	op.run(tr, k)
	require.False(tr.t, tr.t.Failed(), "seed %d: %s of %d elements of %T on %d ranks, root %d, mode %d, in place %t",
		seed, op.name, tr.count, k.of(0, 0), tr.c.Size(), tr.root, tr.mode, tr.inPlace)
}

// same compares slices of many elements in acceptable time.
func same[T comparable](t *testing.T, want, got []T, what string) {
	t.Helper()
	if !assert.Len(t, got, len(want), what) {
		return
	}
	got = slices.Clone(got) // the race detector sees them all at once
	if i := firstDifference(want, got); i >= 0 {
		assert.Failf(t, "other elements than expected", "%s: element %d of %d is %v, expected %v", what, i, len(want), got[i], want[i])
	}
}

// firstDifference returns the first index at which two slices of one length differ; -1 if they do
// not.
//
//go:norace
func firstDifference[T comparable](a, b []T) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
