package rma_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// TestStartCompletePostWait: a ring of ranks exposes and accesses in turn, some by Test.
func TestStartCompletePostWait(t *testing.T) {
	over(t, 4, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, mine := allocated(t, c, 1)
		left, right := (c.Rank()+3)%4, (c.Rank()+1)%4
		toRight, err := w.Group().Incl([]int{right})
		require.NoError(t, err)
		fromLeft, err := w.Group().Incl([]int{left})
		require.NoError(t, err)
		for i := range int64(20) {
			require.NoError(t, w.Post(fromLeft))
			require.NoError(t, w.Start(bg, toRight))
			x := i*10 + int64(c.Rank())
			w.Put(mpi.Value(&x), rma.At(right, 0))
			require.ErrorIs(t, waited(w.Put(mpi.Value(&x), rma.At(left, 0))), mpi.ErrRMASync, "not in the group")
			require.ErrorIs(t, w.Complete(bg), mpi.ErrRMASync, "the same error, and the epoch ends")
			if i%2 == 0 {
				require.NoError(t, w.Wait(bg))
			} else {
				for done := false; !done; {
					done, err = w.Test()
					require.NoError(t, err)
				}
			}
			assert.EqualValues(t, i*10+int64(left), mine[0])
		}
		require.NoError(t, w.Free(bg))
	})
}

// TestExclusive: ranks change two numbers under an exclusive lock; none sees the two differ.
func TestExclusive(t *testing.T) {
	over(t, 4, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, _ := allocated(t, c, 2)
		const rounds = 30
		for range rounds {
			require.NoError(t, w.Lock(bg, rma.LockExclusive, 0))
			var xs [2]int64
			w.Get(mpi.Slice(xs[:]), rma.At(0, 0))
			require.NoError(t, w.Flush(bg, 0))
			require.Equal(t, xs[0], xs[1])
			xs[0]++
			w.Put(mpi.Value(&xs[0]), rma.At(0, 0))
			require.NoError(t, w.Flush(bg, 0))
			w.Put(mpi.Value(&xs[0]), rma.At(0, 1))
			require.NoError(t, w.Unlock(bg, 0))
		}
		require.NoError(t, c.Barrier(bg))
		require.NoError(t, w.Lock(bg, rma.LockShared, 0))
		var x int64
		w.Get(mpi.Value(&x), rma.At(0, 1))
		require.NoError(t, w.Unlock(bg, 0))
		assert.EqualValues(t, rounds*4, x)
		require.NoError(t, w.Free(bg))
	})
}

// TestAContextEndsALock: a rank stops waiting for a lock when its context ends. Later it can get the
// lock.
func TestAContextEndsALock(t *testing.T) {
	over(t, 2, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, _ := allocated(t, c, 1)
		if c.Rank() == 0 {
			require.NoError(t, w.Lock(bg, rma.LockExclusive, 1))
			require.NoError(t, c.Barrier(bg))
			require.NoError(t, c.Barrier(bg))
			require.NoError(t, w.Unlock(bg, 1))
		} else {
			require.NoError(t, c.Barrier(bg))
			ctx, cancel := context.WithCancel(bg)
			cancel()
			require.ErrorIs(t, w.Lock(ctx, rma.LockShared, 1), context.Canceled)
			require.ErrorIs(t, w.LockAll(ctx), context.Canceled)
			require.NoError(t, c.Barrier(bg))
			require.NoError(t, w.Lock(bg, rma.LockExclusive, 1))
			require.NoError(t, w.Unlock(bg, 1))
		}
		require.NoError(t, c.Barrier(bg))
		require.NoError(t, w.LockAll(bg))
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, w.Free(bg))
	})
}

