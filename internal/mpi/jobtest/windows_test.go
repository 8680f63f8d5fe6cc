package jobtest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// syncVariable says during which synchronisation rank 0 is killed; "" is none.
const syncVariable = "JOBTEST_SYNC"

// TestWindows: processes count in windows, and when one is killed in a synchronisation, the others
// get an error from it, or go on.
func TestWindows(t *testing.T) {
	for _, method := range deadly() {
		t.Run("over="+method, func(t *testing.T) {
			newJob(t, 4, "windows", method).run()
			for sync := range syncs {
				t.Run("killed in="+sync, func(t *testing.T) {
					newJob(t, 4, "windows", method, "-keep-going").env(syncVariable, sync).start().survived(killedCode)
				})
			}
		})
	}
}

// A windowSync has the calls of rank 0 before it is killed, and the calls of the others afterwards.
type windowSync struct {
	before func(w *rma.Win) error
	after  func(w *rma.Win) error
	// mapped: the others succeed if they map rank 0's memory.
	mapped bool
}

func lockOne(w *rma.Win) error { return w.Lock(bg, rma.LockExclusive, 1) }

var syncs = map[string]windowSync{
	"fence":       {after: func(w *rma.Win) error { return w.Fence(bg) }},
	"free":        {after: func(w *rma.Win) error { return w.Free(bg) }},
	"start":       {after: func(w *rma.Win) error { return w.Start(bg, rankZero(w)) }},
	"wait":        {after: exposeAndWait},
	"lock":        {before: lockOne, after: lockOne},
	"shared lock": {before: lockOne, after: func(w *rma.Win) error { return w.Lock(bg, rma.LockShared, 1) }},
	"lock all":    {before: lockOne, after: func(w *rma.Win) error { return w.LockAll(bg) }},
	"flush": {mapped: true, after: func(w *rma.Win) error {
		if err := w.Lock(bg, rma.LockShared, 0, rma.NoCheck); err != nil {
			return err
		}
		w.Put(mpi.Value(new(int)), rma.At(0, 0))
		return w.Flush(bg, 0)
	}},
	"unlock": {mapped: true, after: func(w *rma.Win) error {
		if err := w.Lock(bg, rma.LockShared, 0, rma.NoCheck); err != nil {
			return err
		}
		w.Get(mpi.Slice(make([]int, 10_000)), rma.At(0, 0))
		return w.Unlock(bg, 0)
	}},
}

func exposeAndWait(w *rma.Win) error {
	if err := w.Post(rankZero(w)); err != nil {
		return err
	}
	return w.Wait(bg)
}

func rankZero(w *rma.Win) *mpi.Group {
	g, err := w.Group().Incl([]int{0})
	if err != nil {
		panic(err) // every window has a rank 0
	}
	return g
}

// windows counts in windows of every flavor, and loses rank 0 if syncVariable says so.
func windows(t *checker, p *mpi.Process) {
	c := p.World()
	w, err := rma.Allocate(bg, c, 80_000, 8, nil)
	require.NoError(t, err)
	s, some := syncs[os.Getenv(syncVariable)]
	rounds := 1000
	if some {
		rounds = 10 // other jobs count
	}
	count(t, c, w, rounds)
	mine := make([]int, 10_000)
	given, err := rma.Create(bg, c, mpi.Slice(mine), 0, nil)
	require.NoError(t, err)
	count(t, c, given, rounds)
	if !some {
		require.NoError(t, given.Free(bg))
		require.NoError(t, w.Free(bg))
		return
	}
	if c.Rank() == 0 && s.before != nil {
		require.NoError(t, s.before(w))
		require.NoError(t, s.before(given))
	}
	require.NoError(t, c.Barrier(bg))
	if c.Rank() == 0 {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	if s.mapped { // the operation must not be done before it is dead
		_, err = c.Recv(bg, mpi.Value(new(int)), 0, 99)
		require.ErrorIs(t, err, mpi.ErrProcFailed)
	}
	began := time.Now()
	for _, of := range []*rma.Win{w, given} {
		err := s.after(of)
		if err == nil && s.mapped && of == w {
			continue // they share memory, or the operation had been done before
		}
		require.ErrorIs(t, err, mpi.ErrProcFailed, fmt.Sprint(of.Flavor()))
	}
	require.Less(t, time.Since(began), noticeTimeMax)
}

// count counts to the same number in all processes, one after another and all at once.
func count(t *checker, c *mpi.Comm, w *rma.Win, rounds int) {
	one, old := 1, 0
	require.NoError(t, w.LockAll(bg))
	for range rounds {
		for rank := range c.Size() {
			w.Accumulate(mpi.Value(&one), rma.At(rank, 1), mpi.Sum)
		}
		w.FetchAndOp(mpi.Value(&one), mpi.Value(&old), rma.At(0, 2), mpi.Sum)
		require.NoError(t, w.Flush(bg, 0))
		require.Less(t, old, rounds*c.Size())
	}
	require.NoError(t, w.UnlockAll(bg))
	for range rounds / 10 {
		require.NoError(t, w.Lock(bg, rma.LockExclusive, 0))
		w.Get(mpi.Value(&old), rma.At(0, 3))
		require.NoError(t, w.Flush(bg, 0))
		old++
		w.Put(mpi.Value(&old), rma.At(0, 3))
		require.NoError(t, w.Unlock(bg, 0))
	}
	require.NoError(t, c.Barrier(bg))
	var got [4]int
	require.NoError(t, w.Lock(bg, rma.LockShared, 0))
	w.Get(mpi.Slice(got[:]), rma.At(0, 0))
	require.NoError(t, w.Unlock(bg, 0))
	n := c.Size()
	require.Equal(t, [4]int{0, rounds * n, rounds * n, rounds / 10 * n}, got)
	require.NoError(t, c.Barrier(bg))
}
