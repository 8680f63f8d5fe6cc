package mpi_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/group"
	"github.com/viaduct-hpc/viaduct/mpi/info"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// talk checks that a communicator works and is separate from others: the rank of every process
// travels around a ring, and a reduction counts the processes.
func talk(t *testing.T, c *mpi.Comm) {
	t.Helper()
	me, n := c.Rank(), c.Size()
	got := []int{-1}
	_, err := c.Sendrecv(bg, mpi.Slice([]int{me}), (me+1)%n, 3, mpi.Slice(got), (me+n-1)%n, 3)
	require.NoError(t, err)
	require.Equal(t, (me+n-1)%n, got[0])
	sum := []int{0}
	require.NoError(t, c.Allreduce(bg, mpi.Slice([]int{me + 1}), mpi.Slice(sum), mpi.Sum))
	require.Equal(t, n*(n+1)/2, sum[0])
}

func TestDup(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			a, err := w.Dup(bg)
			require.NoError(t, err)
			b, err := a.Dup(bg)
			require.NoError(t, err)
			// The same message in three communicators is three messages.
			right, left := (w.Rank()+1)%n, (w.Rank()+n-1)%n
			for i, c := range []*mpi.Comm{w, a, b} {
				r := c.Isend(mpi.Slice([]int{i}), right, 1)
				defer func() { _, _ = r.Wait(bg) }()
			}
			for i, c := range []*mpi.Comm{b, a, w} {
				got := []int{-1}
				_, err := c.Recv(bg, mpi.Slice(got), left, 1)
				require.NoError(t, err)
				assert.Equal(t, 2-i, got[0])
			}
			result, err := a.Compare(b)
			require.NoError(t, err)
			assert.Equal(t, mpi.Congruent, result)
			result, err = a.Compare(a)
			require.NoError(t, err)
			assert.Equal(t, mpi.Ident, result)
			require.NoError(t, a.Free())
			talk(t, b)
			require.NoError(t, b.Free())
			assert.ErrorIs(t, b.Free(), mpi.ErrComm)
			assert.ErrorIs(t, b.Barrier(bg), mpi.ErrComm)
			_, err = b.Dup(bg)
			assert.ErrorIs(t, err, mpi.ErrComm)
			assert.ErrorIs(t, w.Free(), mpi.ErrComm)
			_, err = (*mpi.Comm)(nil).Dup(bg)
			assert.ErrorIs(t, err, mpi.ErrComm)
		})
	}
}

// TestFreeWhileBusy frees a communicator while an operation on it goes on.
func TestFreeWhileBusy(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		for range 20 {
			c, err := p.World().Dup(bg)
			require.NoError(t, err)
			sum := []int{0}
			r := c.Iallreduce(mpi.Slice([]int{c.Rank()}), mpi.Slice(sum), mpi.Sum)
			again := c.Iallreduce(mpi.Slice([]int{c.Rank()}), mpi.Slice(sum), mpi.Sum, mpi.Persistent)
			require.NoError(t, c.Free())
			assert.ErrorIs(t, again.Start(), mpi.ErrComm)
			_, err = r.Wait(bg)
			require.NoError(t, err)
			assert.Equal(t, 3, sum[0])
		}
	})
}

func TestIdup(t *testing.T) {
	mpitest.Run(t, 4, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		made := make([]*mpi.Comm, 10)
		requests := make([]mpi.Request, len(made))
		for i := range made {
			made[i], requests[i] = p.World().Idup()
		}
		require.NoError(t, mpi.WaitAll(bg, requests...))
		for _, c := range made {
			talk(t, c)
			require.NoError(t, c.Free())
		}
	})
}

