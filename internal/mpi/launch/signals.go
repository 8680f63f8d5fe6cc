package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// HandedOn returns the signals that a program should pass to Run in Config.Signals. Run passes them
// to the processes of the job.
func HandedOn() []os.Signal {
	return []os.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP, unix.SIGCONT,
	}
}

// takeSignal passes a signal on. A signal that ends the job gives the processes the usual time; the
// second one ends the job at once.
func (j *job) takeSignal(s os.Signal) {
	n, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	switch n {
	case unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT:
		if j.interrupted || j.ending {
			j.signalAll(unix.SIGKILL, false)
			return
		}
		j.interrupted = true
		if j.code == 0 {
			j.cause = CodeSignal + int(n)
		}
		j.signalAll(n, false)
		j.signalAll(unix.SIGCONT, false)
		j.kill.Reset(j.cfg.Grace)
	case unix.SIGTSTP:
		// The processes have groups of their own, so the terminal does not stop them.
		j.signalAll(n, false)
		j.flushHosts()
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	case unix.SIGCONT:
		j.signalAll(n, false)
	default:
		j.signalAll(n, true)
	}
}
