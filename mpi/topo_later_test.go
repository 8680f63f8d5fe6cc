package mpi_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestNeighboursLater ends non-blocking and persistent operations on neighbours by every call. Their
// messages are posted when they begin, and no goroutine takes the processor from the program until
// a call needs one.
func TestNeighboursLater(t *testing.T) {
	until := func(test func() (bool, error)) error {
		for {
			if done, err := test(); done || err != nil {
				return err
			}
		}
	}
	ends := []struct {
		name      string
		goroutine bool
		end       func(ctx context.Context, r mpi.Request) error
	}{
		{"Wait", false, func(_ context.Context, r mpi.Request) error { _, err := r.Wait(bg); return err }},
		{"Wait that can be ended", true, func(ctx context.Context, r mpi.Request) error { _, err := r.Wait(ctx); return err }},
		{"WaitAll", false, func(_ context.Context, r mpi.Request) error { return mpi.WaitAll(bg, r) }},
		{"WaitAny", true, func(_ context.Context, r mpi.Request) error { _, _, err := mpi.Requests{r}.WaitAny(bg); return err }},
		{"WaitSome", true, func(_ context.Context, r mpi.Request) error {
			_, err := mpi.Requests{r}.WaitSome(bg, nil, nil)
			return err
		}},
		{"Test", true, func(_ context.Context, r mpi.Request) error {
			return until(func() (bool, error) { _, done, err := r.Test(); return done, err })
		}},
		{"Peek", true, func(_ context.Context, r mpi.Request) error {
			if err := until(func() (bool, error) { _, done, err := r.Peek(); return done, err }); err != nil {
				return err
			}
			_, err := r.Wait(bg)
			return err
		}},
		{"TestAll", true, func(_ context.Context, r mpi.Request) error {
			return until(func() (bool, error) { return mpi.Requests{r}.TestAll(nil) })
		}},
		{"TestAny", true, func(_ context.Context, r mpi.Request) error {
			return until(func() (bool, error) { _, _, done, err := mpi.Requests{r}.TestAny(); return done, err })
		}},
		{"TestSome", true, func(_ context.Context, r mpi.Request) error {
			return until(func() (bool, error) { ended, err := mpi.Requests{r}.TestSome(nil, nil); return len(ended) > 0, err })
		}},
	}
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		ring, err := p.World().CartCreate(bg, []int{3}, []bool{true}, false)
		require.NoError(t, err)
		me := ring.Rank()
		in, out := make([]int, 2), make([]int, 2)
		persistent := ring.IneighborAlltoall(mpi.Slice(in), mpi.Slice(out), mpi.Persistent)
		for round, by := range ends {
			for _, kept := range []bool{false, true} {
				in[0], in[1] = 100*round+me, -100*round-me
				r := persistent
				if kept {
					require.NoError(t, r.Start())
				} else {
					r = ring.IneighborAlltoall(mpi.Slice(in), mpi.Slice(out))
				}
				assert.False(t, mpi.Launched(r), by.name)
				require.NoError(t, by.end(ctx, r), by.name)
				assert.Equal(t, by.goroutine, mpi.Launched(r), by.name)
				assert.Equal(t, []int{-100*round - (me+2)%3, 100*round + (me+1)%3}, out, by.name)
			}
		}
		require.NoError(t, persistent.Free())
		// A request that is freed ends all the same.
		require.NoError(t, ring.IneighborAlltoall(mpi.Slice(in), mpi.Slice(make([]int, 2))).Free())
		// What is posted needs no further call: a process that waits for nothing does not keep others.
		told := ring.IneighborAllgather(mpi.Slice([]int{me}), mpi.Slice(out))
		if me == 0 {
			require.NoError(t, ring.Barrier(bg))
		}
		_, err = told.Wait(bg)
		require.NoError(t, err)
		if me != 0 {
			require.NoError(t, ring.Barrier(bg))
		}
		assert.Equal(t, []int{(me + 2) % 3, (me + 1) % 3}, out)
	})
}

// TestNeighboursAbandoned: nobody waits for a request any more. It does not keep a communicator open
// that is freed.
func TestNeighboursAbandoned(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		ring, err := p.World().CartCreate(bg, []int{3}, []bool{true}, false)
		require.NoError(t, err)
		if ring.Rank() != 2 {
			ring.IneighborAlltoall(mpi.Slice([]int{1, 2}), mpi.Slice(make([]int, 2)))
			require.Equal(t, 1, mpi.UnderWay(ring))
		}
		require.NoError(t, p.World().Barrier(bg))
		require.NoError(t, ring.Revoke())
		require.NoError(t, ring.Free())
		require.Eventually(t, func() bool { return mpi.UnderWay(ring) == 0 }, wallclock.Patience, time.Millisecond)
	})
}