func TestSplit(t *testing.T) {
	for n := 1; n <= 7; n++ {
		mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			// Thirds, in which the ranks are in reverse.
			third, err := w.Split(bg, w.Rank()%3, -w.Rank())
			require.NoError(t, err)
			talk(t, third)
			of := 0
			for r := w.Rank() % 3; r < n; r += 3 {
				if r > w.Rank() {
					of++
				}
			}
			assert.Equal(t, of, third.Rank())
			// All but rank 0.
			color := 5
			if w.Rank() == 0 {
				color = mpi.Undefined
			}
			rest, err := w.Split(bg, color, 0)
			require.NoError(t, err)
			if w.Rank() == 0 {
				assert.Nil(t, rest)
			} else {
				assert.Equal(t, w.Rank()-1, rest.Rank())
				talk(t, rest)
				require.NoError(t, rest.Free())
			}
			_, err = third.Split(bg, -7, 0)
			assert.ErrorIs(t, err, mpi.ErrArg)
			shared, err := w.SplitType(bg, mpi.SplitShared, 0, nil)
			require.NoError(t, err)
			talk(t, shared)
			assert.Equal(t, n, shared.Size())
			require.NoError(t, shared.Free())
			none, err := w.SplitType(bg, mpi.SplitHardware, 0, nil)
			require.NoError(t, err)
			assert.Nil(t, none)
			require.NoError(t, third.Free())
		})
	}
}

func TestCreate(t *testing.T) {
	mpitest.Run(t, 6, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		odd, err := w.Group().Incl([]int{5, 3, 1})
		require.NoError(t, err)
		even, err := group.Difference(w.Group(), odd)
		require.NoError(t, err)
		mine, rank := even, w.Rank()/2
		if w.Rank()%2 == 1 {
			mine, rank = odd, (5-w.Rank())/2
		}
		c, err := w.Create(bg, mine)
		require.NoError(t, err)
		assert.Equal(t, rank, c.Rank())
		talk(t, c)
		only, err := w.Create(bg, odd)
		require.NoError(t, err)
		assert.Equal(t, w.Rank()%2 == 0, only == nil)
		similar, err := c.Compare(w)
		require.NoError(t, err)
		assert.Equal(t, mpi.Unequal, similar)
		if w.Rank()%2 == 1 {
			talk(t, only)
			group, err := w.CreateGroup(bg, odd, 9)
			require.NoError(t, err)
			talk(t, group)
			result, err := group.Compare(only)
			require.NoError(t, err)
			assert.Equal(t, mpi.Congruent, result)
		}
		_, err = c.Create(bg, w.Group())
		assert.ErrorIs(t, err, mpi.ErrGroup)
		_, err = w.Create(bg, nil)
		assert.ErrorIs(t, err, mpi.ErrGroup)
		_, err = w.CreateGroup(bg, mine, 1<<27)
		assert.ErrorIs(t, err, mpi.ErrTag)
		require.NoError(t, w.Barrier(bg))
	})
}

// TestManyAtOnce makes communicators in several goroutines of every process, each over its own
// communicator or with its own tag, in a different order in every process.
func TestManyAtOnce(t *testing.T) {
	const goroutines, rounds = 6, 12
	mpitest.Run(t, 4, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		parents := make([]*mpi.Comm, goroutines)
		for i := range parents {
			var err error
			parents[i], err = w.Dup(bg)
			require.NoError(t, err)
		}
		pair, err := w.Group().Incl([]int{w.Rank() / 2 * 2, w.Rank()/2*2 + 1})
		require.NoError(t, err)
		var all sync.WaitGroup
		for k := range goroutines {
			i := (k + w.Rank()) % goroutines
			all.Go(func() {
				for range rounds {
					c, err := parents[i].Dup(bg)
					if !assert.NoError(t, err) {
						return
					}
					half, err := c.Split(bg, c.Rank()%2, 0)
					if !assert.NoError(t, err) {
						return
					}
					two, err := w.CreateGroup(bg, pair, i)
					if !assert.NoError(t, err) {
						return
					}
					for _, made := range []*mpi.Comm{c, half, two} {
						sum := []int{0}
						assert.NoError(t, made.Allreduce(bg, mpi.Slice([]int{made.Rank()}), mpi.Slice(sum), mpi.Sum))
						assert.Equal(t, made.Size()*(made.Size()-1)/2, sum[0])
						assert.NoError(t, made.Free())
					}
				}
			})
		}
		all.Wait()
	})
}

