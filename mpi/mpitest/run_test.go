package mpitest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bg is the context of calls that nothing ends.
var bg = context.Background()

// TestRun: every rank runs once, at the same time, with the options that Each set.
func TestRun(t *testing.T) {
	var mu sync.Mutex
	ran := map[int]int{}
	o := mpitest.Options{Each: func(rank int, o *mpi.Options) { o.Host = string(rune('a' + rank/2)) }}
	var ended []*mpi.Process
	mpitest.Run(t, 3, o, func(t *testing.T, p *mpi.Process) {
		host, err := p.World().SplitType(bg, mpi.SplitShared, 0, nil)
		require.NoError(t, err)
		mu.Lock()
		defer mu.Unlock()
		ran[p.World().Rank()] = host.Size()
		ended = append(ended, p)
	})
	assert.Equal(t, map[int]int{0: 2, 1: 2, 2: 1}, ran, "how many ranks are on the host of each")
	for _, p := range ended {
		assert.True(t, p.Finalized())
	}
}

// TestKill: a killed rank is dead for the others, and need not be finalized.
func TestKill(t *testing.T) {
	past := make(chan struct{}) // the barrier, so that none of its messages is lost with its sender
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		require.NoError(t, p.World().Barrier(bg))
		if p.World().Rank() == 1 {
			<-past
			mpitest.Kill(p)
			return
		}
		close(past)
		_, err := p.World().Recv(bg, mpi.Slice([]int{0}), 1, 0)
		require.ErrorIs(t, err, mpi.ErrProcFailed)
		require.NoError(t, p.Finalize(t.Context()))
	})
}
