package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestTwoHosts: pairs within a host use via+shm, others the network.
func TestTwoHosts(t *testing.T) {
	for _, key := range []string{"", "1"} {
		t.Setenv("VIADUCT_UDP_INSECURE", key)
		o := mpitest.Options{Each: func(rank int, o *mpi.Options) {
			o.Method, o.Host, o.ListenHost = "", fmt.Sprint("host", rank/2), "127.0.0.1"
		}}
		mpitest.Run(t, 4, o, func(t *testing.T, p *mpi.Process) {
			w, xs := p.World(), []int{0}
			for step := range 4 {
				_, err := w.Sendrecv(bg, mpi.Slice([]int{w.Rank()}), (w.Rank()+step)%4, 1, mpi.Slice(xs), (w.Rank()+4-step)%4, 1)
				require.NoError(t, err)
				assert.Equal(t, (w.Rank()+4-step)%4, xs[0])
			}
			require.NoError(t, w.Barrier(bg))
			peers := map[string]int{}
			for _, peer := range p.Endpoint().Stats().Peers {
				peers[peer.Method]++
			}
			assert.Equal(t, 1, peers["via+shm"], "%v", peers)
			assert.GreaterOrEqual(t, peers["via+udp"], 2, "%v", peers)
			assert.Len(t, peers, 2)
		})
	}
}

// TestMethodFromEnvironment: MPI_METHOD decides if the program does not.
func TestMethodFromEnvironment(t *testing.T) {
	t.Setenv(mpi.MethodEnv, "tcp")
	o := mpitest.Options{Each: func(_ int, o *mpi.Options) { o.Method = "" }}
	mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
		addresses := p.Endpoint().Addresses()
		require.Len(t, addresses, 1)
		assert.Regexp(t, `^tcp://127\.0\.0\.1:`, addresses[0])
	})
}

// TestUnreachable: all processes without a common method return an error.
func TestUnreachable(t *testing.T) {
	boots, err := boot.Local(2)
	require.NoError(t, err)
	var ranks sync.WaitGroup
	for rank, method := range []string{"mem", "tcp"} {
		ranks.Go(func() {
			_, err := mpi.Init(t.Context(), mpi.Options{Boot: boots[rank], Method: method})
			assert.ErrorIs(t, err, mpi.ErrOther)
			assert.ErrorContains(t, err, fmt.Sprintf("rank %d listens at", 1-rank))
		})
	}
	ranks.Wait()
}

// TestRankThatNeverStarts: the others give up when their time is over.
func TestRankThatNeverStarts(t *testing.T) {
	boots, err := boot.Local(2)
	require.NoError(t, err)
	_, err = mpi.Init(t.Context(), mpi.Options{Boot: boots[0], Method: "mem", InitTimeMax: 20 * time.Millisecond})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	fails(t, err, mpi.ErrOther, "waiting until all processes of the job have started")
	_, err = mpi.Init(t.Context(), mpi.Options{Boot: boots[1], Method: "unheard-of"})
	require.ErrorIs(t, err, mpi.ErrOther)
}

// TestRankThatDies: Finalize does not wait for one that is dead.
func TestRankThatDies(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		o.Leave = true
		var past sync.WaitGroup // the barrier, so that none of its messages is lost with its sender
		past.Add(4)
		mpitest.Run(t, 4, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			ring(t, w, 1)
			require.NoError(t, w.Barrier(bg))
			past.Done()
			if w.Rank() == 2 {
				past.Wait()
				mpitest.Kill(p)
				return
			}
			_, err := w.Recv(bg, mpi.Slice([]int{0}), 2, 7)
			fails(t, err, mpi.ErrProcFailed, "")
			require.NoError(t, p.Finalize(t.Context()))
		})
	})
}

// TestFinalizeWithoutTheOthers ends when its context does.
func TestFinalizeWithoutTheOthers(t *testing.T) {
	release := make(chan struct{})
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		if p.World().Rank() == 1 {
			<-release
			assert.Error(t, p.Finalize(ended()))
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := p.Finalize(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		fails(t, err, mpi.ErrOther, "not all processes came to Finalize")
		assert.True(t, p.Finalized())
		close(release)
	})
}

// loneEnv makes this test binary a program of one process.
const loneEnv = "MPI_TEST_LONE"

// TestAlone: a program without a launcher is alone, and Abort ends it.
func TestAlone(t *testing.T) {
	if os.Getenv(loneEnv) != "" {
		lone(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAlone$")
	for _, env := range os.Environ() {
		if !strings.HasPrefix(env, "PMI_") && !strings.HasPrefix(env, "SLURM_") {
			cmd.Env = append(cmd.Env, env)
		}
	}
	cmd.Env = append(cmd.Env, loneEnv+"=1", mpi.MethodEnv+"=")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v: %s", err, out)
	assert.Equal(t, 17, exit.ExitCode(), "%s", out)
	assert.Contains(t, string(out), "aborted: enough")
}

func lone(t *testing.T) {
	p, err := mpi.Init(t.Context(), mpi.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, p.World().Size())
	ring(t, p.World(), 10)
	require.NoError(t, p.Finalize(t.Context()))
	p, err = mpi.Init(t.Context(), mpi.Options{})
	require.NoError(t, err, "a process that is alone can begin again")
	require.NoError(t, p.Abort(17, "enough"))
}

// TestEnvironment: what the calls about the environment return.
func TestEnvironment(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		name, err := p.ProcessorName()
		require.NoError(t, err)
		assert.NotEmpty(t, name)
		assert.Contains(t, mpi.LibraryVersion, fmt.Sprintf("MPI-%d.%d", mpi.Version, mpi.Subversion))
		assert.Same(t, p, p.World().Process())
	})
	var noContext context.Context
	_, err := mpi.Init(noContext, mpi.Options{})
	fails(t, err, mpi.ErrArg, "context")
}
