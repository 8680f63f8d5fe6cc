package jobtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
)

// killedCode is the exit code of a job if one of its processes was killed.
const killedCode = launch.CodeSignal + int(unix.SIGKILL)

// deadly returns the methods over which processes are lost. With -short that is without via+udp,
// which waits some seconds of real time before it gives up a peer: methods/via and its NIC test
// that in simulated time. A plugin's method reports a death like the method inside it.
func deadly() []string {
	if testing.Short() {
		return []string{shm, tcp}
	}
	return methods
}

// TestTheOthersOutliveIt: processes are lost during collective operations, and the others go on, if
// mpiexec lets them.
func TestTheOthersOutliveIt(t *testing.T) {
	for _, method := range deadly() {
		for _, c := range []struct {
			how         string
			ranks, code int
		}{{"kill", 3, killedCode}, {"kill", 7, killedCode}, {"exit", 4, 0}} {
			t.Run(fmt.Sprintf("over=%s/how=%s/ranks=%d", method, c.how, c.ranks), func(t *testing.T) {
				newJob(t, c.ranks, "outlive", method, "-keep-going").env(howVariable, c.how).start().survived(c.code)
			})
		}
	}
}

// survived waits for a job that has lost processes. The others must end well: the exit code is that
// of the first lost process.
func (j *job) survived(code int) {
	j.t.Helper()
	require.Equal(j.t, code, j.wait(), "%s", j.out.String())
	for line := range strings.Lines(j.out.String()) {
		lost := strings.Contains(line, "was killed by signal 9") || strings.Contains(line, "ended with exit code 0 without calling Finalize")
		require.True(j.t, lost, "%s", j.out.String())
	}
}

// TestAProcessIsKilledThatOthersWaitFor: only those that wait for it get an error.
func TestAProcessIsKilledThatOthersWaitFor(t *testing.T) {
	for _, method := range deadly() {
		t.Run("over="+method, func(t *testing.T) {
			newJob(t, 4, "stand by", method, "-keep-going").start().survived(killedCode)
		})
	}
}

// TestMpiexecEndsTheOthers: without --keep-going, mpiexec ends a job that has lost a process, and
// reports the reason in one sentence.
func TestMpiexecEndsTheOthers(t *testing.T) {
	for i, want := range []struct {
		how      string
		code     int
		sentence string
	}{
		{"kill", killedCode, `^mpiexec: rank 1 \(process \d+\) was killed by signal 9 \(SIGKILL\): the 3 other processes are ended, too$`},
		{"exit", launch.CodeFailed, `^mpiexec: rank 1 \(process \d+\) ended with exit code 0 without calling Finalize: the 3 other processes are ended, too$`},
	} {
		for _, method := range launched(i) {
			t.Run(fmt.Sprintf("how=%s/over=%s", want.how, method), func(t *testing.T) {
				j := newJob(t, 4, "lose one", method).env(howVariable, want.how).start()
				assert.Equal(t, want.code, j.wait(), "%s", j.out.String())
				j.said(want.sentence)
			})
		}
	}
}

// said checks mpiexec's message, which is one sentence.
func (j *job) said(sentence string) {
	j.t.Helper()
	var all []string
	for line := range strings.Lines(j.out.String()) {
		if strings.HasPrefix(line, "mpiexec: ") {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
	}
	if assert.Len(j.t, all, 1, "%s", j.out.String()) {
		assert.Regexp(j.t, sentence, all[0])
	}
}

func TestAbort(t *testing.T) {
	for _, method := range launched(2) {
		t.Run("over="+method, func(t *testing.T) {
			j := newJob(t, 4, "abort", method).start()
			assert.Equal(t, 33, j.wait(), "%s", j.out.String())
			j.said(`^mpiexec: rank 1 \(process \d+\) aborted the job with exit code 33: "rank 1 has had enough"$`)
		})
	}
}

func TestErrorsAreFatal(t *testing.T) {
	j := newJob(t, 3, "fatal", shm).start()
	assert.Equal(t, 1, j.wait(), "%s", j.out.String())
	j.said(`^mpiexec: rank 1 \(process \d+\) aborted the job with exit code 1: .*rank 3 .*$`)
}

// TestARankThatNeverCallsInit: either mpiexec or the waiting processes give up.
func TestARankThatNeverCallsInit(t *testing.T) {
	j := newJob(t, 2, "never init", shm, "-init-timeout", "10ms").start()
	assert.Equal(t, launch.CodeTimeout, j.wait(), "%s", j.out.String())
	j.said(`^mpiexec: rank 1 has not called Init within 10ms, and the others wait for that: the job is ended`)

	j = newJob(t, 3, "late init", shm).start()
	assert.Equal(t, faultCode, j.wait(), "%s", j.out.String())
	j.said(`^mpiexec: rank [02] \(process \d+\) ended with exit code 91: the 2 other processes are ended, too$`)
	assert.Regexp(t, `Init says: .*MPI_ERR_OTHER`, j.out.String())
}

// TestARankThatEndsBeforeInit: the others do not wait for it.
func TestARankThatEndsBeforeInit(t *testing.T) {
	j := newJob(t, 3, "not init", shm).start()
	assert.Equal(t, launch.CodeFailed, j.wait(), "%s", j.out.String())
	j.said(`^mpiexec: rank 1 \(process \d+\) ended with exit code 0 without calling Init, which others have called`)

	j = newJob(t, 3, "not init", shm, "-keep-going").start()
	assert.Equal(t, failedCode, j.wait(), "%s", j.out.String())
	assert.Regexp(t, `Init: .*MPI_ERR_OTHER.*`, j.out.String())
}

// TestSignals: a signal of the user ends a job that communicates.
func TestSignals(t *testing.T) {
	for i, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		for _, method := range launched(i) {
			t.Run(fmt.Sprintf("over=%s/%s", method, unix.SignalName(s)), func(t *testing.T) {
				j := newJob(t, 4, "for ever", method).start()
				j.until(4, "communicates")
				require.NoError(t, j.cmd.Process.Signal(s))
				assert.Equal(t, launch.CodeSignal+int(s), j.wait(), "%s", j.out.String())
			})
		}
	}
}

// TestTimeout: a job has a time limit.
func TestTimeout(t *testing.T) {
	j := newJob(t, 3, "for ever", shm, "-timeout", "300ms").start()
	assert.Equal(t, launch.CodeTimeout, j.wait(), "%s", j.out.String())
	j.said(`^mpiexec: the job has run for 300ms, the time-out: it is ended$`)
}

// TestMpiexecIsKilled: with kill -9, mpiexec cannot end its processes; nevertheless none is left,
// nor their descendants.
func TestMpiexecIsKilled(t *testing.T) {
	for _, method := range launched(0) {
		t.Run("over="+method, func(t *testing.T) {
			j := newJob(t, 4, "for ever", method).start()
			j.until(4, "communicates")
			children := childrenOf(t, j.cmd.Process.Pid)
			require.Len(t, children, 5, "four ranks and the guard")
			require.NoError(t, j.cmd.Process.Kill())
			j.wait()
			for _, pid := range children {
				assert.Eventually(t, func() bool { return ended(pid) }, goneTimeMax, 5*time.Millisecond, "process %d", pid)
			}
		})
	}
}

// childrenOf returns the live children of a process.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, name := range lists {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			require.NoError(t, err)
			children = append(children, child)
		}
	}
	return children
}

// ended tells whether a process has ended, even if it has not been reaped.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}
