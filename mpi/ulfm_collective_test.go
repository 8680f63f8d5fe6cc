package mpi_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// ofAll are operations in which all processes of a communicator take part.
var ofAll = map[string]func(c *mpi.Comm) error{
	"barrier": func(c *mpi.Comm) error { return c.Barrier(bg) },
	"bcast":   func(c *mpi.Comm) error { return c.Bcast(bg, mpi.Slice(make([]int, 10)), 1) },
	"gather":  func(c *mpi.Comm) error { return c.Gather(bg, mpi.Slice([]int{1}), mpi.Slice(make([]int, c.Size())), 0) },
	"scatter": func(c *mpi.Comm) error {
		return c.Scatter(bg, mpi.Slice(make([]int, c.Size())), mpi.Slice([]int{0}), 0)
	},
	"allgather": func(c *mpi.Comm) error { return c.Allgather(bg, mpi.Slice([]int{1}), mpi.Slice(make([]int, c.Size()))) },
	"alltoall": func(c *mpi.Comm) error {
		return c.Alltoall(bg, mpi.Slice(make([]int, c.Size())), mpi.Slice(make([]int, c.Size())))
	},
	"reduce":    func(c *mpi.Comm) error { return c.Reduce(bg, mpi.Slice([]int{1}), mpi.Slice([]int{0}), mpi.Sum, 0) },
	"allreduce": func(c *mpi.Comm) error { return c.Allreduce(bg, mpi.Slice([]int{1}), mpi.Slice([]int{0}), mpi.Sum) },
	"large": func(c *mpi.Comm) error {
		return c.Allreduce(bg, mpi.Slice(make([]int, 1<<15)), mpi.Slice(make([]int, 1<<15)), mpi.Sum)
	},
	"scan": func(c *mpi.Comm) error { return c.Scan(bg, mpi.Slice([]int{1}), mpi.Slice([]int{0}), mpi.Sum) },
	"two at once": func(c *mpi.Comm) error {
		one := c.Iallreduce(mpi.Slice([]int{1}), mpi.Slice([]int{0}), mpi.Sum)
		two := c.Ibarrier()
		statuses := make([]mpi.Status, 2)
		_ = mpi.Requests{one, two}.WaitAll(bg, statuses)
		if err := statuses[0].Err; err != nil {
			return err
		}
		return statuses[1].Err
	},
	"dup": func(c *mpi.Comm) error {
		d, err := c.Dup(bg)
		if err != nil {
			return err
		}
		return d.Free()
	},
}

// TestCollectivesEndInAll: when a process dies, common operations end in all others with its
// failure, although the communicator is not revoked: also in those that wait for a process that has
// given up. Other communicators are not affected, and messages between live processes still arrive.
func TestCollectivesEndInAll(t *testing.T) {
	mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		o.Leave = true
		for name, do := range ofAll {
			if testing.Short() && o.Method != mpitest.Memory && !slices.Contains([]string{"large", "two at once", "dup"}, name) {
				continue // reports of a method do not depend on the operation
			}
			for victim := range 3 {
				if testing.Short() && victim != 1 && (o.Method != mpitest.Memory || name != "large") {
					continue
				}
				t.Run(fmt.Sprintf("%s/victim=%d", name, victim), func(t *testing.T) {
					mpitest.Run(t, 7, o, func(t *testing.T, p *mpi.Process) { endInAll(t, p, do, 2*victim+1, victim*4) })
				})
			}
		}
	})
}

func endInAll(t *testing.T, p *mpi.Process, do func(*mpi.Comm) error, victim, after int) {
	w := p.World()
	half, err := w.Split(bg, map[bool]int{true: mpi.Undefined}[w.Rank() == victim], 0)
	require.NoError(t, err)
	if w.Rank() != victim { // all have split before it dies
		require.NoError(t, w.Send(bg, mpi.Slice([]int{0}), victim, 1))
	} else {
		for range w.Size() - 1 {
			_, err := w.Recv(bg, mpi.Slice([]int{0}), mpi.AnySource, 1)
			require.NoError(t, err)
		}
	}
	for i := 0; err == nil; i++ {
		if i == after && w.Rank() == victim {
			dies(p)
			return
		}
		err = do(w)
		if i < 10 { // some are late
			time.Sleep(time.Duration(w.Rank()) * 100 * time.Microsecond)
		}
	}
	require.ErrorIs(t, err, mpi.ErrProcFailed)
	for range 3 {
		require.ErrorIs(t, w.Barrier(bg), mpi.ErrProcFailed)
	}
	assert.False(t, w.Revoked())
	talk(t, half)
	right, left := (half.Rank()+1)%half.Size(), (half.Rank()+half.Size()-1)%half.Size()
	rank := func(r int) int { // in the world
		if r >= victim {
			r++
		}
		return r
	}
	_, err = w.Sendrecv(bg, mpi.Slice([]int{1}), rank(right), 5, mpi.Slice([]int{0}), rank(left), 5)
	require.NoError(t, err)
	made, err := w.CreateGroup(bg, half.Group(), 3)
	require.NoError(t, err)
	talk(t, made)
	again, err := w.Shrink(bg)
	require.NoError(t, err)
	assert.Equal(t, w.Size()-1, again.Size())
	talk(t, again)
	require.NoError(t, p.Finalize(t.Context()))
}

// TestCollectivesOfTwoGroupsEndInAll is the same for an inter-communicator, whose operations wait
// for processes of both groups.
func TestCollectivesOfTwoGroupsEndInAll(t *testing.T) {
	mpitest.Over(t, []string{"mem", "tcp"}, func(t *testing.T, o mpitest.Options) {
		o.Leave = true
		for _, victim := range []int{1, 3, 6} {
			mpitest.Run(t, 8, o, func(t *testing.T, p *mpi.Process) {
				w := p.World()
				half, err := w.Split(bg, w.Rank()/4, 0)
				require.NoError(t, err)
				inter, err := half.IntercommCreate(bg, 0, w, 4-w.Rank()/4*4, 1)
				require.NoError(t, err)
				for i := 0; err == nil; i++ {
					if i == 5 && w.Rank() == victim {
						dies(p)
						return
					}
					err = inter.Allreduce(bg, mpi.Slice([]int{1}), mpi.Slice([]int{0}), mpi.Sum)
				}
				require.ErrorIs(t, err, mpi.ErrProcFailed)
				require.ErrorIs(t, inter.Barrier(bg), mpi.ErrProcFailed)
				require.NoError(t, p.Finalize(t.Context()))
			})
		}
	})
}
