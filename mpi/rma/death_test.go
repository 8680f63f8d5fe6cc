package rma_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// A death is a synchronisation during which rank 0 dies.
type death struct {
	name string
	// dies runs on rank 0 before it dies, and lives on the others; it returns an error of class
	// ErrProcFailed.
	dies  func(t *testing.T, w *rma.Win)
	lives func(t *testing.T, w *rma.Win) error
	// maySucceed: ranks that share memory with rank 0 go on.
	maySucceed bool
}

// dead is closed when rank 0 is dead.
var dead chan struct{}

func nothing(*testing.T, *rma.Win) {}

var deaths = []death{
	{name: "fence", dies: nothing, lives: func(_ *testing.T, w *rma.Win) error { return w.Fence(bg) }},
	{name: "free", dies: nothing, lives: func(_ *testing.T, w *rma.Win) error { return w.Free(bg) }},
	{name: "start", dies: nothing, lives: func(t *testing.T, w *rma.Win) error {
		return w.Start(bg, groupOf(t, w, 0))
	}},
	{name: "complete", dies: func(t *testing.T, w *rma.Win) {
		require.NoError(t, w.Post(w.Group()))
	}, lives: func(t *testing.T, w *rma.Win) error {
		require.NoError(t, w.Start(bg, groupOf(t, w, 0)))
		<-dead
		w.Put(mpi.Value(new(int64)), rma.At(0, 0))
		return w.Complete(bg)
	}, maySucceed: true},
	{name: "wait", dies: nothing, lives: func(t *testing.T, w *rma.Win) error {
		if err := w.Post(groupOf(t, w, 0)); err != nil {
			return err // it was noticed before
		}
		return w.Wait(bg)
	}},
	{name: "lock", dies: lockAll, lives: func(_ *testing.T, w *rma.Win) error {
		return w.Lock(bg, rma.LockExclusive, 1)
	}},
	{name: "shared lock", dies: lockAll, lives: func(_ *testing.T, w *rma.Win) error {
		return w.Lock(bg, rma.LockShared, 1)
	}},
	{name: "lock all", dies: lockAll, lives: func(_ *testing.T, w *rma.Win) error { return w.LockAll(bg) }},
	{name: "flush", dies: nothing, lives: func(t *testing.T, w *rma.Win) error {
		require.NoError(t, w.Lock(bg, rma.LockShared, 0, rma.NoCheck))
		<-dead
		w.Put(mpi.Value(new(int64)), rma.At(0, 0))
		return w.Flush(bg, 0)
	}, maySucceed: true},
	{name: "unlock", dies: nothing, lives: func(t *testing.T, w *rma.Win) error {
		require.NoError(t, w.Lock(bg, rma.LockShared, 0, rma.NoCheck))
		<-dead
		w.Get(mpi.Value(new(int64)), rma.At(0, 0))
		return w.Unlock(bg, 0)
	}, maySucceed: true},
	{name: "unlock all", dies: nothing, lives: func(t *testing.T, w *rma.Win) error {
		require.NoError(t, w.LockAll(bg, rma.NoCheck))
		<-dead
		w.Get(mpi.Slice(make([]byte, 40_000)), rma.At(0, 0))
		return w.UnlockAll(bg)
	}, maySucceed: true},
}

// lockAll locks every rank exclusively.
func lockAll(t *testing.T, w *rma.Win) {
	for rank := range w.Group().Size() {
		require.NoError(t, w.Lock(bg, rma.LockExclusive, rank))
	}
}

func groupOf(t *testing.T, w *rma.Win, ranks ...int) *mpi.Group {
	g, err := w.Group().Incl(ranks)
	require.NoError(t, err)
	return g
}

// TestDeaths: rank 0 dies in every synchronisation, and the others do not wait for it.
func TestDeaths(t *testing.T) {
	for _, at := range places {
		for _, d := range deaths {
			t.Run("over="+at.name+"/"+d.name, func(t *testing.T) {
				o := at.options()
				o.Leave = true
				atPlace = at
				dead = make(chan struct{})
				mpitest.Run(t, 3, o, func(t *testing.T, p *mpi.Process) { d.run(t, p, at.hosts < 3) })
			})
		}
	}
}

func (d *death) run(t *testing.T, p *mpi.Process, shared bool) {
	defer mpitest.Kill(p)
	c := p.World()
	w, err := allocate(c, 40_000, 1)
	require.NoError(t, err)
	if c.Rank() == 0 {
		d.dies(t, w)
		require.NoError(t, c.Barrier(bg))
		mpitest.Kill(p)
		close(dead)
		return
	}
	require.NoError(t, c.Barrier(bg))
	err = d.lives(t, w)
	if d.maySucceed && shared && err == nil {
		return
	}
	assert.ErrorIs(t, err, mpi.ErrProcFailed)
}
