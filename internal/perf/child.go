package perf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// childGrace is how long a child may take to exit by itself.
const childGrace = 2 * time.Second

// A Child is a helper process that does not outlive this one. It reads commands,
// one a line, from its standard input, answers on its standard output, and exits
// when its input ends. If this process is killed, the kernel kills the child.
type Child struct {
	// Dead becomes true when the process has ended.
	Dead atomic.Bool

	what   string
	in     io.WriteCloser
	out    *bufio.Reader
	outEnd *os.File
	cmd    *exec.Cmd
	ended  chan struct{}
	err    error // how it ended; read after ended is closed
}

// SelfCommand is the command line of this program with other arguments.
func SelfCommand(args ...string) []string {
	return append([]string{"/proc/self/exe"}, args...)
}

// StartChild starts a command as a child. The extra files become its descriptors
// from 3 on. Its error output goes to our standard error.
func StartChild(what string, command []string, extra ...*os.File) (*Child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = extra
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("perf: start the %s: %w", what, err)
	}
	// Not StdoutPipe: Wait would close it while an answer is still unread.
	outEnd, childEnd, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, fmt.Errorf("perf: start the %s: %w", what, err)
	}
	cmd.Stdout = childEnd
	c := &Child{what: what, in: in, out: bufio.NewReader(outEnd), outEnd: outEnd, cmd: cmd, ended: make(chan struct{})}

	started := make(chan error, 1)
	go c.run(started)
	err = <-started
	_ = childEnd.Close()
	if err != nil {
		_ = outEnd.Close()
		return nil, fmt.Errorf("perf: start the %s: %w", what, err)
	}
	return c, nil
}

// run starts the process and waits for it on one thread, because the kernel sends
// the death signal when the thread that started a process ends.
func (c *Child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.ended)
	err := c.cmd.Start()
	started <- err
	if err == nil {
		c.err = c.cmd.Wait()
	}
	c.Dead.Store(true)
}

// PID is the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Ask sends a command line and waits for the answer, one line that starts with
// "ok". The rest of it is returned.
func (c *Child) Ask(format string, args ...any) (string, error) {
	if err := c.Tell(format, args...); err != nil {
		return "", err
	}
	return c.Answer()
}

// Tell sends a command line and does not wait for the answer.
func (c *Child) Tell(format string, args ...any) error {
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		return c.gone(err)
	}
	return nil
}

// Answer waits for one answer line.
func (c *Child) Answer() (string, error) {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return "", c.gone(err)
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ok")
	if !ok {
		return "", fmt.Errorf("perf: the %s answered %q", c.what, strings.TrimSpace(line))
	}
	return strings.TrimSpace(rest), nil
}

// gone explains an error of a pipe by the end of the process.
func (c *Child) gone(err error) error {
	select {
	case <-c.ended:
		if c.err != nil {
			err = c.err
		}
	case <-time.After(childGrace):
	}
	return fmt.Errorf("perf: the %s ended too early: %w", c.what, err)
}

// Kill ends the process at once, and returns when it has ended.
func (c *Child) Kill() {
	// It fails only if the process has already ended.
	_ = c.cmd.Process.Kill()
	<-c.ended
	_ = c.in.Close()
	_ = c.outEnd.Close()
}

// Close ends the process: first by closing its input.
func (c *Child) Close() error {
	_ = c.in.Close()
	select {
	case <-c.ended:
	case <-time.After(childGrace):
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
	_ = c.outEnd.Close()
	var exit *exec.ExitError
	if errors.As(c.err, &exit) {
		return fmt.Errorf("perf: the %s ended badly: %w", c.what, c.err)
	}
	return nil
}
