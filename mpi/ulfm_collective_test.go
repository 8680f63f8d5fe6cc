package mpi_test

import (
	"context"
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
	"barrier":   mpi.Barrier,
	"bcast":     func(c *mpi.Comm) error { return mpi.Bcast(c, make([]int, 10), 1) },
	"gather":    func(c *mpi.Comm) error { return mpi.Gather(c, []int{1}, make([]int, c.Size()), 0) },
	"scatter":   func(c *mpi.Comm) error { return mpi.Scatter(c, make([]int, c.Size()), []int{0}, 0) },
	"allgather": func(c *mpi.Comm) error { return mpi.Allgather(c, []int{1}, make([]int, c.Size())) },
	"alltoall":  func(c *mpi.Comm) error { return mpi.Alltoall(c, make([]int, c.Size()), make([]int, c.Size())) },
	"reduce":    func(c *mpi.Comm) error { return mpi.Reduce(c, []int{1}, []int{0}, mpi.Sum, 0) },
	"allreduce": func(c *mpi.Comm) error { return mpi.Allreduce(c, []int{1}, []int{0}, mpi.Sum) },
	"large": func(c *mpi.Comm) error {
		return mpi.Allreduce(c, make([]int, 1<<15), make([]int, 1<<15), mpi.Sum)
	},
	"scan": func(c *mpi.Comm) error { return mpi.Scan(c, []int{1}, []int{0}, mpi.Sum) },
	"two at once": func(c *mpi.Comm) error {
		one, err := mpi.Iallreduce(c, []int{1}, []int{0}, mpi.Sum)
		if err != nil {
			return err
		}
		two, err := mpi.Ibarrier(c)
		if err != nil {
			_, _ = one.Wait()
			return err
		}
		errs := make([]error, 2)
		_ = mpi.WaitAllContext(context.Background(), []mpi.Request{one, two}, nil, errs)
		if errs[0] != nil {
			return errs[0]
		}
		return errs[1]
	},
	"dup": func(c *mpi.Comm) error {
		d, err := c.Dup()
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
				continue // what a method reports does not depend on the operation
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
	half, err := w.Split(map[bool]int{true: mpi.Undefined}[w.Rank() == victim], 0)
	require.NoError(t, err)
	if w.Rank() != victim { // all have split before it dies
		require.NoError(t, mpi.Send(w, []int{0}, victim, 1))
	} else {
		for range w.Size() - 1 {
			_, err := mpi.Recv(w, []int{0}, mpi.AnySource, 1)
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
		require.ErrorIs(t, mpi.Barrier(w), mpi.ErrProcFailed)
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
	_, err = mpi.Sendrecv(w, []int{1}, rank(right), 5, []int{0}, rank(left), 5)
	require.NoError(t, err)
	made, err := w.CreateGroup(half.Group(), 3)
	require.NoError(t, err)
	talk(t, made)
	again, err := w.Shrink()
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
				half, err := w.Split(w.Rank()/4, 0)
				require.NoError(t, err)
				inter, err := half.IntercommCreate(0, w, 4-w.Rank()/4*4, 1)
				require.NoError(t, err)
				for i := 0; err == nil; i++ {
					if i == 5 && w.Rank() == victim {
						dies(p)
						return
					}
					err = mpi.Allreduce(inter, []int{1}, []int{0}, mpi.Sum)
				}
				require.ErrorIs(t, err, mpi.ErrProcFailed)
				require.ErrorIs(t, mpi.Barrier(inter), mpi.ErrProcFailed)
				require.NoError(t, p.Finalize(t.Context()))
			})
		}
	})
}
