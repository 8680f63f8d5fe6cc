package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/hosts"
)

// programVariable makes this test binary a process of a job that runs the named program;
// runVariable makes it a program that runs such a job.
const (
	programVariable = "LAUNCH_TEST_PROGRAM"
	runVariable     = "LAUNCH_TEST_RUN"
	shellVariable   = "LAUNCH_TEST_SHELL" // its job runs on three hosts, one behind the other
)

func TestMain(m *testing.M) {
	BecomeGuard()
	BecomeAgent()
	if what := os.Getenv(runVariable); what != "" {
		_ = os.Unsetenv(runVariable)
		cfg := Config{
			Programs: []Program{{N: 3, Path: "/proc/self/exe", Env: []string{programVariable + "=" + what}}},
			Stdout:   os.Stdout, Stderr: os.Stderr, Guard: true,
		}
		if shell := os.Getenv(shellVariable); shell != "" {
			cfg.Hosts = &Hosts{List: []hosts.Host{{Name: "a", Slots: 1}, {Name: "b", Slots: 1}, {Name: "c", Slots: 1}}, Shell: []string{shell}, Arity: 1}
			cfg.Grace = 200 * time.Millisecond
		}
		code, err := Run(context.Background(), cfg)
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(code)
	}
	if what := os.Getenv(programVariable); what != "" {
		os.Exit(programs[what]())
	}
	// With the race detector, a process sleeps for a second before it ends.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

const waitMax = 10 * time.Minute

// a run is a job of this test binary, with its results.
type run struct {
	t        *testing.T
	cfg      Config
	out, err logtext.Buffer
	said     logtext.Buffer // the sentences
	signals  chan os.Signal
	code     int
	failure  error
	ended    chan struct{}
}

// newRun returns a job of n processes that run the named program. It may be changed before start.
func newRun(t *testing.T, n int, what string) *run {
	t.Helper()
	r := &run{t: t, signals: make(chan os.Signal), ended: make(chan struct{})}
	r.cfg = Config{
		Programs: []Program{program(t, n, what)},
		Stdout:   &r.out, Stderr: &r.err, Label: true, Signals: r.signals,
		Report:  func(sentence string) { _, _ = fmt.Fprintln(&r.said, sentence) },
		Timeout: waitMax, Grace: waitMax,
	}
	return r
}

func program(t *testing.T, n int, what string) Program {
	t.Helper()
	require.Contains(t, programs, what)
	self, err := os.Executable()
	require.NoError(t, err)
	return Program{N: n, Path: self, Env: []string{programVariable + "=" + what}}
}

func (r *run) start() *run {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(r.ended)
		r.code, r.failure = Run(ctx, r.cfg)
	}()
	r.t.Cleanup(func() {
		cancel()
		<-r.ended
	})
	return r
}

// wait waits for the end of the job and checks that no process of it is left.
func (r *run) wait() *run {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(2 * waitMax):
		require.FailNow(r.t, "the job hangs", "%s%s", r.out.String(), r.said.String())
	}
	require.NoError(r.t, r.failure)
	gone(r.t, r.pids())
	return r
}

// gone waits until processes have ended; orphans are reaped by another process.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		assert.Eventually(t, func() bool { return unix.Kill(pid, 0) == unix.ESRCH }, waitMax, time.Millisecond, "process %d is still there", pid)
	}
}

// pids returns the process ids that processes wrote as "pid N".
func (r *run) pids() (pids []int) { return pidsIn(r.out.String()) }

func pidsIn(text string) (pids []int) {
	for line := range strings.Lines(text) {
		if _, number, ok := strings.Cut(line, "pid "); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(number)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// until waits until n lines of the output have a word.
func (r *run) until(n int, word string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return strings.Count(r.out.String(), word) >= n }, waitMax, time.Millisecond,
		"%q does not come %d times", word, n)
}

func (r *run) check(code int, sentences ...string) {
	r.t.Helper()
	assert.Equal(r.t, code, r.code, "%s%s", r.out.String(), r.err.String())
	said := strings.Split(strings.TrimSuffix(r.said.String(), "\n"), "\n")
	if len(sentences) == 0 {
		sentences = []string{"^$"}
	}
	require.Len(r.t, said, len(sentences), "%q", said)
	for i, s := range sentences {
		assert.Regexp(r.t, s, said[i])
	}
}

// script makes a file with a shell program.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}
