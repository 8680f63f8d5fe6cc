//go:build linux && amd64

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stuckAfter ends a traced program that does not come to its end. It is far longer than that takes.
const stuckAfter = 5 * time.Minute

// pokeAfter is how long a step may take before the thread is stopped, for a closer look.
const pokeAfter = 3 * time.Second

// int3 is the breakpoint instruction, which runtime.Breakpoint executes.
const int3 = 0xcc

// A tracer executes a program. Outside of phases all threads run freely. In a phase, and between two
// that belong together, one thread goes on alone, so that nothing happens beside it.
type tracer struct {
	pid   int
	names names

	lines   *bufio.Reader // the program's standard output: a line for each phase, before it begins
	phase   *phase        // nil: none
	stepper int           // the thread in the phase
	joined  bool          // the next phase belongs to this one
	stopped []int         // the other threads
	done    []*phase

	steps  atomic.Int64 // in all phases
	inStep atomic.Int32 // the thread that takes one; 0: none
}

// trace executes a program and returns its phases. started is told the process's number.
func trace(cmd *exec.Cmd, n names, started func(pid int)) ([]*phase, error) {
	runtime.LockOSThread() // ptrace belongs to a thread
	defer runtime.UnlockOSThread()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	in.Close()
	if err != nil {
		return nil, fmt.Errorf("starting the program under ptrace: %w", err)
	}
	started(cmd.Process.Pid)
	t := &tracer{pid: cmd.Process.Pid, names: n, lines: bufio.NewReader(out)}
	stop := time.AfterFunc(stuckAfter, func() { _ = unix.Kill(t.pid, unix.SIGKILL) })
	defer stop.Stop()
	watch := make(chan struct{})
	defer close(watch)
	go t.watch(watch)
	if err := t.follow(); err != nil {
		_ = unix.Kill(t.pid, unix.SIGKILL)
		return t.done, err
	}
	return t.done, nil
}

// follow handles what happens to the program's threads until it ends.
func (t *tracer) follow() error {
	var ws unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &ws, 0, nil); err != nil {
		return err
	}
	if err := unix.PtraceSetOptions(t.pid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return err
	}
	if err := unix.PtraceCont(t.pid, 0); err != nil {
		return err
	}
	for {
		tid, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case ws.Exited() && tid == t.pid:
			if ws.ExitStatus() != 0 {
				return fmt.Errorf("the program failed with status %d", ws.ExitStatus())
			}
			return nil
		case ws.Signaled() && tid == t.pid:
			return fmt.Errorf("the program was ended by %v", ws.Signal())
		case ws.Stopped():
			if err := t.handle(tid, ws); err != nil {
				return err
			}
		}
	}
}

// watch stops a thread whose step does not end: the scheduler has taken the processor from its
// goroutine, and needs another thread to give it back.
func (t *tracer) watch(end <-chan struct{}) {
	tick := time.NewTicker(pokeAfter)
	defer tick.Stop()
	for last := int64(-1); ; {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		steps := t.steps.Load()
		if tid := t.inStep.Load(); tid != 0 && steps == last {
			_ = unix.Tgkill(t.pid, int(tid), unix.SIGSTOP)
		}
		last = steps
	}
}

// step lets the thread of the phase execute one instruction.
func (t *tracer) step() error {
	t.steps.Add(1)
	t.inStep.Store(int32(t.stepper))
	return unix.PtraceSingleStep(t.stepper)
}

// release lets the threads go on that stand still.
func (t *tracer) release() error {
	for _, tid := range t.stopped {
		if err := unix.PtraceCont(tid, 0); err != nil {
			return err
		}
	}
	t.stopped = t.stopped[:0]
	return nil
}

// handle goes on with a thread that has stopped.
func (t *tracer) handle(tid int, ws unix.WaitStatus) error {
	switch {
	case t.phase != nil && tid == t.stepper && ws.StopSignal() == unix.SIGURG:
		return t.step() // the scheduler asks the goroutine to pause, which can wait
	case t.phase != nil && tid == t.stepper && ws.StopSignal() == unix.SIGSTOP: // by watch
		if err := t.release(); err != nil {
			return err
		}
		return t.step()
	case ws.StopSignal() != unix.SIGTRAP || ws.TrapCause() > 0:
		return unix.PtraceCont(tid, passed(ws))
	}
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	if t.phase == nil {
		return t.begin(tid) // runtime.Breakpoint was executed
	}
	if len(t.stopped) == 0 { // released
		if err := t.stopOthers(); err != nil {
			return err
		}
	}
	var next [1]byte
	if _, err := unix.PtracePeekText(tid, uintptr(regs.Rip), next[:]); err != nil {
		return err
	}
	if next[0] == int3 {
		return t.end(&regs)
	}
	if name := t.names.nameOf(regs.Rip); name != "" {
		t.phase.counts[name]++
	}
	return t.step()
}

