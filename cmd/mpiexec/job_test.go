package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/pmixtest"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/slurmtest"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// programVariable makes the test binary an MPI program.
const programVariable = "MPIEXEC_TEST_PROGRAM"

// program adds up numbers of all ranks, unless rank 1 must do something else first.
func program(what string) int {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	if len(os.Args) > 1 && os.Args[1] == cannotJoin {
		_ = os.Setenv(mpi.MethodEnv, "unheard-of")
	}
	p, err := mpi.Init(ctx, mpi.Options{})
	if err != nil {
		fmt.Println("init:", err)
		return 10
	}
	switch what {
	case "spawn":
		return spawn(ctx, p)
	case "gated":
		return gated(ctx, p)
	case "spawn in vain":
		return spawnInVain(ctx, p)
	}
	w := p.World()
	if w.Rank() == 1 {
		switch what {
		case "abort":
			err := p.Abort(33, "rank 1 has had enough")
			fmt.Println("abort:", err)
		case "die":
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		case "leave":
			return 0
		}
	}
	in, out := int64(w.Rank())+1, int64(0)
	if err := w.Allreduce(context.Background(), mpi.Value(&in), mpi.Value(&out), mpi.Sum); err != nil {
		fmt.Println("allreduce:", err)
		if what != "sum" {
			wallclock.Forever() // so that it is certain which process ended first
		}
		return 11
	}
	fmt.Printf("rank %d of %d: sum %d\n", w.Rank(), w.Size(), out)
	if err := p.Finalize(ctx); err != nil {
		fmt.Println("finalize:", err)
		return 12
	}
	return 0
}

func checkSum(t *testing.T, out string) {
	t.Helper()
	for rank := range 4 {
		assert.Contains(t, out, fmt.Sprintf("rank %d of 4: sum 10\n", rank))
	}
	assert.Equal(t, 4, strings.Count(out, "\n"), "%s", out)
}

func TestOurMPI(t *testing.T) {
	for _, method := range []string{"", "via+shm", "via+udp", "tcp"} {
		t.Run("MPI_METHOD="+method, func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			var errs bytes.Buffer
			cmd := mpiexec(t, "-n", "4", "-env", mainVariable+"=", "-env", programVariable+"=sum", "-env", "MPI_METHOD="+method, self)
			cmd.Stderr = &errs
			out, err := cmd.Output()
			require.NoError(t, err, "%s%s", out, errs.String())
			checkSum(t, string(out))
		})
	}
}

func TestOurMPIWhenARankIsLost(t *testing.T) {
	for what, want := range map[string]struct {
		code     int
		sentence string
	}{
		"abort": {33, `mpiexec: rank 1 \(process \d+\) aborted the job with exit code 33: "rank 1 has had enough"`},
		"die":   {137, `mpiexec: rank 1 \(process \d+\) was killed by signal 9 \(SIGKILL\): the 3 other processes are ended, too`},
		"leave": {1, `mpiexec: rank 1 \(process \d+\) ended with exit code 0 without calling Finalize: the 3 other processes are ended, too`},
	} {
		t.Run(what, func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			cmd := mpiexec(t, "-n", "4", "-env", mainVariable+"=", "-env", programVariable+"="+what, self)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			assert.Equal(t, want.code, cmd.ProcessState.ExitCode(), "%s", out)
			assert.Regexp(t, want.sentence, string(out))
		})
	}
}

// under runs a program under another launcher.
func under(t *testing.T, what string, env []string, launcher string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, launcher, append(args, self)...)
	cmd.Env = append(append(os.Environ(), programVariable+"="+what), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestOurMPIUnderHydra(t *testing.T) {
	checkSum(t, under(t, "sum", nil, need.Program(t, "mpiexec.hydra"), "-n", "4"))
}

func TestOurMPIUnderSlurm(t *testing.T) {
	env := slurmtest.Start(t, 2)
	checkSum(t, under(t, "sum", env, "srun", "--mpi=pmi2", "--overcommit", "-N", "2", "-n", "4"))
	t.Run("PMIx", func(t *testing.T) {
		env = append(env, pmi.HelperEnv+"="+pmixtest.Helper(t))
		checkSum(t, under(t, "sum", env, "srun", "--mpi=pmix", "--overcommit", "-N", "2", "-n", "4"))
	})
}

// TestOurMPIUnderOpenMPI: Open MPI's mpirun starts jobs with PMIx, and notices how they end.
func TestOurMPIUnderOpenMPI(t *testing.T) {
	launcher, env := pmixtest.OpenMPI(t)
	env = append(env, pmi.HelperEnv+"="+pmixtest.Helper(t))
	args := append(launcher[1:], "-n", "4")
	checkSum(t, under(t, "sum", env, launcher[0], args...))
	self, err := os.Executable()
	require.NoError(t, err)
	for what, code := range map[string]int{"abort": 33, "die": 137, "leave": 1} {
		ctx, cancel := context.WithTimeout(context.Background(), waitMax)
		cmd := exec.CommandContext(ctx, launcher[0], append(args, self)...)
		cmd.Env = append(append(os.Environ(), programVariable+"="+what), env...)
		out, err := cmd.CombinedOutput()
		cancel()
		require.Error(t, err, "%s: %s", what, out)
		assert.Equal(t, code, cmd.ProcessState.ExitCode(), "%s: %s", what, out)
	}
}
