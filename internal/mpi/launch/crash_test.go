package launch

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// If mpiexec is killed, nothing of the job is left: neither its processes nor their descendants.
func TestKillOfTheLauncherLeavesNothing(t *testing.T) {
	for what, pids := range map[string]int{"stubborn": 3, "grandchild": 3} {
		t.Run(what, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), runVariable+"="+what)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			var text strings.Builder
			for lines := bufio.NewScanner(out); strings.Count(text.String(), "waits") < 3 && lines.Scan(); {
				text.WriteString(lines.Text() + "\n")
			}
			require.Len(t, pidsIn(text.String()), pids, "%s", text.String())
			children := childrenOf(t, cmd.Process.Pid)
			require.Len(t, children, 4, "three ranks and the guard")
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			gone(t, pidsIn(text.String()))
			gone(t, children)
		})
	}
}

// childrenOf returns the live children of a process.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// PID (NAME) STATE PARENT ...; the name may contain anything.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if parent, _ := strconv.Atoi(fields[1]); parent == pid && fields[0] != "Z" {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			require.NoError(t, err)
			children = append(children, child)
		}
	}
	return children
}

// A job without its guard loses only that protection.
func TestKillOfTheGuard(t *testing.T) {
	r := newRun(t, 2, "wait")
	r.cfg.Guard = true
	r.start().until(2, "waits")
	var guards []int
	for _, pid := range childrenOf(t, os.Getpid()) {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err == nil && strings.HasPrefix(string(name), "mpiexec-guard") {
			guards = append(guards, pid)
		}
	}
	require.Len(t, guards, 1)
	require.NoError(t, unix.Kill(guards[0], unix.SIGKILL))
	r.signals <- unix.SIGTERM
	r.wait().check(CodeSignal + int(unix.SIGTERM))
}

// The job ends although a process out of its reach holds its output open.
func TestOutputThatIsHeldOpen(t *testing.T) {
	need.Program(t, "setsid")
	t.Parallel() // it waits, most of the time
	r := newRun(t, 1, "wait")
	r.cfg.Programs = []Program{{N: 1, Path: script(t, "#!/bin/sh\nsetsid sh -c 'echo pid $$; exec sleep 1000' &\nwhile [ \"$(cut -d' ' -f6 /proc/$!/stat)\" != $! ]; do :; done\necho there\n")}}
	began := time.Now()
	r.start()
	<-r.ended
	for _, pid := range r.pids() {
		assert.NoError(t, unix.Kill(pid, unix.SIGKILL))
	}
	r.wait().check(0)
	wallclock.Under(t, time.Since(began), wallclock.Patience, "a job whose output is held open")
	assert.Contains(t, r.out.String(), "[0] there\n")
}
