package jobtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/programs"
)

// Methods of jobs.
const (
	shm       = "via+shm"
	udp       = "via+udp" // with the job's key
	tcp       = "tcp"
	farMethod = "far-shm" // via+shm in a plugin's process
)

var methods = []string{shm, tcp, udp, farMethod}

// launched returns the methods for the i-th way in which mpiexec ends a job. The launcher does not
// know the method, so with -short each way is tested with one method.
func launched(i int) []string {
	if testing.Short() {
		return methods[i%len(methods):][:1]
	}
	return methods
}

// jobTimeMax limits a job. mpiexec ends it before its processes would end themselves.
const jobTimeMax = 2 * time.Minute

// goneTimeMax is how long a killed process may take to vanish.
const goneTimeMax = time.Minute

// A job is mpiexec in a process of its own, with everything that it started.
type job struct {
	t      *testing.T
	cmd    *exec.Cmd
	mark   string // in the environment of every process of the job
	shmDir string
	out    logtext.Buffer
	began  time.Time
}

// marks counts jobs.
var marks atomic.Int64

// newJob returns a job of n processes of a program, with options for mpiexec, which has not
// started.
func newJob(t *testing.T, n int, program, method string, options ...string) *job {
	t.Helper()
	require.Contains(t, roles, program)
	self, err := os.Executable()
	require.NoError(t, err)
	j := &job{t: t, mark: fmt.Sprintf("JOBTEST_MARK=%d.%d", os.Getpid(), marks.Add(1)), shmDir: shortDir(t)}
	args := append([]string{"-n", strconv.Itoa(n), "-timeout", jobTimeMax.String()}, options...)
	j.cmd = exec.Command("/proc/self/exe", append(args, self)...)
	j.cmd.Env = append(os.Environ(), launcherVariable+"=1", programVariable+"="+program, j.mark,
		"MPI_METHOD="+method, "VIADUCT_SHM_DIR="+j.shmDir, shortVariable+"="+strconv.FormatBool(testing.Short()))
	if method == farMethod {
		j.env(pluginVariable, built(t, viaPlugin))
	}
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.out
	j.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	return j
}

// shortDir makes a directory for sockets, whose names must be short.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "job")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (j *job) env(key, value string) *job {
	j.cmd.Env = append(j.cmd.Env, key+"="+value)
	return j
}

func (j *job) start() *job {
	j.t.Helper()
	j.began = time.Now()
	require.NoError(j.t, j.cmd.Start())
	j.t.Cleanup(func() {
		for _, pid := range j.processes() { // none is left unless the test has failed
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = j.cmd.Wait()
	})
	return j
}

// wait waits for the end of the job, and checks that nothing of it is left.
func (j *job) wait() (code int) {
	j.t.Helper()
	_ = j.cmd.Wait() // the exit code has more information
	j.nothingLeft()
	return j.cmd.ProcessState.ExitCode()
}

// run starts a job, waits, and requires success.
func (j *job) run() {
	j.t.Helper()
	code := j.start().wait()
	require.Equal(j.t, 0, code, "%s", j.out.String())
	left, err := os.ReadDir(j.shmDir)
	require.NoError(j.t, err)
	for _, e := range left {
		assert.NotEqual(j.t, os.ModeSocket, e.Type(), "a job that ends well leaves no names, but %s is there", e.Name())
	}
}

// nothingLeft waits until no process has the job's mark.
func (j *job) nothingLeft() {
	j.t.Helper()
	if !assert.Eventually(j.t, func() bool { return len(j.processes()) == 0 }, goneTimeMax, 5*time.Millisecond) {
		for _, pid := range j.processes() {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty if it is gone by now
			j.t.Errorf("process %d is left: %q", pid, line)
		}
	}
}

// processes returns the processes with the job's mark in their environment, which they inherit. A
// process that has ended has none.
func (j *job) processes() (pids []int) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(j.t, err)
	for _, name := range environs {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(append(text, 0), []byte(j.mark+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		require.NoError(j.t, err)
		pids = append(pids, pid)
	}
	return pids
}

// until waits until the job has written a text n times.
func (j *job) until(n int, text string) {
	j.t.Helper()
	came := func() bool { return strings.Count(j.out.String(), text) >= n }
	over := func() bool { return came() || ended(j.cmd.Process.Pid) }
	assert.Eventually(j.t, over, jobTimeMax, 5*time.Millisecond)
	require.True(j.t, came(), "%q does not come %d times:\n%s", text, n, &j.out)
}

// builds has the programs that were built, each once.
var builds struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

// viaPlugin is the plugin of methods/via.
const viaPlugin = "cmd/bmi-method-via"

// built returns the file of a program of this module, which is built when first needed.
func built(t *testing.T, pkg string) string {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	if path, ok := builds.paths[pkg]; ok {
		return path
	}
	if builds.dir == "" {
		var err error
		builds.dir, err = os.MkdirTemp("", "jobtest")
		require.NoError(t, err)
		builds.paths = map[string]string{}
	}
	require.NoError(t, programs.Build(builds.dir, pkg))
	builds.paths[pkg] = filepath.Join(builds.dir, filepath.Base(pkg))
	return builds.paths[pkg]
}
