package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	mpiexec "github.com/viaduct-hpc/viaduct/internal/mpi/launch/command"
	"github.com/viaduct-hpc/viaduct/internal/mpiperf"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// roleVariable makes the test binary mpiexec or mpibench.
const (
	roleVariable = "MPIBENCH_TEST_ROLE"
	asLauncher   = "mpiexec"
	asBench      = "mpibench"
)

func TestMain(m *testing.M) {
	launch.BecomeGuard()
	switch os.Getenv(roleVariable) {
	case asLauncher:
		os.Exit(mpiexec.Main(context.Background(), os.Args[1:]))
	case asBench:
		main()
	}
	os.Exit(m.Run())
}

const waitMax = wallclock.Patience

// bench runs mpibench on some ranks, under mpiexec if there are any.
func bench(t *testing.T, ranks string, args ...string) (out, errs string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	role := asBench
	if ranks != "" {
		role = asLauncher
		args = append([]string{"-n", ranks, "--no-label", "--env", roleVariable + "=" + asBench, "/proc/self/exe"}, args...)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func TestUnderMpiexec(t *testing.T) {
	out, errs, code := bench(t, "2", "--json", "--check", "--iterations=20", "--sizes=8,64KiB", "latency", "rate", "allreduce", "barrier")
	require.Zero(t, code, "%s%s", out, errs)
	var tests []string
	for line := range strings.Lines(out) {
		var r mpiperf.Result
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		tests = append(tests, string(r.Test))
		assert.Equal(t, "via+shm", r.Method)
		assert.Equal(t, 2, r.Ranks)
		assert.Positive(t, r.Median)
		assert.Positive(t, r.Checked)
	}
	assert.Equal(t, []string{"latency", "latency", "rate", "rate", "allreduce", "allreduce", "barrier"}, tests)
}

func TestVariables(t *testing.T) {
	out, errs, code := bench(t, "2", "--iterations", "10", "--sizes", "8", "--pin", "off", "--vars", "latency")
	require.Zero(t, code, "%s%s", out, errs)
	for _, line := range []string{
		`VARIABLE +VALUE +MEANING`, `bmi\.spin_max +400µs  how long a call polls`, `mpi\.method +""  methods`, `bmi\.via\+shm\.unexpected_sent +[1-9]\d*  unexpected messages sent`,
		`mpi\.comm\.peer\.state +INIT READY  state of the connection`, `bmi\.slept +[\d.]+m?[nµ]?s  time slept`,
	} {
		assert.Regexp(t, "(?m)^"+line, out)
	}
	out, errs, code = bench(t, "2", "--iterations", "10", "--sizes", "8", "--pin", "off", "--json", "--vars=mpi.comm.peer.messages", "latency")
	require.Zero(t, code, "%s%s", out, errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3, out)
	var v mpiperf.Variable
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &v))
	assert.Equal(t, "mpi.comm.peer.messages_received", v.Name)
	assert.Equal(t, "counter", v.Kind)
	assert.Len(t, v.Value, 2, "one for each rank")
}

func TestTableForPeople(t *testing.T) {
	out, errs, code := bench(t, "3", "--iterations", "5", "--sizes", "8", "--ranks", "2,3", "--pin", "off", "bcast")
	require.Zero(t, code, "%s%s", out, errs)
	assert.Regexp(t, `^TEST +METHOD +RANKS .*\nbcast +via\+shm +2 +8 B .*\nbcast +via\+shm +3 +8 B .*\n$`, out)
}

func TestTuneAndUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("old "), 10_000), 0o600))
	out, errs, code := bench(t, "3", "--tune", file, "--sizes", "8,64KiB", "--time", "1ms", "barrier", "bcast", "alltoallv")
	require.Zero(t, code, "%s%s", out, errs)
	assert.Contains(t, out, "MPI_TUNING="+file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, line := range []string{`barrier one 3 \* `, `bcast one 3 \* `, `alltoallv one 3 \* `, `#   64 KiB: linear `} {
		assert.Regexp(t, "(?m)^"+line, string(text))
	}
	assert.NotContains(t, string(text), "old")

	t.Setenv("MPI_TUNING", file)
	out, errs, code = bench(t, "3", "--iterations", "5", "--sizes", "8", "--check", "barrier", "bcast", "alltoallv")
	require.Zero(t, code, "%s%s", out, errs)
	require.NoError(t, os.WriteFile(file, append(text, "bcast one 3 * guessing\n"...), 0o600))
	_, errs, code = bench(t, "3", "barrier")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, `bcast has no algorithm`)
	assert.Contains(t, errs, fmt.Sprintf("%s:%d: ", file, bytes.Count(text, []byte("\n"))+1))
}

func TestMistakesAreSaidOnce(t *testing.T) {
	for text, args := range map[string][]string{
		`unknown test "lateness"`:            {"lateness"},
		`bad size "eight"`:                   {"--sizes", "eight"},
		`bad --pin "here"`:                   {"--pin", "here"},
		`bad --ranks "two"`:                  {"--ranks", "two"},
		`mpibench has no option -fast`:       {"-fast"},
		`9 ranks of a job that has 2`:        {"--ranks", "9", "barrier"},
		`--tune writes a table`:              {"--tune", "/dev/null", "--json"},
		`--window 0: choose 1 to`:            {"--window", "0"},
		`shows no --vars`:                    {"--tune", "/dev/null", "--vars"},
		`none of the sizes is one for scan`:  {"--sizes", "7", "scan"},
		`bad --memory "mine"`:                {"--memory", "mine"},
		`write_all needs the name of a file`: {"write_all"},
	} {
		t.Run(text, func(t *testing.T) {
			_, errs, code := bench(t, "2", args...)
			assert.Equal(t, 2, code, errs)
			assert.Equal(t, 1, strings.Count(errs, text), errs)
			assert.Contains(t, errs, "mpibench --help")
		})
	}
}

func TestAloneInItsWorld(t *testing.T) {
	out, errs, code := bench(t, "", "--iterations", "3", "barrier")
	assert.Zero(t, code, errs)
	assert.Contains(t, out, "barrier")
	_, errs, code = bench(t, "", "latency")
	assert.Equal(t, 2, code)
	assert.Contains(t, errs, "mpiexec -n 2")
	out, errs, code = bench(t, "", "--help")
	assert.Zero(t, code, errs)
	assert.Contains(t, out, "mpiexec -n 2 mpibench latency")
}

func TestACoreThatIsNotOurs(t *testing.T) {
	_, errs, code := bench(t, "2", "--pin", "100000", "barrier")
	assert.Equal(t, 1, code, errs)
	assert.Contains(t, errs, "may not run on core 100000")
}
