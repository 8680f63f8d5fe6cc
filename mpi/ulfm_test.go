package mpi_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/group"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// dies ends a rank like a process that is killed.
func dies(p *mpi.Process) { mpitest.Kill(p) }

// TestAgree combines flags without failures.
func TestAgree(t *testing.T) {
	for _, n := range []int{1, 2, 3, 9} {
		mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			if w.Rank() == 1 {
				_, err := w.Agree(ended(), 0)
				require.ErrorIs(t, err, context.DeadlineExceeded, "this process does not take part")
				_, err = w.Shrink(ended())
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			for i := range 20 {
				flag, err := w.Agree(bg, ^(uint64(1) << ((w.Rank() + i) % 10)))
				require.NoError(t, err)
				want := ^uint64(0)
				for r := range n {
					want &^= 1 << ((r + i) % 10)
				}
				require.Equal(t, want, flag)
			}
		})
	}
}

// TestRevoke: when one process revokes the communicator, operations that would wait for ever end in
// all processes. Other communicators are not affected.
func TestRevoke(t *testing.T) {
	mpitest.Run(t, 4, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		c, err := w.Dup(bg)
		require.NoError(t, err)
		if w.Rank() == 3 {
			require.NoError(t, c.Revoke())
		} else {
			_, err := c.Recv(bg, mpi.Slice([]int{0}), mpi.AnySource, 1)
			require.ErrorIs(t, err, mpi.ErrRevoked)
		}
		assert.ErrorIs(t, c.Barrier(bg), mpi.ErrRevoked)
		assert.True(t, c.Revoked())
		assert.False(t, w.Revoked())
		flag, err := c.Agree(bg, 7)
		require.NoError(t, err)
		assert.Equal(t, uint64(7), flag)
		again, err := c.Shrink(bg)
		require.NoError(t, err)
		talk(t, again)
		require.NoError(t, c.Free())
		talk(t, w)
	})
}

// TestSurvive: processes die one after another during allreduces, and the others go on without
// them.
func TestSurvive(t *testing.T) {
	mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		o.Leave = true
		for seed := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, 8))
			const n = 6
			order, rounds := rng.Perm(n), [3]int{}
			for i := range rounds {
				rounds[i] = rng.IntN(30)
			}
			mpitest.Run(t, n, o, func(t *testing.T, p *mpi.Process) { survive(t, p, order, rounds[:], seed) })
		}
	})
}

// survive is the program of one process: the first ones in order die, each after its number of
// rounds.
func survive(t *testing.T, p *mpi.Process, order, rounds []int, seed uint64) {
	c, me := p.World(), p.World().Rank()
	for death, round := range rounds {
		var err error
		for i := 0; err == nil; i++ {
			if i == round && me == order[death] {
				dies(p)
				return
			}
			sum := []int{0}
			err = c.Allreduce(bg, mpi.Slice([]int{1}), mpi.Slice(sum), mpi.Sum)
			if err == nil {
				require.Equal(t, len(order)-death, sum[0], "seed %d", seed)
			}
		}
		require.True(t, errclass.Of(err) == mpi.ErrProcFailed || errclass.Of(err) == mpi.ErrRevoked, "seed %d: %v", seed, err)
		require.NoError(t, c.Revoke())
		c, err = c.Shrink(bg)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, len(order)-death-1, c.Size(), "seed %d", seed)
		talk(t, c)
		flag, err := c.Agree(bg, uint64(1+me&1<<1))
		require.NoError(t, err)
		require.Equal(t, uint64(1), flag&1)
	}
	assert.NoError(t, p.Finalize(t.Context()))
}

