package pvfstest

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// StartChild starts a program that the kernel kills when this process dies, whatever of: a test that takes too long
// ends without its cleanups.
func StartChild(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread ends that started the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		pid := 0
		if err == nil {
			pid = cmd.Process.Pid
		}
		started <- err
		for again := err == nil; again; {
			// It is left to who calls cmd.Wait, who may be earlier; then there is no such child.
			again = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR
		}
	}()
	return <-started
}
