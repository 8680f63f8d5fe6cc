package launch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
)

// pmiFD is the descriptor of a process's PMI connection.
const pmiFD = 3

// A process is one rank.
type process struct {
	job   *job
	group *group
	rank  int // within the group
	local int // number among the group's on its host
	app   int // number of the program among the group's
	// Those of a process on another host, at the launcher.
	host   string
	node   int // of its agent
	pid    int // 0: not known
	status syscall.WaitStatus
	state  server.State // in which it ended

	program Program // resolved
	cmd     *exec.Cmd
	conn    net.Conn // our end of its PMI connection

	// io has the goroutines that serve the process and read its output.
	io sync.WaitGroup

	mu     sync.Mutex
	reaped bool  // another process may have its id
	order  int64 // how many processes of the job had ended before; set by reap

	gone bool // the loop has handled its end
	told bool // the user has been informed
}

// start runs the program. It closes stdin in any case.
func (p *process) start(stdin *os.File) (err error) {
	program := p.program
	var theirs, ours []*os.File
	defer func() {
		closeFiles(theirs)
		if err != nil {
			closeFiles(ours)
		}
	}()
	if stdin != nil {
		theirs = append(theirs, stdin)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return startError(program.Path, err)
	}
	mine, socket := os.NewFile(uintptr(fds[0]), "pmi"), os.NewFile(uintptr(fds[1]), "pmi")
	theirs = append(theirs, mine, socket) // FileConn copies mine
	var read, write [2]*os.File
	for i := range read {
		if read[i], write[i], err = os.Pipe(); err != nil {
			return startError(program.Path, err)
		}
		theirs, ours = append(theirs, write[i]), append(ours, read[i])
	}
	p.cmd = &exec.Cmd{
		Path: program.Path, Args: append([]string{program.name}, program.Args...),
		Dir: program.Dir, Env: p.environment(), Stdout: write[0], Stderr: write[1],
		ExtraFiles:  []*os.File{socket},
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true},
	}
	if stdin != nil {
		p.cmd.Stdin = stdin
	}
	if p.conn, err = net.FileConn(mine); err != nil {
		return startError(program.Path, err)
	}
	set := p.job.bound.of(p.local)
	if err = p.job.forks.do(func() error { return with(set, p.fork) }); err != nil {
		_ = p.conn.Close()
		return startError(program.Path, err)
	}
	switch {
	case !p.job.cfg.ReportBindings:
	case set == nil:
		p.job.report("%v is not bound", p)
	default:
		p.job.report("%v is bound to processors %s", p, describe(set))
	}
	p.serve(read)
	return nil
}

// fork starts the process. A file that was written a moment ago may still be open for writing in a
// child that another thread has just forked, until that child calls execve. fork tries again in
// that case.
func (p *process) fork() error {
	for try := 0; ; try++ {
		cmd := *p.cmd
		err := cmd.Start()
		if errors.Is(err, unix.ETXTBSY) && try < 20 {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if err == nil {
			*p.cmd = cmd
			p.job.guard.add(cmd.Process.Pid)
		}
		return err
	}
}

// serve starts the goroutines of a running process.
func (p *process) serve(read [2]*os.File) {
	p.io.Go(func() { p.serveWords() })
	for i, f := range read {
		p.io.Go(func() { p.job.output(p, i == 1).from(f, p.label()) })
	}
	p.job.goroutines.Go(func() {
		p.reap()
		// Its last output and its last words on PMI are handled before its end, unless nothing
		// reads them.
		for _, f := range read {
			_ = f.SetReadDeadline(time.Now())
		}
		_ = p.conn.SetDeadline(time.Now().Add(lastWords)) // also for answers that the process does not read
		finished := make(chan struct{})
		go func() {
			p.io.Wait()
			closeFiles(read[:])
			_ = p.conn.Close()
			close(finished)
		}()
		select {
		case <-finished:
		case <-time.After(4 * lastWords):
		}
		p.job.tell(event{process: p, kind: ended})
		<-finished
	})
}

// serveWords serves PMI to the process.
func (p *process) serveWords() {
	err := p.group.server.Serve(p.rank, p.conn)
	var network *net.OpError
	if err == nil || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) {
		return // it is gone; the loop learns of that from reap
	}
	p.job.tell(event{process: p, kind: babbled, err: err})
}

// reap waits for the end of the process. It kills the process's group before it reaps the process,
// while no other group can have its id.
func (p *process) reap() {
	pid := p.cmd.Process.Pid
	awaitEnd(pid)
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	p.order = p.job.reaped.Add(1) - 1
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = unix.Kill(-pid, unix.SIGKILL)
	p.job.guard.remove(pid)
	_ = p.cmd.Wait() // ProcessState has the result
	p.reaped = true
}

// signal sends a signal to the process and, unless alone is set, to its group.
func (p *process) signal(s unix.Signal, alone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped || p.cmd == nil || p.cmd.Process == nil {
		return
	}
	pid := p.cmd.Process.Pid
	if !alone {
		pid = -pid
	}
	_ = unix.Kill(pid, s)
}

// code returns the exit code of a process that ended, and describes how it ended.
func (p *process) code() (code int, how string) {
	status := p.waitStatus()
	if status.Signaled() {
		s := status.Signal()
		return CodeSignal + int(s), fmt.Sprintf("was killed by signal %d (%s)", int(s), unix.SignalName(s))
	}
	return status.ExitStatus(), fmt.Sprintf("ended with exit code %d", status.ExitStatus())
}

func (p *process) waitStatus() syscall.WaitStatus {
	if p.cmd != nil {
		return p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	}
	return p.status
}

// reached returns how far the process has come: at the launcher of a job on several hosts, how far it
// had come when it ended.
func (p *process) reached() server.State {
	if p.group.server == nil {
		return p.state
	}
	return p.group.server.State(p.rank)
}

// String names the process for messages.
func (p *process) String() string {
	text := fmt.Sprintf("rank %d", p.rank)
	if p.group.number > 0 {
		text += fmt.Sprintf(" of spawned job %d", p.group.number)
	}
	switch {
	case p.cmd != nil:
		return text + fmt.Sprintf(" (process %d)", p.cmd.Process.Pid)
	case p.pid == 0:
		return text + fmt.Sprintf(" (on %s)", p.host)
	}
	return text + fmt.Sprintf(" (process %d on %s)", p.pid, p.host)
}

// label is what marks the output of the process.
func (p *process) label() string { return p.group.label(p.rank) }

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