// TestAcknowledge: a receive from any source ends when a process fails, until that is acknowledged;
// Agree reports the failure to all processes.
func TestAcknowledge(t *testing.T) {
	var past sync.WaitGroup // the barrier, so that none of its messages is lost with its sender
	past.Add(4)
	mpitest.Run(t, 4, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		talk(t, w) // connects every process with every other
		require.NoError(t, w.Barrier(bg))
		past.Done()
		if w.Rank() == 2 {
			past.Wait()
			dies(p)
			return
		}
		_, err := w.Recv(bg, mpi.Slice([]int{0}), 2, 1)
		require.ErrorIs(t, err, mpi.ErrProcFailed)
		_, err = w.Recv(bg, mpi.Slice([]int{0}), mpi.AnySource, 1)
		require.ErrorIs(t, err, mpi.ErrProcFailedPending)
		failed, err := w.Failed()
		require.NoError(t, err)
		two, err := w.Group().Incl([]int{2})
		require.NoError(t, err)
		same, err := group.Compare(two, failed)
		require.NoError(t, err)
		assert.Equal(t, mpi.Ident, same)
		if w.Rank() == 0 {
			require.NoError(t, w.AckFailed())
		}
		flag, err := w.Agree(bg, 3)
		assert.ErrorIs(t, err, mpi.ErrProcFailed, "not every process has acknowledged it")
		assert.Equal(t, uint64(3), flag)
		require.NoError(t, w.AckFailed())
		acked, err := w.Acked()
		require.NoError(t, err)
		same, err = group.Compare(two, acked)
		require.NoError(t, err)
		assert.Equal(t, mpi.Ident, same)
		_, err = w.Agree(bg, 1)
		assert.NoError(t, err)
		next := map[int]int{0: 1, 1: 3, 3: 0}[w.Rank()]
		r := w.Isend(mpi.Slice([]int{w.Rank()}), next, 1)
		got := []int{-1}
		_, err = w.Recv(bg, mpi.Slice(got), mpi.AnySource, 1)
		require.NoError(t, err)
		assert.Equal(t, map[int]int{1: 0, 3: 1, 0: 3}[w.Rank()], got[0])
		_, err = r.Wait(bg)
		require.NoError(t, err)
		assert.NoError(t, p.Finalize(t.Context()))
	})
}

// TestDieWhileShrinking: one process dies, and two more while the others shrink and agree. Those
// that remain get the same communicator, of themselves.
func TestDieWhileShrinking(t *testing.T) {
	const n = 7
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	mpitest.Over(t, []string{"mem", "via+shm"}, func(t *testing.T, o mpitest.Options) {
		o.Leave = true
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 9))
			order, spins := rng.Perm(n), [...]int{0, rng.IntN(1000), rng.IntN(10_000)}
			mpitest.Run(t, n, o, func(t *testing.T, p *mpi.Process) {
				c := p.World()
				dying := slices.Index(order, c.Rank())
				if dying >= len(spins) {
					rest, err := together(c, n-len(spins))
					require.NoError(t, err, "seed %d", seed)
					talk(t, rest)
					assert.NoError(t, p.Finalize(t.Context()))
					return
				}
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if dying > 0 {
						_, _ = together(c, n-len(spins))
					}
				}()
				// On one processor, a turn may take as long as many shrinks, and the other
				// processes make only a limited number.
				began := time.Now()
				for i := 0; i < spins[dying] && time.Since(began) < spinTimeMax; i++ {
					runtime.Gosched()
				}
				dies(p)
				<-ended
			})
		}
	})
}

// spinTimeMax is how long a process waits for its turn to die.
const spinTimeMax = 50 * time.Millisecond

// together shrinks a communicator until it has n processes, which agree on that. It tries for as
// long as it may take to notice that a process is dead.
func together(c *mpi.Comm, n int) (*mpi.Comm, error) {
	for range 1000 {
		rest, err := c.Shrink(bg)
		if err != nil {
			return nil, err
		}
		flag := uint64(0)
		if rest.Size() == n {
			flag = 1
		}
		if flag, err = rest.Agree(bg, flag); err == nil && flag == 1 {
			return rest, nil
		}
		if err != nil && errclass.Of(err) != mpi.ErrProcFailed {
			return nil, err
		}
		c = rest
	}
	return nil, errors.New("there are still processes that died")
}

// TestRevokeOfTwoGroups: revoking an inter-communicator also wakes the processes of the other
// group, which may be waiting for each other.
func TestRevokeOfTwoGroups(t *testing.T) {
	mpitest.Over(t, []string{"mem", "tcp"}, func(t *testing.T, o mpitest.Options) {
		for absent := range 2 {
			mpitest.Run(t, 4, o, func(t *testing.T, p *mpi.Process) {
				w := p.World()
				half, err := w.Split(bg, w.Rank()/2, 0)
				require.NoError(t, err)
				inter, err := half.IntercommCreate(bg, 0, w, 2-w.Rank()/2*2, 1)
				require.NoError(t, err)
				if w.Rank() == 0 {
					require.NoError(t, inter.Revoke())
				}
				if w.Rank() == 2+1-absent {
					err := inter.Allreduce(bg, mpi.Slice([]int{1}), mpi.Slice([]int{0}), mpi.Sum)
					assert.ErrorIs(t, err, mpi.ErrRevoked)
				}
				require.NoError(t, w.Barrier(bg))
				assert.ErrorIs(t, inter.Barrier(bg), mpi.ErrRevoked)
				require.NoError(t, half.Barrier(bg))
				require.NoError(t, inter.Free())
			})
		}
	})
}
