// Package job is for the tests of the examples: it builds a program and mpiexec, and runs the
// program under mpiexec, as a user would.
package job

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// timeMax limits a job.
const timeMax = time.Minute

// A Builder has built the binaries.
type Builder struct {
	dir     string
	program string
}

// Build builds mpiexec and the program in the current folder, which is that of the test.
func Build(t *testing.T) *Builder {
	t.Helper()
	dir := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, programs.Build(dir, "cmd/mpiexec", "examples/mpi/"+filepath.Base(here)))
	return &Builder{dir: dir, program: filepath.Base(here)}
}

// A Setting is one way to run a program.
type Setting struct {
	N      int    // processes
	Method string // for MPI_METHOD
}

// Settings returns the settings in which every example runs: several numbers of processes within a
// host, and some over methods between hosts, via+udp with the job's key.
func Settings() []Setting {
	if testing.Short() {
		return []Setting{{1, "via+shm"}, {5, "via+shm"}, {4, "tcp"}, {2, "via+udp"}}
	}
	return []Setting{
		{1, "via+shm"}, {2, "via+shm"}, {4, "via+shm"}, {5, "via+shm"},
		{2, "tcp"}, {4, "tcp"}, {2, "via+udp"}, {4, "via+udp"},
	}
}

// String returns a name for a subtest.
func (s Setting) String() string { return fmt.Sprintf("%d over %s", s.N, s.Method) }

// Run runs the program and returns its output, and the error output of it and of mpiexec.
func (b *Builder) Run(t *testing.T, s Setting, args ...string) (out, errs string, err error) {
	t.Helper()
	args = append([]string{"-no-label", "-n", fmt.Sprint(s.N), filepath.Join(b.dir, b.program)}, args...)
	return run(environment("MPI_METHOD="+s.Method), filepath.Join(b.dir, "mpiexec"), args...)
}

// Hydra is Run under MPICH's launcher, with the default method. Without it the test is skipped.
func (b *Builder) Hydra(t *testing.T, n int, args ...string) (out, errs string, err error) {
	t.Helper()
	launcher := need.Program(t, "mpiexec.hydra")
	args = append([]string{"-n", fmt.Sprint(n), filepath.Join(b.dir, b.program)}, args...)
	return run(environment(), launcher, args...)
}

func run(env []string, name string, args ...string) (out, errs string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// MustRun is Run, and fails the test if the program fails.
func (b *Builder) MustRun(t *testing.T, s Setting, args ...string) (out string) {
	t.Helper()
	out, errs, err := b.Run(t, s, args...)
	require.NoError(t, err, "%s%s", out, errs)
	return out
}

// MustFail is Run, and fails the test unless the program fails. It returns the error output.
func (b *Builder) MustFail(t *testing.T, s Setting, args ...string) (errs string) {
	t.Helper()
	out, errs, err := b.Run(t, s, args...)
	require.Error(t, err, "%s%s", out, errs)
	return errs
}

// Alone runs the program without a launcher.
func (b *Builder) Alone(t *testing.T, args ...string) (out string) {
	t.Helper()
	out, errs, err := run(environment(), filepath.Join(b.dir, b.program), args...)
	require.NoError(t, err, "%s%s", out, errs)
	return out
}

// environment returns the environment of this process, without variables that would change how the
// job runs.
func environment(more ...string) []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "MPI_") && !strings.HasPrefix(pair, "PMI_") && !strings.HasPrefix(pair, "VIADUCT_UDP_") {
			env = append(env, pair)
		}
	}
	return append(env, more...)
}
