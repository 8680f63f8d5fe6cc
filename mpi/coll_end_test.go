package mpi_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestFinalizeWhileBusy: a collective operation that the other ranks never called ends with the
// process, with an error.
func TestFinalizeWhileBusy(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		var r mpi.Request
		if w.Rank() == 0 {
			var err error
			r, err = mpi.Iallreduce(w, []int{1}, []int{0}, mpi.Sum)
			require.NoError(t, err)
		}
		_ = p.Finalize(t.Context()) // the receive may or may not be posted by then
		if w.Rank() == 0 {
			ctx, cancel := context.WithTimeout(context.Background(), wallclock.Patience)
			defer cancel()
			_, err := r.WaitContext(ctx)
			require.Error(t, err)
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
			_, err = mpi.Ibarrier(w)
			assert.ErrorIs(t, err, mpi.ErrOther)
		}
		assert.Error(t, mpi.Barrier(w))
		_, err := w.Dup()
		assert.Error(t, err)
	})
}

// A recorder is a Hook that keeps the names of calls.
type recorder struct {
	mu     sync.Mutex
	calls  []string
	roots  []int
	errors int
}

func (r *recorder) Enter(c *mpi.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.roots = append(r.calls, c.Name), append(r.roots, c.Peer)
}

func (r *recorder) Leave(_ *mpi.Call, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.errors++
	}
}

// TestHookSeesCollectives: the hook sees each call once, with the root and the error.
func TestHookSeesCollectives(t *testing.T) {
	hooks := []*recorder{{}, {}}
	each := func(rank int, o *mpi.Options) { o.Hook = hooks[rank] }
	mpitest.Run(t, 2, mpitest.Options{Each: each}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		require.NoError(t, mpi.Barrier(w))
		require.NoError(t, mpi.Bcast(w, []int{1}, 1))
		require.NoError(t, mpi.Allreduce(w, []int{1}, []int{0}, mpi.Sum))
		assert.Error(t, mpi.Bcast(w, []int{1}, 2))
		_, err := w.Dup()
		require.NoError(t, err)
	})
	for _, h := range hooks {
		require.GreaterOrEqual(t, len(h.calls), 5)
		assert.Equal(t, []string{"MPI_Barrier", "MPI_Bcast", "MPI_Allreduce", "MPI_Bcast", "MPI_Comm_dup"}, h.calls[:5])
		assert.Equal(t, []int{mpi.Undefined, 1, mpi.Undefined, 2, mpi.Undefined}, h.roots[:5])
		assert.Equal(t, 1, h.errors)
	}
}

// TestWaitInAnyOrder: ranks may wait for collective operations in different orders, although a
// waiting goroutine may run the operation itself.
func TestWaitInAnyOrder(t *testing.T) {
	const ops, rounds = 4, 50
	mpitest.Run(t, 3, mpitest.Options{Method: "via+shm"}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		out := make([]int, ops)
		start := make([]mpi.Request, ops)
		persistent := make([]int, 1)
		again, err := mpi.AllreduceInit(w, []int{1}, persistent, mpi.Sum)
		require.NoError(t, err)
		for round := range rounds {
			for i := range ops {
				var err error
				start[i], err = mpi.Iallreduce(w, []int{i + round}, out[i:i+1], mpi.Sum)
				require.NoError(t, err)
			}
			require.NoError(t, again.Start())
			if w.Rank() == 2 {
				require.NoError(t, mpi.WaitAll(append(start[:ops:ops], again)...))
			}
			for i := range ops {
				_, err := start[(i+w.Rank()*ops/2+round)%ops].Wait()
				require.NoError(t, err)
			}
			_, err := again.Wait()
			require.NoError(t, err)
			assert.Equal(t, 3, persistent[0])
			for i, x := range out {
				assert.Equal(t, 3*(i+round), x)
			}
		}
		require.NoError(t, again.Free())
	})
}
