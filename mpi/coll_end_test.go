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
			r = w.Iallreduce(mpi.Slice([]int{1}), mpi.Slice([]int{0}), mpi.Sum)
		}
		_ = p.Finalize(t.Context()) // the receive may or may not be posted by then
		if w.Rank() == 0 {
			ctx, cancel := context.WithTimeout(context.Background(), wallclock.Patience)
			defer cancel()
			_, err := r.Wait(ctx)
			require.Error(t, err)
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
			_, err = w.Ibarrier().Wait(bg)
			assert.ErrorIs(t, err, mpi.ErrOther)
		}
		assert.Error(t, w.Barrier(bg))
		_, err := w.Dup(bg)
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
		require.NoError(t, w.Barrier(bg))
		require.NoError(t, w.Bcast(bg, mpi.Slice([]int{1}), 1))
		require.NoError(t, w.Allreduce(bg, mpi.Slice([]int{1}), mpi.Slice([]int{0}), mpi.Sum))
		assert.Error(t, w.Bcast(bg, mpi.Slice([]int{1}), 2))
		_, err := w.Dup(bg)
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
		again := w.Iallreduce(mpi.Slice([]int{1}), mpi.Slice(persistent), mpi.Sum, mpi.Persistent)
		for round := range rounds {
			for i := range ops {
				start[i] = w.Iallreduce(mpi.Slice([]int{i + round}), mpi.Slice(out[i:i+1]), mpi.Sum)
			}
			require.NoError(t, again.Start())
			if w.Rank() == 2 {
				require.NoError(t, mpi.WaitAll(bg, append(start[:ops:ops], again)...))
			}
			for i := range ops {
				_, err := start[(i+w.Rank()*ops/2+round)%ops].Wait(bg)
				require.NoError(t, err)
			}
			_, err := again.Wait(bg)
			require.NoError(t, err)
			assert.Equal(t, 3, persistent[0])
			for i, x := range out {
				assert.Equal(t, 3*(i+round), x)
			}
		}
		require.NoError(t, again.Free())
	})
}

// TestContextEndsCollective: if a context ends in an operation of all processes, its caller gets
// the context's error, and all others get ErrRevoked, then or in their next one.
func TestContextEndsCollective(t *testing.T) {
	calls := map[string]func(ctx context.Context, c *mpi.Comm) error{
		"Barrier": func(ctx context.Context, c *mpi.Comm) error { return c.Barrier(ctx) },
		"Allreduce": func(ctx context.Context, c *mpi.Comm) error {
			return c.Allreduce(ctx, mpi.Slice([]int{1}), mpi.Slice([]int{0}), mpi.Sum)
		},
		"Alltoall": func(ctx context.Context, c *mpi.Comm) error {
			return c.Alltoall(ctx, mpi.Slice([]int{1, 2, 3}), mpi.Slice([]int{0, 0, 0}))
		},
		"Dup":   func(ctx context.Context, c *mpi.Comm) error { _, err := c.Dup(ctx); return err },
		"Split": func(ctx context.Context, c *mpi.Comm) error { _, err := c.Split(ctx, 0, 0); return err },
		"CreateGroup": func(ctx context.Context, c *mpi.Comm) error {
			_, err := c.CreateGroup(ctx, c.Group(), 1)
			return err
		},
		"CartCreate": func(ctx context.Context, c *mpi.Comm) error {
			_, err := c.CartCreate(ctx, []int{3}, []bool{true}, false)
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
				gone := make(chan struct{})
				mpitest.Run(t, 3, o, func(t *testing.T, p *mpi.Process) {
					w := p.World()
					c, err := w.Dup(bg)
					require.NoError(t, err)
					handled := 0
					require.NoError(t, c.SetErrorHandler(func(*mpi.Comm, error) { handled++ }))
					require.NoError(t, w.Barrier(bg))
					switch w.Rank() {
					case 0: // comes too late
						<-gone
					case 1:
						ctx, cancel := context.WithCancel(t.Context())
						go cancel()
						err := call(ctx, c)
						require.ErrorIs(t, err, context.Canceled)
						require.NotErrorIs(t, err, mpi.ErrRevoked)
						close(gone)
					}
					err = call(bg, c)
					if err == nil { // all that it needs was there, but only once
						err = call(bg, c)
					}
					require.ErrorIs(t, err, mpi.ErrRevoked)
					assert.Equal(t, 1, handled, "the end of a context is no error of the communicator")
					assert.True(t, c.Revoked())
					rest, err := c.Shrink(t.Context())
					require.NoError(t, err)
					talk(t, rest)
					talk(t, w)
				})
			})
		})
	}
}

// TestContextThatDoesNotEnd: programs of collective operations with a context that may end.
func TestContextThatDoesNotEnd(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			c, err := p.World().Dup(ctx)
			require.NoError(t, err)
			sum := 0
			require.NoError(t, c.Allreduce(ctx, mpi.Slice([]int{c.Rank()}), mpi.Value(&sum), mpi.Sum))
			assert.Equal(t, 3, sum)
			cancel()
			assert.False(t, c.Revoked())
			talk(t, c)
			require.NoError(t, c.Free())
		}
	})
}

