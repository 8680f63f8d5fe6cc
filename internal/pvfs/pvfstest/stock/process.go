package stock

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a running program.
type Process struct {
	name  string
	cmd   *exec.Cmd
	out   output
	ended chan struct{}
}

// Start starts a program in a temporary folder, with additional environment variables. It is killed at the end of the test. If
// the test has failed, the end of the program's output is logged.
func (o Install) Start(tb testing.TB, env []string, name string, args ...string) *Process {
	tb.Helper()
	p := &Process{name: name, cmd: exec.Command(o.Program(tb, name), args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.Env = append(append(os.Environ(), o.libraries()), env...)
	p.cmd.Dir = tb.TempDir()
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread that started the process ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // the status is in ProcessState
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		tb.Fatalf("stock: start %s: %v", name, err)
	}
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() {
			tb.Logf("the end of the output of %s:\n%s", name, p.out.tail())
		}
	})
	return p
}

// Kill ends the process as a crash does, and returns when it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// Signal sends a signal.
func (p *Process) Signal(tb testing.TB, sig os.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		tb.Fatalf("stock: signal %s: %v", p.name, err)
	}
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Wait waits until the program ends by itself, and returns its output and its exit status.
func (p *Process) Wait(tb testing.TB, limit time.Duration) (said string, status int) {
	tb.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		tb.Fatalf("stock: %s still runs after %v", p.name, limit)
	}
	return p.out.String(), p.cmd.ProcessState.ExitCode()
}

// output collects the output of a program, up to a limit.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const (
	// outputBytesMax is more than any program prints, unless it is in an endless loop.
	outputBytesMax = 8 << 20
	// outputTailBytes is how much of it, and of a log, a failed test prints.
	outputTailBytes = 4000
)

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf.Len() < outputBytesMax {
		o.buf.Write(p)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func (o *output) tail() string { return tail(o.String()) }

func tail(s string) string { return s[max(0, len(s)-outputTailBytes):] }
