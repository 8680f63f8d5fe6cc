package pmi

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/slurmtest"
	"github.com/viaduct-hpc/viaduct/internal/need"
)

// under runs this test binary as a job under another launcher, with the variables in env.
func under(t *testing.T, what string, env []string, launcher string, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, launcher, append(args, self)...)
	cmd.Env = append(append(os.Environ(), programVariable+"="+what), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "%s hangs: %s", launcher, out)
	return string(out), err
}

// linesWith returns the sorted lines of a text that contain a word.
func linesWith(text, word string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return lines
}

func checkExchange(t *testing.T, out string, err error) {
	t.Helper()
	require.NoError(t, err, "%s", out)
	done := linesWith(out, "is done")
	require.Len(t, done, 4, "%s", out)
	for rank, line := range done {
		assert.Regexp(t, `^rank `+string(rune('0'+rank))+` of 4 of [^ ]+ is done, app`, line)
	}
}

func TestUnderHydra(t *testing.T) {
	for name, args := range map[string][]string{
		"descriptor": {"-n", "4"},
		"port":       {"-pmi-port", "-n", "4"},
		"MPMD":       {"-n", "3", os.Args[0], ":", "-n", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := under(t, "exchange", nil, need.Program(t, "mpiexec.hydra"), args...)
			checkExchange(t, out, err)
		})
	}
	t.Run("PMI-2", func(t *testing.T) {
		out, err := under(t, "exchange", []string{VersionEnv + "=2"}, need.Program(t, "mpiexec.hydra"), "-n", "4")
		checkExchange(t, out, err)
	})
}

func TestAbortUnderHydra(t *testing.T) {
	out, err := under(t, "abort", nil, need.Program(t, "mpiexec.hydra"), "-n", "3")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	assert.NotContains(t, out, "did not end this process")
}

func TestSpawnUnderHydra(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		out, err := under(t, "spawn", []string{VersionEnv + "=" + version}, need.Program(t, "mpiexec.hydra"), "-n", "2")
		require.NoError(t, err, "%s", out)
		assert.Equal(t, []string{"child 0 of 2 finds us:1", "child 1 of 2 finds us:1"}, linesWith(out, "finds"), "PMI-%s: %s", version, out)
		assert.Equal(t, []string{"spawned [0 0]"}, linesWith(out, "spawned"))
	}
}

func TestUnderSlurm(t *testing.T) {
	env := slurmtest.Start(t, 2)
	t.Run("exchange", func(t *testing.T) {
		out, err := under(t, "exchange", env, "srun", "--mpi=pmi2", "--overcommit", "-n", "4")
		checkExchange(t, out, err)
	})
	t.Run("PMI-1", func(t *testing.T) { // which Slurm's plugin also uses
		out, err := under(t, "exchange", append([]string{VersionEnv + "=1"}, env...), "srun", "--mpi=pmi2", "--overcommit", "-n", "4")
		checkExchange(t, out, err)
	})
	t.Run("names", func(t *testing.T) {
		out, err := under(t, "names", env, "srun", "--mpi=pmi2", "--overcommit", "-n", "2")
		require.NoError(t, err, "%s", out)
		assert.Equal(t, []string{"rank 0 finds port:1", "rank 1 finds port:1"}, linesWith(out, "finds"), "%s", out)
	})
	t.Run("abort", func(t *testing.T) {
		out, err := under(t, "abort", env, "srun", "--mpi=pmi2", "--overcommit", "-n", "3")
		require.Error(t, err, "%s", out)
		assert.NotContains(t, out, "did not end this process")
	})
	t.Run("without PMI", func(t *testing.T) {
		out, err := under(t, "exchange", env, "srun", "--mpi=none", "--overcommit", "-n", "2")
		require.Error(t, err, "%s", out)
		assert.Contains(t, out, "use srun --mpi=pmi2")
	})
}
