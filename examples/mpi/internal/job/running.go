package job

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
)

// A Running is a job that may lose processes.
type Running struct {
	Out, Errs logtext.Buffer // what it has written
	cmd       *exec.Cmd
	pids      []int // by rank
	ended     chan struct{}
}

// Start starts the program under mpiexec, with options of mpiexec.
func (b *Builder) Start(t *testing.T, s Setting, options []string, args ...string) *Running {
	t.Helper()
	line := append([]string{"-no-label", "-timeout", timeMax.String(), "-n", fmt.Sprint(s.N)}, options...)
	line = append(append(line, filepath.Join(b.dir, b.program)), args...)
	r := &Running{cmd: exec.Command(filepath.Join(b.dir, "mpiexec"), line...), ended: make(chan struct{})}
	r.cmd.Env = environment("MPI_METHOD=" + s.Method)
	r.cmd.Stdout, r.cmd.Stderr = &r.Out, &r.Errs
	require.NoError(t, r.cmd.Start())
	go func() {
		_ = r.cmd.Wait() // what it has written has more information
		close(r.ended)
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // then its processes end, too
		<-r.ended
	})
	return r
}

// Until polls until something has happened, or the job has ended: then it returns false.
func (r *Running) Until(happened func() bool) bool {
	for !happened() {
		select {
		case <-r.ended:
			return false
		case <-time.After(200 * time.Microsecond):
		}
	}
	return true
}

// Wait waits for the end of the job, which mpiexec limits.
func (r *Running) Wait() { <-r.ended }

// Kill kills a rank, unless the job has ended. It tells whether it did.
func (r *Running) Kill(t *testing.T, rank int) bool {
	t.Helper()
	if !r.Until(func() bool {
		r.pids = r.ranks()
		return len(r.pids) > rank && r.pids[rank] != 0
	}) {
		return false
	}
	return unix.Kill(r.pids[rank], unix.SIGKILL) == nil
}

// ranks finds the processes of the job, by rank; 0 is one that has not started or has ended.
func (r *Running) ranks() (pids []int) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", r.cmd.Process.Pid))
	if err != nil {
		return nil
	}
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		for _, word := range strings.Fields(string(text)) {
			environ, err := os.ReadFile("/proc/" + word + "/environ")
			if err != nil {
				continue
			}
			_, after, ok := bytes.Cut(append([]byte{0}, environ...), []byte("\x00PMI_RANK="))
			if !ok {
				continue // the guard
			}
			before, _, _ := bytes.Cut(after, []byte{0})
			rank, err := strconv.Atoi(string(before))
			if err != nil || rank < 0 {
				continue
			}
			pid, err := strconv.Atoi(word)
			if err != nil {
				continue
			}
			for len(pids) <= rank {
				pids = append(pids, 0)
			}
			pids[rank] = pid
		}
	}
	return pids
}
