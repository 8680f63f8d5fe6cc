package mpi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// sides divides the world into the ranks below a and the others, joined by an
// inter-communicator. The lower group's leader is its last rank, the other's its first.
func sides(t *testing.T, w *mpi.Comm, a int) (side *mpi.Comm, inter *mpi.Comm) {
	t.Helper()
	color, leader, far := 0, a-1, a
	if w.Rank() >= a {
		color, leader, far = 1, 0, a-1
	}
	side, err := w.Split(bg, color, 0)
	require.NoError(t, err)
	var none context.Context // as good as bg
	inter, err = side.IntercommCreate(none, leader, w, far, 77)
	require.NoError(t, err)
	require.True(t, inter.IsInter())
	require.Equal(t, side.Rank(), inter.Rank())
	require.Equal(t, side.Size(), inter.Size())
	require.Equal(t, w.Size()-side.Size(), inter.RemoteGroup().Size())
	return side, inter
}

func TestIntercomm(t *testing.T) {
	for _, n := range [][2]int{{1, 1}, {1, 2}, {3, 1}, {2, 3}, {4, 4}} {
		mpitest.Run(t, n[0]+n[1], mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			side, inter := sides(t, w, n[0])
			// Every process sends to every process on the other side.
			requests := []mpi.Request{}
			for r := range inter.RemoteGroup().Size() {
				req := inter.Isend(mpi.Slice([]int{100*inter.Rank() + r}), r, 5)
				requests = append(requests, req)
			}
			for r := range inter.RemoteGroup().Size() {
				got := []int{-1}
				_, err := inter.Recv(bg, mpi.Slice(got), r, 5)
				require.NoError(t, err)
				assert.Equal(t, 100*r+inter.Rank(), got[0])
			}
			require.NoError(t, mpi.WaitAll(bg, requests...))
			dup, err := inter.Dup(bg)
			require.NoError(t, err)
			result, err := dup.Compare(inter)
			require.NoError(t, err)
			assert.Equal(t, mpi.Congruent, result)
			for _, high := range []bool{false, true} {
				low := w.Rank() < n[0]
				merged, err := dup.Merge(bg, low == high)
				require.NoError(t, err)
				talk(t, merged)
				want := w.Rank()
				if high && low {
					want += n[1]
				} else if high {
					want -= n[0]
				}
				assert.Equal(t, want, merged.Rank())
				require.NoError(t, merged.Free())
			}
			merged, err := dup.Merge(bg, true)
			require.NoError(t, err)
			talk(t, merged)
			interSplit(t, inter)
			interCreate(t, inter)
			require.NoError(t, inter.Free())
			require.NoError(t, dup.Barrier(bg))
			_, err = side.Merge(bg, true)
			assert.ErrorIs(t, err, mpi.ErrComm)
			_, err = dup.IntercommCreate(bg, 0, w, 0, 1)
			assert.ErrorIs(t, err, mpi.ErrComm)
		})
	}
}

// interSplit divides an inter-communicator by whether ranks are even.
func interSplit(t *testing.T, inter *mpi.Comm) {
	t.Helper()
	part, err := inter.Split(bg, inter.Rank()%2, inter.Rank())
	require.NoError(t, err)
	if inter.Rank()%2 == 1 && inter.RemoteGroup().Size() < 2 {
		assert.Nil(t, part)
		return
	}
	assert.Equal(t, (inter.Size()+1-inter.Rank()%2)/2, part.Size())
	assert.Equal(t, (inter.RemoteGroup().Size()+1-inter.Rank()%2)/2, part.RemoteGroup().Size())
	count := []int{0}
	require.NoError(t, part.Allreduce(bg, mpi.Slice([]int{1}), mpi.Slice(count), mpi.Sum))
	assert.Equal(t, part.RemoteGroup().Size(), count[0])
	require.NoError(t, part.Free())
}

// interCreate keeps the last rank of each group.
func interCreate(t *testing.T, inter *mpi.Comm) {
	t.Helper()
	last, err := inter.Group().Incl([]int{inter.Size() - 1})
	require.NoError(t, err)
	c, err := inter.Create(bg, last)
	require.NoError(t, err)
	if inter.Rank() != inter.Size()-1 {
		assert.Nil(t, c)
		return
	}
	got := []int{0}
	require.NoError(t, c.Allgather(bg, mpi.Slice([]int{inter.Size()}), mpi.Slice(got)))
	assert.Equal(t, inter.RemoteGroup().Size(), got[0])
	require.NoError(t, c.Free())
}

