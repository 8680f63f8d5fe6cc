package mpi_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// talk checks that a communicator works and is separate from others: the rank of every process
// travels around a ring, and a reduction counts the processes.
func talk(t *testing.T, c *mpi.Comm) {
	t.Helper()
	me, n := c.Rank(), c.Size()
	got := []int{-1}
	_, err := mpi.Sendrecv(c, []int{me}, (me+1)%n, 3, got, (me+n-1)%n, 3)
	require.NoError(t, err)
	require.Equal(t, (me+n-1)%n, got[0])
	sum := []int{0}
	require.NoError(t, mpi.Allreduce(c, []int{me + 1}, sum, mpi.Sum))
	require.Equal(t, n*(n+1)/2, sum[0])
}

func TestDup(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			a, err := w.Dup()
			require.NoError(t, err)
			b, err := a.Dup()
			require.NoError(t, err)
			// The same message in three communicators is three messages.
			right, left := (w.Rank()+1)%n, (w.Rank()+n-1)%n
			for i, c := range []*mpi.Comm{w, a, b} {
				r, err := mpi.Isend(c, []int{i}, right, 1)
				require.NoError(t, err)
				defer func() { _, _ = r.Wait() }()
			}
			for i, c := range []*mpi.Comm{b, a, w} {
				got := []int{-1}
				_, err := mpi.Recv(c, got, left, 1)
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
			assert.ErrorIs(t, mpi.Barrier(b), mpi.ErrComm)
			_, err = b.Dup()
			assert.ErrorIs(t, err, mpi.ErrComm)
			assert.ErrorIs(t, w.Free(), mpi.ErrComm)
			_, err = (*mpi.Comm)(nil).Dup()
			assert.ErrorIs(t, err, mpi.ErrComm)
		})
	}
}