// TestHookNamesCollectives: each form of an operation has the standard's name.
func TestHookNamesCollectives(t *testing.T) {
	h := &recorder{}
	each := func(_ int, o *mpi.Options) { o.Hook = h }
	mpitest.Run(t, 1, mpitest.Options{Each: each}, func(t *testing.T, p *mpi.Process) {
		grid, err := p.World().CartCreate(bg, []int{1}, []bool{true}, false)
		require.NoError(t, err)
		in, out, two := mpi.Value(new(int)), mpi.Value(new(int)), mpi.Slice([]int{1, 2})
		for _, c := range []struct {
			name  string
			now   func(c *mpi.Comm) error
			begin func(c *mpi.Comm, how ...mpi.Mode) mpi.Request
		}{
			{"barrier", func(c *mpi.Comm) error { return c.Barrier(bg) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Ibarrier(how...) }},
			{"bcast", func(c *mpi.Comm) error { return c.Bcast(bg, in, 0) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Ibcast(in, 0, how...) }},
			{"gather", func(c *mpi.Comm) error { return c.Gather(bg, in, out, 0) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Igather(in, out, 0, how...) }},
			{"gatherv", func(c *mpi.Comm) error { return c.Gatherv(bg, in, out, 0) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Igatherv(in, out, 0, how...) }},
			{"scatter", func(c *mpi.Comm) error { return c.Scatter(bg, in, out, 0) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Iscatter(in, out, 0, how...) }},
			{"scatterv", func(c *mpi.Comm) error { return c.Scatterv(bg, in, out, 0) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Iscatterv(in, out, 0, how...) }},
			{"allgather", func(c *mpi.Comm) error { return c.Allgather(bg, in, out) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Iallgather(in, out, how...) }},
			{"alltoall", func(c *mpi.Comm) error { return c.Alltoall(bg, in, out) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Ialltoall(in, out, how...) }},
			{"reduce", func(c *mpi.Comm) error { return c.Reduce(bg, in, out, mpi.Sum, 0) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Ireduce(in, out, mpi.Sum, 0, how...) }},
			{"allreduce", func(c *mpi.Comm) error { return c.Allreduce(bg, in, out, mpi.Sum) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Iallreduce(in, out, mpi.Sum, how...) }},
			{"reduce_scatter", func(c *mpi.Comm) error { return c.ReduceScatter(bg, in, out, mpi.Sum) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.IreduceScatter(in, out, mpi.Sum, how...) }},
			{"scan", func(c *mpi.Comm) error { return c.Scan(bg, in, out, mpi.Sum) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Iscan(in, out, mpi.Sum, how...) }},
			{"exscan", func(c *mpi.Comm) error { return c.Exscan(bg, in, out, mpi.Sum) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.Iexscan(in, out, mpi.Sum, how...) }},
			{"neighbor_allgather", func(c *mpi.Comm) error { return c.NeighborAllgather(bg, in, two) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request { return c.IneighborAllgather(in, two, how...) }},
			{"neighbor_alltoall", func(c *mpi.Comm) error { return c.NeighborAlltoall(bg, two, mpi.Slice([]int{0, 0})) },
				func(c *mpi.Comm, how ...mpi.Mode) mpi.Request {
					return c.IneighborAlltoall(two, mpi.Slice([]int{0, 0}), how...)
				}},
		} {
			h.calls = nil
			require.NoError(t, c.now(grid), c.name)
			_, err := c.begin(grid).Wait(bg)
			require.NoError(t, err, c.name)
			r := c.begin(grid, mpi.Persistent)
			require.NoError(t, r.Start(), c.name)
			_, err = r.Wait(bg)
			require.NoError(t, err, c.name)
			require.NoError(t, r.Free())
			want := []string{capital(c.name), "MPI_I" + c.name, "MPI_Wait", capital(c.name + "_init"), "MPI_Start", "MPI_Wait", "MPI_Request_free"}
			assert.Equal(t, want, h.calls)
		}
		h.calls = nil
		_, r := grid.Idup()
		require.NoError(t, mpi.WaitAll(bg, r))
		assert.Equal(t, []string{"MPI_Comm_idup", "MPI_Waitall"}, h.calls)
	})
}

// TestNothingIsMadeAfterTheEnd: a communicator that was made although the context had ended is not
// returned, and does not keep its contexts.
func TestNothingIsMadeAfterTheEnd(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		ended, cancel := context.WithCancel(bg)
		cancel()
		w := p.World()
		for range 3 {
			for name, do := range map[string]func() (*mpi.Comm, error){
				"Dup":        func() (*mpi.Comm, error) { return w.Dup(ended) },
				"Split":      func() (*mpi.Comm, error) { return w.Split(ended, 0, 0) },
				"CartCreate": func() (*mpi.Comm, error) { return w.CartCreate(ended, []int{1}, []bool{true}, false) },
			} {
				made, err := do()
				require.Error(t, err, name)
				require.Nil(t, made, name)
			}
		}
	})
}