// TestIntercommFails: a leader that cannot reach the other group tells its own.
func TestIntercommFails(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		_, err := w.IntercommCreate(bg, 1, w, 44, 1)
		if w.Rank() == 1 {
			assert.ErrorIs(t, err, mpi.ErrRank)
		} else {
			assert.ErrorIs(t, err, mpi.ErrOther)
		}
		_, err = w.IntercommCreate(bg, 3, w, 0, 1)
		assert.ErrorIs(t, err, mpi.ErrRoot)
		_, err = w.IntercommCreate(bg, 0, w, 0, -1)
		assert.ErrorIs(t, err, mpi.ErrTag)
		// Both groups are the same.
		_, err = w.IntercommCreate(bg, 0, w, 0, 1)
		assert.Error(t, err)
		talk(t, w)
	})
}

// TestIntercommsAtOnce makes several over the same bridge, in goroutines.
func TestIntercommsAtOnce(t *testing.T) {
	mpitest.Run(t, 5, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		side, _ := sides(t, w, 2)
		groups := make([]*mpi.Comm, 4)
		for i := range groups {
			var err error
			groups[i], err = side.Dup(bg)
			require.NoError(t, err)
		}
		far := 2
		if w.Rank() >= 2 {
			far = 0
		}
		var all sync.WaitGroup
		for k, c := range groups {
			all.Go(func() {
				for range 5 {
					inter, err := c.IntercommCreate(bg, 0, w, far, k)
					if !assert.NoError(t, err) {
						return
					}
					merged, err := inter.Merge(bg, w.Rank() >= 2)
					if !assert.NoError(t, err) {
						return
					}
					sum := []int{0}
					assert.NoError(t, merged.Allreduce(bg, mpi.Slice([]int{merged.Rank()}), mpi.Slice(sum), mpi.Sum))
					assert.Equal(t, 10, sum[0])
					assert.NoError(t, merged.Free())
					assert.NoError(t, inter.Free())
				}
			})
		}
		all.Wait()
	})
}

// TestInterCollectives runs every collective operation from group to group.
func TestInterCollectives(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 4
	}
	for _, n := range [][2]int{{1, 1}, {1, 3}, {2, 2}, {4, 3}} {
		t.Run(fmt.Sprintf("ranks=%d+%d", n[0], n[1]), func(t *testing.T) {
			mpitest.Run(t, n[0]+n[1], mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
				_, inter := sides(t, p.World(), n[0])
				lower := p.World().Rank() < n[0]
				contexts := []context.Context{bg, t.Context()} // the second may end
				for seed := range seeds {
					rng := rand.New(rand.NewPCG(seed, 5))
					tr := &trial{
						t: t, c: inter, ctx: contexts[rng.IntN(len(contexts))], rng: rng, mode: mode(rng.IntN(int(modes))),
						count: []int{0, 1, 3, 500, 30_000}[rng.IntN(5)],
					}
					// The root is in the lower group, or in the other one.
					rooted := rng.IntN(2) == 0
					root := rng.IntN(n[1])
					if rooted {
						root = rng.IntN(n[0])
					}
					tr.root = root
					if rooted == lower {
						tr.root = mpi.ProcNull
						if inter.Rank() == root {
							tr.root = mpi.Root
						}
					}
					if rng.IntN(2) == 0 {
						interTrials(tr, integers(), root)
					} else {
						interTrials(tr, firstsAndLasts(t), root)
					}
					require.False(t, t.Failed(), "seed %d: %d elements, root %d, mode %d", seed, tr.count, root, tr.mode)
				}
			})
		})
	}
}