// TestFreeWhileBusy frees a communicator while an operation on it goes on.
func TestFreeWhileBusy(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		for range 20 {
			c, err := p.World().Dup()
			require.NoError(t, err)
			sum := []int{0}
			r, err := mpi.Iallreduce(c, []int{c.Rank()}, sum, mpi.Sum)
			require.NoError(t, err)
			again, err := mpi.AllreduceInit(c, []int{c.Rank()}, sum, mpi.Sum)
			require.NoError(t, err)
			require.NoError(t, c.Free())
			assert.ErrorIs(t, again.Start(), mpi.ErrComm)
			_, err = r.Wait()
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
			var err error
			requests[i], err = p.World().Idup(&made[i])
			require.NoError(t, err)
		}
		require.NoError(t, mpi.WaitAll(requests...))
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
			third, err := w.Split(w.Rank()%3, -w.Rank())
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
			rest, err := w.Split(color, 0)
			require.NoError(t, err)
			if w.Rank() == 0 {
				assert.Nil(t, rest)
			} else {
				assert.Equal(t, w.Rank()-1, rest.Rank())
				talk(t, rest)
				require.NoError(t, rest.Free())
			}
			_, err = third.Split(-7, 0)
			assert.ErrorIs(t, err, mpi.ErrArg)
			shared, err := w.SplitType(mpi.SplitShared, 0, nil)
			require.NoError(t, err)
			talk(t, shared)
			assert.Equal(t, n, shared.Size())
			require.NoError(t, shared.Free())
			none, err := w.SplitType(mpi.SplitHardware, 0, nil)
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
		even, err := mpi.Difference(w.Group(), odd)
		require.NoError(t, err)
		mine, rank := even, w.Rank()/2
		if w.Rank()%2 == 1 {
			mine, rank = odd, (5-w.Rank())/2
		}
		c, err := w.Create(mine)
		require.NoError(t, err)
		assert.Equal(t, rank, c.Rank())
		talk(t, c)
		only, err := w.Create(odd)
		require.NoError(t, err)
		assert.Equal(t, w.Rank()%2 == 0, only == nil)
		similar, err := c.Compare(w)
		require.NoError(t, err)
		assert.Equal(t, mpi.Unequal, similar)
		if w.Rank()%2 == 1 {
			talk(t, only)
			group, err := w.CreateGroup(odd, 9)
			require.NoError(t, err)
			talk(t, group)
			result, err := group.Compare(only)
			require.NoError(t, err)
			assert.Equal(t, mpi.Congruent, result)
		}
		_, err = c.Create(w.Group())
		assert.ErrorIs(t, err, mpi.ErrGroup)
		_, err = w.Create(nil)
		assert.ErrorIs(t, err, mpi.ErrGroup)
		_, err = w.CreateGroup(mine, 1<<27)
		assert.ErrorIs(t, err, mpi.ErrTag)
		require.NoError(t, mpi.Barrier(w))
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
			parents[i], err = w.Dup()
			require.NoError(t, err)
		}
		pair, err := w.Group().Incl([]int{w.Rank() / 2 * 2, w.Rank()/2*2 + 1})
		require.NoError(t, err)
		var all sync.WaitGroup
		for k := range goroutines {
			i := (k + w.Rank()) % goroutines
			all.Go(func() {
				for range rounds {
					c, err := parents[i].Dup()
					if !assert.NoError(t, err) {
						return
					}
					half, err := c.Split(c.Rank()%2, 0)
					if !assert.NoError(t, err) {
						return
					}
					two, err := w.CreateGroup(pair, i)
					if !assert.NoError(t, err) {
						return
					}
					for _, made := range []*mpi.Comm{c, half, two} {
						sum := []int{0}
						assert.NoError(t, mpi.Allreduce(made, []int{made.Rank()}, sum, mpi.Sum))
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
			_, err := mpi.Recv(w, []int{0}, 0, 1)
			require.NoError(t, err)
		}
		var both *mpi.Comm
		r, err := w.Idup(&both)
		require.NoError(t, err)
		if w.Rank() == 0 {
			mine, err := p.Self().Dup()
			require.NoError(t, err)
			require.NoError(t, mine.Free())
			require.NoError(t, mpi.Send(w, []int{0}, 1, 1))
		}
		_, err = r.Wait()
		require.NoError(t, err)
		talk(t, both)
	})
}

// TestContextsAreReused makes more communicators one after another than there are contexts.
func TestContextsAreReused(t *testing.T) {
	if testing.Short() {
		t.Skip("soak: TestContextsRunOut reuses a context, too")
	}
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		for range 40_000 {
			c, err := p.World().Dup()
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
			if c, err = p.World().Dup(); err == nil {
				made = append(made, c)
			}
		}
		require.ErrorIs(t, err, mpi.ErrOther)
		assert.ErrorContains(t, err, "free communicators")
		assert.Greater(t, len(made), 30_000)
		for _, c := range made {
			require.NoError(t, c.Free())
		}
		c, err := p.World().Dup()
		require.NoError(t, err)
		talk(t, c)
	})
}

func TestAttributes(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		var deleted []string
		key := mpi.NewKeyval(
			func(c *mpi.Comm, _ *mpi.Keyval, value any) (any, bool, error) {
				return fmt.Sprint(value, "'"), true, nil
			},
			func(c *mpi.Comm, _ *mpi.Keyval, value any) error {
				deleted = append(deleted, value.(string))
				return nil
			})
		plain := mpi.NewKeyval(nil, nil)
		kept := mpi.NewKeyval(mpi.KeepAttr, nil)
		a, err := p.World().Dup()
		require.NoError(t, err)
		require.NoError(t, a.SetAttr(key, "x"))
		require.NoError(t, a.SetAttr(plain, 1))
		require.NoError(t, a.SetAttr(kept, 2))
		hints, err := mpi.NewInfo("a", "b")
		require.NoError(t, err)
		require.NoError(t, a.SetInfo(hints))
		b, err := a.Dup()
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
		bad := mpi.NewKeyval(func(*mpi.Comm, *mpi.Keyval, any) (any, bool, error) { return nil, false, assert.AnError }, nil)
		c, err := p.World().Dup()
		require.NoError(t, err)
		require.NoError(t, c.SetAttr(bad, 1))
		_, err = c.Dup()
		assert.ErrorIs(t, err, assert.AnError)
		talk(t, c)
	})
}
