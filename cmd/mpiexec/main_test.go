package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// mainVariable makes the test binary the command.
const mainVariable = "MPIEXEC_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	launch.BecomeGuard()
	launch.BecomeAgent()
	if os.Getenv(mainVariable) != "" {
		main()
	}
	if what := os.Getenv(programVariable); what != "" {
		os.Exit(program(what))
	}
	// With the race detector, a process sleeps for a second before it ends.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

const waitMax = wallclock.Patience

// mpiexec is the command in a process of its own.
func mpiexec(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	return cmd
}

func TestInputOutputAndExitCode(t *testing.T) {
	var out, errs bytes.Buffer
	cmd := mpiexec(t, "-label", "-n", "2", "sh", "-c", "cat; echo to stderr >&2; exit $PMI_RANK")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("from stdin\n"), &out, &errs
	require.Error(t, cmd.Run())
	assert.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s", errs.String())
	assert.Contains(t, errs.String(), "[1] to stderr\n")
	assert.Regexp(t, `mpiexec: rank 1 \(process \d+\) ended with exit code 1`, errs.String())
}

func TestSignalsReachTheProcesses(t *testing.T) {
	cmd := mpiexec(t, "-n", "1", "sh", "-c", "trap 'echo got it; exit 5' USR1; echo ready; while :; do sleep 0.01; done")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	buf := make([]byte, 64)
	n, err := out.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "ready\n", string(buf[:n]))
	require.NoError(t, cmd.Process.Signal(unix.SIGUSR1))
	n, err = out.Read(buf)
	require.NoError(t, err)
	assert.Equal(t, "got it\n", string(buf[:n]))
	_ = cmd.Wait()
	assert.Equal(t, 5, cmd.ProcessState.ExitCode())
}

// A job that needs more descriptors than this program may have is not started.
func TestTooFewDescriptors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "begun")
	cmd := mpiexec(t)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "ulimit -n 200; exec " + self + " -n 64 touch " + file}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Regexp(t, `^mpiexec: too few file descriptors: a job of 64 processes needs 352, and the limit is 200: raise it \(ulimit -n 352, .* or start fewer processes\n$`, string(out))
	assert.NoFileExists(t, file)
}

// A program of another MPI, which does not know this launcher.
func TestAProgramOfMPICH(t *testing.T) {
	mpicc := need.Program(t, "mpicc.mpich")
	binary := filepath.Join(t.TempDir(), "sum")
	text, err := exec.Command(mpicc, "-o", binary, "testdata/sum.c").CombinedOutput()
	require.NoError(t, err, "%s", text)
	t.Setenv("UCX_NET_DEVICES", "lo") // other interfaces may disappear while it looks at them
	var errs bytes.Buffer
	cmd := mpiexec(t, "-label", "-n", "3", binary)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s", errs.String())
	for _, line := range []string{"[0] rank 0 of 3: sum 3\n", "[1] rank 1 of 3: sum 3\n", "[2] rank 2 of 3: sum 3\n"} {
		assert.Contains(t, string(out), line)
	}
}
