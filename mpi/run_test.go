package mpi_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// runAll runs each rank's part of a job with Run, and returns the errors.
func runAll(t *testing.T, boots []*boot.LocalBoot, fn func(ctx context.Context, p *mpi.Process) error) []error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	errs := make([]error, len(boots))
	var ranks sync.WaitGroup
	for rank, b := range boots {
		ranks.Go(func() { errs[rank] = mpi.Run(ctx, mpi.Options{Boot: b, Method: "mem"}, fn) })
	}
	ranks.Wait()
	return errs
}

// TestRunFinalizes: the calls that every program makes before and after its own part.
func TestRunFinalizes(t *testing.T) {
	boots, err := boot.Local(3)
	require.NoError(t, err)
	procs := make([]*mpi.Process, 3)
	for _, err := range runAll(t, boots, func(ctx context.Context, p *mpi.Process) error {
		procs[p.World().Rank()] = p
		return p.World().Barrier(ctx)
	}) {
		assert.NoError(t, err)
	}
	for _, p := range procs {
		assert.True(t, p.Finalized())
	}
}

// TestRunAbortsTheJob: a process that fails does not wait in Finalize for others that wait for
// its messages.
func TestRunAbortsTheJob(t *testing.T) {
	boots, err := boot.Local(2)
	require.NoError(t, err)
	broken := errors.New("the input is broken")
	errs := runAll(t, boots, func(ctx context.Context, p *mpi.Process) error {
		if err := p.World().Barrier(ctx); err != nil || p.World().Rank() == 0 {
			return errors.Join(err, broken)
		}
		_, err := p.World().Recv(ctx, mpi.Slice(make([]int, 1)), 0, 0)
		assert.ErrorIs(t, err, mpi.ErrProcFailed)
		return nil
	})
	assert.ErrorIs(t, errs[0], broken)
	assert.ErrorIs(t, errs[1], mpi.ErrProcAborted)
	select {
	case <-boots[1].Aborted():
	default:
		t.Error("the job was not aborted")
	}
}

// TestRunWithoutInit: Run returns the error of Init.
func TestRunWithoutInit(t *testing.T) {
	boots, err := boot.Local(1)
	require.NoError(t, err)
	err = mpi.Run(context.Background(), mpi.Options{Boot: boots[0], Method: ","}, func(context.Context, *mpi.Process) error {
		t.Error("there is no process")
		return nil
	})
	assert.ErrorIs(t, err, mpi.ErrArg)
}
