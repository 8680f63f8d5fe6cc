package mpi_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// A spawnBoot is a Boot that spawns goroutines in the test.
type spawnBoot struct {
	*boot.LocalBoot
	preput map[string]string // pairs of the parents; nil without parents
	child  func(program string, b boot.Boot)
	jobs   *sync.WaitGroup
}

func (b spawnBoot) Parent() bool { return b.preput != nil }

func (b spawnBoot) Get(ctx context.Context, key string) (string, error) {
	if value, ok := b.preput[key]; ok {
		return value, nil
	}
	return b.LocalBoot.Get(ctx, key)
}

func (b spawnBoot) Spawn(ctx context.Context, cmd string, args []string, n int, info, preput map[string]string) ([]int, error) {
	return b.SpawnMultiple(ctx, []boot.Program{{Path: cmd, Args: args, N: n, Info: info}}, preput)
}

func (b spawnBoot) SpawnMultiple(_ context.Context, programs []boot.Program, preput map[string]string) ([]int, error) {
	var paths []string
	for _, p := range programs {
		if p.Path == "missing" {
			return []int{0, 2}, nil
		}
		for range p.N {
			paths = append(paths, p.Path)
		}
	}
	boots, err := boot.Local(len(paths))
	if err != nil {
		return nil, err
	}
	for rank, one := range boots {
		b.jobs.Go(func() { b.child(paths[rank], spawnBoot{LocalBoot: one, preput: preput}) })
	}
	return make([]int, len(paths)), nil
}

// spawning runs fn in two processes that can spawn others, which run child.
func spawning(t *testing.T, o mpi.Options, child func(program string, b boot.Boot), fn func(t *testing.T, p *mpi.Process)) {
	var children sync.WaitGroup
	each := func(_ int, mine *mpi.Options) {
		mine.Boot = spawnBoot{LocalBoot: mine.Boot.(*boot.LocalBoot), child: child, jobs: &children}
		mine.InitTimeMax = o.InitTimeMax
	}
	mpitest.Run(t, 2, mpitest.Options{Each: each}, fn)
	children.Wait()
}

// TestSpawn: two processes spawn three, once of one program and once of two.
func TestSpawn(t *testing.T) {
	ctx := briefly(t)
	child := func(program string, b boot.Boot) {
		p, err := mpi.Init(ctx, mpi.Options{Boot: b, Method: mpitest.Memory})
		if !assert.NoError(t, err) {
			return
		}
		assert.Equal(t, program == "second", p.World().Rank() == 2 && program != "child")
		parent := p.Parent()
		crowd(t, parent, 3, 2)
		assert.Same(t, parent, p.Parent())
		assert.NoError(t, parent.Disconnect(bg))
		assert.Nil(t, p.Parent())
		assert.NoError(t, p.Finalize(ctx))
	}
	spawning(t, mpi.Options{}, child, func(t *testing.T, p *mpi.Process) {
		inter, codes, err := p.World().Spawn(ctx, 1, mpi.Command{Program: "child", N: 3})
		require.NoError(t, err)
		assert.Equal(t, []int{0, 0, 0}, codes)
		crowd(t, inter, 2, 3)
		require.NoError(t, inter.Disconnect(bg))
		inter, codes, err = p.World().Spawn(ctx, 0, mpi.Command{Program: "first", N: 2}, mpi.Command{Program: "second", N: 1})
		require.NoError(t, err)
		assert.Equal(t, []int{0, 0, 0}, codes)
		crowd(t, inter, 2, 3)
		require.NoError(t, inter.Disconnect(bg))
	})
}

// TestSpawnAlone: Spawn returns although the new processes call nothing but Init.
func TestSpawnAlone(t *testing.T) {
	ctx, returned := briefly(t), make(chan struct{})
	child := func(_ string, b boot.Boot) {
		p, err := mpi.Init(ctx, mpi.Options{Boot: b, Method: mpitest.Memory})
		if assert.NoError(t, err) {
			<-returned
			assert.NoError(t, p.Finalize(ctx))
		}
	}
	spawning(t, mpi.Options{}, child, func(t *testing.T, p *mpi.Process) {
		var none context.Context
		_, _, err := p.World().Spawn(none, 1, mpi.Command{Program: "child", N: 1})
		if assert.NoError(t, err) && p.World().Rank() == 1 {
			close(returned)
		}
	})
}

// TestSpawnFails: programs that do not start, that start and cannot join, and that never call Init.
func TestSpawnFails(t *testing.T) {
	silent, giveUp := context.WithCancel(briefly(t))
	defer giveUp()
	child := func(program string, b boot.Boot) {
		if program == "silent" {
			giveUp()
			return
		}
		_, err := mpi.Init(briefly(t), mpi.Options{Boot: b, Method: "unheard-of"})
		assert.Error(t, err)
	}
	spawning(t, mpi.Options{InitTimeMax: wallclock.Patience}, child, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		refused := func(class mpi.ErrorClass, err error) {
			t.Helper()
			if w.Rank() != 0 {
				class = mpi.ErrOther // the root knows the reason
			}
			assert.ErrorIs(t, err, class)
		}
		_, codes, err := w.Spawn(briefly(t), 0, mpi.Command{Program: "missing", N: 2})
		refused(mpi.ErrSpawn, err)
		if w.Rank() == 0 {
			assert.Equal(t, []int{0, 2}, codes)
		}
		_, _, err = w.Spawn(briefly(t), 0, mpi.Command{Program: "cannot join", N: 2})
		refused(mpi.ErrSpawn, err)
		if w.Rank() == 0 {
			assert.ErrorContains(t, err, "unheard-of")
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
		}
		_, _, err = w.Spawn(silent, 0, mpi.Command{Program: "silent", N: 1})
		refused(mpi.ErrSpawn, err)
		_, _, err = w.Spawn(briefly(t), 0, mpi.Command{Program: "child", N: 0})
		refused(mpi.ErrSpawn, err)
		_, _, err = w.Spawn(briefly(t), 0)
		refused(mpi.ErrArg, err)
		talk(t, w)
	})
}

// TestSpawnWithoutDeadline: without a deadline, the wait is as long as Init may take.
func TestSpawnWithoutDeadline(t *testing.T) {
	silent := func(string, boot.Boot) {}
	spawning(t, mpi.Options{InitTimeMax: time.Second}, silent, func(t *testing.T, p *mpi.Process) {
		_, _, err := p.World().Spawn(context.Background(), 0, mpi.Command{Program: "silent", N: 1})
		if p.World().Rank() == 0 {
			assert.ErrorIs(t, err, mpi.ErrSpawn)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		}
		assert.Error(t, err)
	})
}
