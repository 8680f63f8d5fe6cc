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
)

// pmiFD is the number that a process finds its connection under.
const pmiFD = 3

// A process is one rank.
type process struct {
	job   *job
	group *group
	rank  int // within the group
	app   int // number of the program among the group's

	program Program // resolved
	cmd     *exec.Cmd
	conn    net.Conn // our end of its PMI connection

	// io are the goroutines that serve the process and read what it writes.
	io sync.WaitGroup

	mu     sync.Mutex
	reaped bool  // its number may be another's
	order  int64 // how many processes of the job had ended before; set by reap

	gone bool // the loop has heard of its end
	told bool // and the user
}

// start runs the program. What it is given is closed here whatever happens.
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
	theirs = append(theirs, mine, socket) // FileConn makes a copy of mine
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
	if err = p.job.forks.do(p.fork); err != nil {
		_ = p.conn.Close()
		return startError(program.Path, err)
	}
	p.serve(read)
	return nil
}

// fork starts the process. A file that was written a moment ago can be open for writing in
// a child that another thread has just forked, until that one executes its own.
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

// serve starts the goroutines that a running process has.
func (p *process) serve(read [2]*os.File) {
	label := ""
	if p.job.cfg.Label {
		label = p.group.label(p.rank)
	}
	p.io.Go(func() { p.serveWords() })
	p.io.Go(func() { p.job.stdout.from(read[0], label) })
	p.io.Go(func() { p.job.stderr.from(read[1], label) })
	p.job.goroutines.Go(func() {
		p.reap()
		// What it wrote and said last comes before the news of its end, unless nobody
		// takes it.
		for _, f := range read {
			_ = f.SetReadDeadline(time.Now())
		}
		_ = p.conn.SetDeadline(time.Now().Add(lastWords)) // also for answers that nobody reads
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

// serveWords serves PMI.
func (p *process) serveWords() {
	err := p.group.server.Serve(p.rank, p.conn)
	var network *net.OpError
	if err == nil || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) {
		return // it is gone, which the loop hears of otherwise
	}
	p.job.tell(event{process: p, kind: babbled, err: err})
}

// reap waits for the end. What the process started goes first, while the number of their
// group cannot be anyone else's.
func (p *process) reap() {
	pid := p.cmd.Process.Pid
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	p.order = p.job.reaped.Add(1) - 1
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = unix.Kill(-pid, unix.SIGKILL)
	p.job.guard.remove(pid)
	_ = p.cmd.Wait() // what it came to is in ProcessState
	p.reaped = true
}

// signal sends a signal to the process, and to what it started unless alone.
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

// code is the exit code of a process that ended, and words for how it did.
func (p *process) code() (code int, how string) {
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		s := status.Signal()
		return CodeSignal + int(s), fmt.Sprintf("was killed by signal %d (%s)", int(s), unix.SignalName(s))
	}
	return status.ExitStatus(), fmt.Sprintf("ended with exit code %d", status.ExitStatus())
}

// String names the process in sentences.
func (p *process) String() string {
	text := fmt.Sprintf("rank %d", p.rank)
	if p.group.number > 0 {
		text += fmt.Sprintf(" of spawned job %d", p.group.number)
	}
	return text + fmt.Sprintf(" (process %d)", p.cmd.Process.Pid)
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