// interTrials does the rooted operations, then the others. root is the rank of the root in its
// group; tr.root is what this process says of it.
func interTrials[T comparable](tr *trial, k kind[T], root int) {
	c, n, me, far := tr.c, tr.count, tr.c.Rank(), tr.c.RemoteGroup().Size()
	isRoot, gets := tr.root == mpi.Root, tr.root >= 0
	now := func(f func() error) {
		tr.t.Helper()
		require.NoError(tr.t, f())
	}
	remote := func(n int) (all []T) {
		for r := range far {
			all = append(all, k.slice(r, 0, n)...)
		}
		return all
	}

	xs := make([]T, n)
	if isRoot {
		xs = k.slice(root, 0, n)
	}
	tr.mode.do(tr.t,
		func() error { return c.Bcast(tr.ctx, mpi.Slice(xs), tr.root) },
		func(how ...mpi.Mode) mpi.Request { return c.Ibcast(mpi.Slice(xs), tr.root, how...) })
	if isRoot || gets {
		same(tr.t, k.slice(root, 0, n), xs, "bcast")
	}

	in, out := k.slice(me, 0, n), []T(nil)
	if isRoot {
		out = make([]T, far*n)
	}
	now(func() error { return c.Gather(tr.ctx, mpi.Slice(in), mpi.Slice(out), tr.root) })
	if isRoot {
		same(tr.t, remote(n), out, "gather")
		clear(out)
	}
	var counts []int
	if isRoot {
		for range far {
			counts = append(counts, n)
		}
	}
	now(func() error { return c.Gatherv(tr.ctx, mpi.Slice(in), mpi.Slice(out).Parts(counts, nil), tr.root) })
	if isRoot {
		same(tr.t, remote(n), out, "gatherv")
	}

	var all []T
	if isRoot {
		all = k.slice(root, 0, far*n)
	}
	part := make([]T, n)
	now(func() error { return c.Scatter(tr.ctx, mpi.Slice(all), mpi.Slice(part), tr.root) })
	if gets {
		same(tr.t, k.slice(root, me*n, n), part, "scatter")
		clear(part)
	}
	now(func() error { return c.Scatterv(tr.ctx, mpi.Slice(all).Parts(counts, nil), mpi.Slice(part), tr.root) })
	if gets {
		same(tr.t, k.slice(root, me*n, n), part, "scatterv")
	}

	sum := make([]T, n)
	now(func() error { return c.Reduce(tr.ctx, mpi.Slice(in), mpi.Slice(sum), k.op, tr.root) })
	if isRoot {
		same(tr.t, k.folded(0, far, 0, n), sum, "reduce")
	}
	interAllTrials(tr, k, in, remote(n))
}

// interAllTrials does the operations without a root. remote is what the other group gives.
func interAllTrials[T comparable](tr *trial, k kind[T], in, remote []T) {
	c, n, me, far := tr.c, tr.count, tr.c.Rank(), tr.c.RemoteGroup().Size()
	out := make([]T, n)
	tr.mode.do(tr.t,
		func() error { return c.Allreduce(tr.ctx, mpi.Slice(in), mpi.Slice(out), k.op) },
		func(how ...mpi.Mode) mpi.Request {
			return c.Iallreduce(mpi.Slice(in), mpi.Slice(out), k.op, how...)
		})
	same(tr.t, k.folded(0, far, 0, n), out, "allreduce")

	all := make([]T, far*n)
	require.NoError(tr.t, c.Allgather(tr.ctx, mpi.Slice(in), mpi.Slice(all)))
	same(tr.t, remote, all, "allgather")
	clear(all)
	counts := make([]int, far)
	for r := range counts {
		counts[r] = n
	}
	require.NoError(tr.t, c.Allgather(tr.ctx, mpi.Slice(in), mpi.Slice(all).Parts(counts, nil)))
	same(tr.t, remote, all, "allgatherv")

	many, want := k.slice(me, 0, far*n), []T(nil)
	for r := range far {
		want = append(want, k.slice(r, me*n, n)...)
	}
	clear(all)
	require.NoError(tr.t, c.Alltoall(tr.ctx, mpi.Slice(many), mpi.Slice(all)))
	same(tr.t, want, all, "alltoall")
	clear(all)
	require.NoError(tr.t, c.Alltoall(tr.ctx, mpi.Slice(many).Parts(counts, nil), mpi.Slice(all).Parts(counts, nil)))
	same(tr.t, want, all, "alltoallv")

	// Each group has as many parts as it has ranks; all in have the same length.
	each := n % 50
	size := c.Size() * far * each
	mine := make([]T, far*each)
	require.NoError(tr.t, c.ReduceScatter(tr.ctx, mpi.Slice(k.slice(me, 0, size)), mpi.Slice(mine), k.op))
	same(tr.t, k.folded(0, far, me*far*each, far*each), mine, "reduce-scatter-block")

	tr.mode.do(tr.t,
		func() error { return c.Barrier(tr.ctx) },
		func(how ...mpi.Mode) mpi.Request { return c.Ibarrier(how...) })
	assert.ErrorIs(tr.t, c.Scan(tr.ctx, mpi.Slice(in), mpi.Slice(out), k.op), mpi.ErrComm)
}

// TestIntercommSplitType divides both groups by shared memory. Here all processes share it.
func TestIntercommSplitType(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		_, inter := sides(t, p.World(), 1)
		part, err := inter.SplitType(bg, mpi.SplitShared, 0, nil)
		require.NoError(t, err)
		require.True(t, part.IsInter())
		assert.Equal(t, inter.RemoteGroup().Size(), part.RemoteGroup().Size())
		count := []int{0}
		require.NoError(t, part.Allreduce(bg, mpi.Slice([]int{1}), mpi.Slice(count), mpi.Sum))
		assert.Equal(t, part.RemoteGroup().Size(), count[0])
		_, err = inter.SplitType(bg, 99, 0, nil)
		assert.ErrorIs(t, err, mpi.ErrArg)
	})
}
