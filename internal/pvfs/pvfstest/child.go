package pvfstest

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// StartChild starts a program that the kernel kills when this process dies for any reason. A test that runs too long ends without
// its cleanups.
func StartChild(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread that started the program ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		pid := 0
		if err == nil {
			pid = cmd.Process.Pid
		}
		started <- err
		for again := err == nil; again; {
			// Do not reap the process: that is for cmd.Wait, which may come first. In that case this call returns an error.
			again = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR
		}
	}()
	return <-started
}