// TestTheTargetTakesNoPart: operations are complete while the target does something else: many small
// ones, long ones, and many pieces.
func TestTheTargetTakesNoPart(t *testing.T) {
	const n = 1 << 17
	over(t, 2, func(t *testing.T, p *mpi.Process) {
		w, mine := allocated(t, p.World(), n)
		takesNoPart(t, p.World(), w, mine)
		mine = make([]int64, n)
		w, err := rma.Create(bg, p.World(), mpi.Slice(mine), 0, nil)
		require.NoError(t, err)
		takesNoPart(t, p.World(), w, mine)
	})
}

// takesNoPart is TestTheTargetTakesNoPart for one window. mine is this rank's part of it.
func takesNoPart(t *testing.T, c *mpi.Comm, w *rma.Win, mine []int64) {
	n := len(mine)
	if c.Rank() == 0 {
		x := int64(5)
		require.NoError(t, w.Lock(bg, rma.LockExclusive, 1))
		for range 3000 {
			w.Put(mpi.Value(&x), rma.At(1, 0))
		}
		xs := make([]int64, n-1)
		for i := range xs {
			xs[i] = int64(i)
		}
		w.Put(mpi.Slice(xs), rma.At(1, 1))
		require.NoError(t, w.Flush(bg, 1))
		w.Accumulate(mpi.Slice(xs), rma.At(1, 1), mpi.Sum)
		require.NoError(t, w.Flush(bg, 1))
		w.Get(mpi.Slice(xs), rma.At(1, 1))
		require.NoError(t, w.Unlock(bg, 1))
		require.EqualValues(t, 2*(n-2), xs[n-2])
		done <- struct{}{}
	} else {
		<-done // not in a call of the library
		require.NoError(t, w.Sync())
		assert.EqualValues(t, 5, mine[0])
		assert.EqualValues(t, 2*(n-2), mine[n-1])
	}
	require.NoError(t, w.Free(bg))
}

// done tells a rank of the same test process that another is done.
var done = make(chan struct{})

// TestFlushLocal: the memory of an operation is free before the target has executed it; a result is not.
func TestFlushLocal(t *testing.T) {
	held, flushed := make(chan func(), 1), make(chan struct{}) // between the ranks
	place{"", "tcp", 64}.run(t, 2, func(t *testing.T, p *mpi.Process) {
		c := p.World()
		w, err := rma.CreateDynamic(bg, c, nil)
		require.NoError(t, err)
		mine, at := make([]int64, 10_000), 0
		if c.Rank() == 1 {
			at, err = w.Attach(mpi.Slice(mine))
			require.NoError(t, err)
		}
		require.NoError(t, c.Bcast(bg, mpi.Value(&at), 1))
		require.NoError(t, w.LockAll(bg))
		if c.Rank() == 1 {
			resume := rma.HoldServer(w)
			held <- resume
			<-flushed
		} else {
			resume := <-held
			x, ys := int64(7), make([]int64, 3000) // several calls
			ys[2999] = 8
			w.Put(mpi.Value(&x), rma.At(1, at))
			w.Accumulate(mpi.Slice(ys), rma.At(1, at+8), mpi.Sum)
			require.NoError(t, w.FlushLocal(bg, 1))
			pending, using := rma.Pending(w, 1)
			require.Positive(t, pending)
			require.Zero(t, using)
			x = -1
			clear(ys)
			got := int64(0)
			w.Get(mpi.Value(&got), rma.At(1, at))
			_, using = rma.Pending(w, 1)
			require.Equal(t, 1, using)
			resume()
			close(flushed)
			require.NoError(t, w.FlushLocalAll(bg))
			require.EqualValues(t, 7, got)
			require.NoError(t, w.Flush(bg, 1))
		}
		require.NoError(t, c.Barrier(bg))
		require.NoError(t, w.Sync())
		if c.Rank() == 1 {
			require.EqualValues(t, 7, mine[0])
			require.EqualValues(t, 8, mine[3000])
		}
		require.NoError(t, w.UnlockAll(bg))
		require.NoError(t, w.Free(bg))
	})
}
