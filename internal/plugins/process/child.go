//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A child is the process itself. It implements go-plugin's runner.Runner, and shows go-plugin only
// the checked handshake line of the process's output.
type child struct {
	cfg    Config
	socket *os.File // the plugin's end of the pair
	out    output
	done   chan struct{} // closed when it is reaped and its output is read

	// Set by go-plugin before the start.
	env       []string // go-plugin's variables
	socketDir string   // where the plugin makes its Unix socket

	cmd *exec.Cmd // set by Start

	mu       sync.Mutex
	unwanted bool // killed, maybe before it was started
	started  bool
	reaped   bool // another process may have the process's id
}

// lastWords is how long the output of a dead process is read: a process that it started may keep it
// open for ever.
const lastWords = 100 * time.Millisecond

var errUnwanted = errors.New("its start was given up")

func newChild(cfg Config, socket *os.File) *child {
	c := &child{cfg: cfg, socket: socket, done: make(chan struct{})}
	c.out.init(cfg)
	return c
}

func (c *child) command(stdout, stderr *os.File) *exec.Cmd {
	return &exec.Cmd{
		Path: c.cfg.Path, Args: append([]string{c.cfg.Path}, c.cfg.Args...),
		// Stdin stays nil, which is /dev/null: the terminal belongs to the program.
		Stdout: stdout, Stderr: stderr,
		Env:        append(append(append([]string{}, c.cfg.Env...), c.env...), SocketKey+"="+strconv.Itoa(socketFD)),
		ExtraFiles: []*os.File{c.socket},
		SysProcAttr: &syscall.SysProcAttr{
			// If the program is killed, the kernel kills its plugins.
			Pdeathsig: syscall.SIGKILL,
			// Ctrl-C goes to all processes in the terminal's foreground group. A plugin has a group
			// of its own, so it serves until the program, which may still have messages to send,
			// ends it. The group also contains the processes that the plugin starts, so that they
			// can be killed with it.
			Setpgid: true,
		},
	}
}

// Start only forks; go-plugin waits for the handshake.
func (c *child) Start(context.Context) error {
	stdout, stdoutW, err := os.Pipe()
	if err != nil {
		return err
	}
	stderr, stderrW, err := os.Pipe()
	if err != nil {
		closeFiles(stdout, stdoutW)
		return err
	}
	err = forks.start(func() error { return c.fork(stdoutW, stderrW) })
	closeFiles(stdoutW, stderrW, c.socket)
	if err != nil {
		closeFiles(stdout, stderr)
		return notExecutable(c.cfg.Path, err)
	}
	var read sync.WaitGroup
	read.Go(func() { c.out.readStdout(stdout) })
	read.Go(func() { c.out.readStderr(stderr) })
	go func() {
		c.reap()
		forks.ended()
		for _, f := range []*os.File{stdout, stderr} {
			_ = f.SetReadDeadline(time.Now().Add(lastWords))
		}
		read.Wait()
		closeFiles(stdout, stderr)
		close(c.done)
	}()
	return nil
}

// fork starts the process. A file that was written a moment ago may still be open for writing in a
// child that another thread has just forked, until that child calls execve. fork tries again in
// that case.
func (c *child) fork(stdout, stderr *os.File) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unwanted {
		return errUnwanted
	}
	for range 20 {
		c.cmd = c.command(stdout, stderr)
		if err = c.cmd.Start(); !errors.Is(err, unix.ETXTBSY) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.started = err == nil
	return err
}

func (c *child) isStarted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}

// reap waits for the end of the process. It kills the process's group before it reaps the process,
// while no other group can have its id.
func (c *child) reap() {
	for errors.Is(unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL)
	_ = c.cmd.Wait() // ProcessState has the result
	c.reaped = true
}

// kill kills the process and its group; it does not wait.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwanted = true
	if c.started && !c.reaped {
		_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL)
	}
}

// signal sends a signal to the process alone.
func (c *child) signal(s unix.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started && !c.reaped {
		_ = unix.Kill(c.cmd.Process.Pid, s)
	}
}

// ending describes how the process ended; valid after done.
func (c *child) ending() string { return fmt.Sprint(c.cmd.ProcessState) }

func closeFiles(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// The rest implements go-plugin's runner.Runner.

func (c *child) Wait(context.Context) error      { <-c.done; return nil }
func (c *child) Kill(context.Context) error      { c.kill(); return nil }
func (c *child) Diagnose(context.Context) string { return "" }
func (c *child) Name() string                    { return c.cfg.Name }
func (c *child) ID() string                      { return strconv.Itoa(c.cmd.Process.Pid) }
func (c *child) Stdout() io.ReadCloser           { return c.out.handshake }
func (c *child) Stderr() io.ReadCloser           { return io.NopCloser(eof{}) }

func (c *child) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

func (c *child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