// TestAloneWhileOthersWait: operations of a process alone do not wait for those with other
// processes.
func TestAloneWhileOthersWait(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		if w.Rank() == 1 {
			_, err := w.Recv(bg, mpi.Slice([]int{0}), 0, 1)
			require.NoError(t, err)
		}
		both, r := w.Idup()
		if w.Rank() == 0 {
			mine, err := p.Self().Dup(bg)
			require.NoError(t, err)
			require.NoError(t, mine.Free())
			require.NoError(t, w.Send(bg, mpi.Slice([]int{0}), 1, 1))
		}
		_, err := r.Wait(bg)
		require.NoError(t, err)
		talk(t, both)
	})
}

// TestContextsAreReused makes more communicators one after another than there are contexts.
func TestContextsAreReused(t *testing.T) {
	need.Soak(t, "TestContextsRunOut reuses a context, too")
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		for range 40_000 {
			c, err := p.World().Dup(bg)
			require.NoError(t, err)
			require.NoError(t, c.Free())
		}
	})
}

// TestContextsRunOut makes more than that at once.
func TestContextsRunOut(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		made, err := []*mpi.Comm(nil), error(nil)
		for err == nil {
			var c *mpi.Comm
			if c, err = p.World().Dup(bg); err == nil {
				made = append(made, c)
			}
		}
		require.ErrorIs(t, err, mpi.ErrOther)
		assert.ErrorContains(t, err, "free communicators")
		assert.Greater(t, len(made), 30_000)
		for _, c := range made {
			require.NoError(t, c.Free())
		}
		c, err := p.World().Dup(bg)
		require.NoError(t, err)
		talk(t, c)
	})
}

func TestAttributes(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		var deleted []string
		key := attr.NewKeyval[*mpi.Comm](
			func(c *mpi.Comm, _ *mpi.Keyval, value any) (any, bool, error) {
				return fmt.Sprint(value, "'"), true, nil
			},
			func(c *mpi.Comm, _ *mpi.Keyval, value any) error {
				deleted = append(deleted, value.(string))
				return nil
			})
		plain := attr.NewKeyval[*mpi.Comm](nil, nil)
		kept := attr.NewKeyval[*mpi.Comm](attr.KeepValue[*mpi.Comm], nil)
		a, err := p.World().Dup(bg)
		require.NoError(t, err)
		require.NoError(t, a.SetAttr(key, "x"))
		require.NoError(t, a.SetAttr(plain, 1))
		require.NoError(t, a.SetAttr(kept, 2))
		hints, err := info.New("a", "b")
		require.NoError(t, err)
		require.NoError(t, a.SetInfo(hints))
		b, err := a.Dup(bg)
		require.NoError(t, err)
		value, ok, err := b.Attr(key)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, "x'", value)
		_, ok, _ = b.Attr(plain)
		assert.False(t, ok)
		value, _, _ = b.Attr(kept)
		assert.Equal(t, 2, value)
		got, ok := b.Info().Get("a")
		assert.True(t, ok)
		assert.Equal(t, "b", got)
		require.NoError(t, b.DeleteAttr(kept))
		require.NoError(t, b.Free())
		require.NoError(t, a.Free())
		assert.Equal(t, []string{"x'", "x"}, deleted)
		assert.ErrorIs(t, a.SetAttr(key, "y"), mpi.ErrComm)
		// A copy function that fails stops the duplication, everywhere.
		bad := attr.NewKeyval[*mpi.Comm](func(*mpi.Comm, *mpi.Keyval, any) (any, bool, error) { return nil, false, assert.AnError }, nil)
		c, err := p.World().Dup(bg)
		require.NoError(t, err)
		require.NoError(t, c.SetAttr(bad, 1))
		_, err = c.Dup(bg)
		assert.ErrorIs(t, err, assert.AnError)
		talk(t, c)
	})
}