// passed is the signal that a stopped thread gets. A new thread's first stop is for the tracer.
func passed(ws unix.WaitStatus) int {
	switch sig := ws.StopSignal(); sig {
	case unix.SIGSTOP, unix.SIGTRAP:
		return 0
	default:
		return int(sig)
	}
}

// begin begins the phase that the program has just described: its number of messages, whether the
// next phase belongs to it, and its name.
func (t *tracer) begin(tid int) error {
	line, err := t.lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the description of a phase: %w", err)
	}
	p := &phase{counts: make(map[string]int)}
	if _, err := fmt.Sscanf(line, "%d %t %q\n", &p.messages, &t.joined, &p.name); err != nil || p.messages < 1 {
		return fmt.Errorf("the description of a phase is %q", line)
	}
	t.phase, t.stepper = p, tid
	if len(t.stopped) == 0 {
		if err := t.stopOthers(); err != nil {
			return err
		}
	}
	return t.step()
}

// end ends the phase before its second breakpoint, which is skipped.
func (t *tracer) end(regs *unix.PtraceRegs) error {
	t.done = append(t.done, t.phase)
	t.phase = nil
	t.inStep.Store(0)
	if !t.joined {
		if err := t.release(); err != nil {
			return err
		}
	}
	regs.Rip++
	if err := unix.PtraceSetRegs(t.stepper, regs); err != nil {
		return err
	}
	return unix.PtraceCont(t.stepper, 0)
}

// stopOthers stops all threads but the one of the phase, each where it sleeps: anywhere else it may
// hold a lock that the phase needs.
func (t *tracer) stopOthers() error {
	others, err := t.others()
	for len(others) > 0 && err == nil {
		for _, tid := range others { // all at once, before any of them notices that others stand still
			if err := unix.Tgkill(t.pid, tid, unix.SIGSTOP); err != nil {
				return err
			}
		}
		var busy []int
		for _, tid := range others {
			asleep, err := awaitStop(tid)
			switch {
			case err != nil:
				return err
			case asleep:
				t.stopped = append(t.stopped, tid)
				continue
			}
			busy = append(busy, tid)
			if err := unix.PtraceCont(tid, 0); err != nil {
				return err
			}
		}
		if others = busy; len(busy) > 0 {
			time.Sleep(time.Millisecond) // nothing says when they sleep
			err = goOn(busy)
		}
	}
	return err
}

// goOn lets threads go on that have stopped once more: a new thread begins with a stop of its own.
func goOn(tids []int) error {
	for _, tid := range tids {
		var ws unix.WaitStatus
		stopped, err := unix.Wait4(tid, &ws, unix.WALL|unix.WNOHANG, nil)
		if err != nil {
			return err
		}
		if stopped == tid && ws.Stopped() {
			if err := unix.PtraceCont(tid, passed(ws)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tracer) others() (tids []int, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", t.pid))
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil && tid != t.stepper {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// awaitStop waits until a thread has got its SIGSTOP, and reports whether it was asleep.
func awaitStop(tid int) (asleep bool, err error) {
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(tid, &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return false, err
		case !ws.Stopped():
			return false, fmt.Errorf("thread %d has ended before a phase", tid)
		case ws.StopSignal() == unix.SIGSTOP:
			var regs unix.PtraceRegs
			if err := unix.PtraceGetRegs(tid, &regs); err != nil {
				return false, err
			}
			switch regs.Orig_rax {
			case unix.SYS_FUTEX, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
				unix.SYS_POLL, unix.SYS_RESTART_SYSCALL:
				return true, nil
			}
			return false, nil
		default:
			if err := unix.PtraceCont(tid, passed(ws)); err != nil {
				return false, err
			}
		}
	}
}
